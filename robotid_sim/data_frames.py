"""Tables of values as pandas data frames; pandas is an extra."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robotid_sim.errors import require_extra

if TYPE_CHECKING:
    import pandas


def data_frame(columns: Mapping[str, Any]) -> "pandas.DataFrame":
    """Return columns as a data frame.

    Raises `MissingExtraError` if pandas is not installed.
    """
    with require_extra("a data frame needs pandas", "frames"):
        import pandas
    return pandas.DataFrame(dict(columns))
