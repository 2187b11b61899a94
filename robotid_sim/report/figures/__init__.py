"""The figures, one function each, from the values of a study to a chart."""
