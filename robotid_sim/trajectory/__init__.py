"""Reference motions as functions of time."""
