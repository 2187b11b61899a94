"""Diagnostics: reliability of an estimate, and limits of the data."""
