"""Tables of values as pandas data frames; pandas is an extra."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from robotid_sim.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas

    from robotid_sim.arrays import Float1D


def data_frame(columns: "Mapping[str, Collection[Any] | Float1D]") -> "pandas.DataFrame":
    """Return columns as a data frame.

    Raises `MissingExtraError` if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError.of("a data frame needs pandas", "frames") from error
    return pandas.DataFrame(dict(columns))
