"""A study that is short enough for many tests; too short to pass every check."""

SHORT = """
[design]
candidates = 20
starts = 1
iterations = 10
periods = 2
[experiment]
rate = 250.0
"""
