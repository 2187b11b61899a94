"""The robot in 3-D on a page: its motions to play, scrub and click through."""
