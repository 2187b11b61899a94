"""The pipeline: the only package that knows the whole chain."""
