"""Results as pages and figures; the only package that imports matplotlib."""
