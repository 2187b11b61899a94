"""The study: the only package that knows the whole chain."""
