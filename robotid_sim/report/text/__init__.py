"""Values in words and tables, as a terminal shows them."""

from robotid_sim.table import Table

Text = str | Table
"""A line, which a terminal wraps, or a table."""
