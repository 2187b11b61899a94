"""Diagnostics: whether an estimate deserves trust, and what the data do not show."""
