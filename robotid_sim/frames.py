"""Tables of values as pandas data frames; pandas is an extra."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robotid_sim.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas


def data_frame(columns: Mapping[str, Any]) -> "pandas.DataFrame":
    """Return columns as a data frame.

    Raises `MissingExtraError` if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError.of("a data frame needs pandas", "frames") from error
    return pandas.DataFrame(dict(columns))
