"""Values in words and tables, as a terminal shows them."""
