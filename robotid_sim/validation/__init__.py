"""Validation: whether the identified model is right, and its stated accuracy."""
