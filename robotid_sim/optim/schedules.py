"""How a coefficient changes from the first evaluation of a run to the last."""


def linear(start: float, end: float, progress: float) -> float:
    """Return the value on the line from start to end after a share `progress` of the budget."""
    return start + (end - start) * progress


def geometric(start: float, end: float, progress: float) -> float:
    """Return the value on the geometric sequence from start to end; both are positive."""
    return float(start * (end / start) ** progress)
