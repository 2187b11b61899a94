"""What texts of values are made of."""

from robotid_sim.table import Table

Text = str | Table
"""A line, which a terminal wraps, or a table."""
