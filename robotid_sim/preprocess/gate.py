"""Samples that must not count: a gate before the row filter, on regressor and torque alike."""

from dataclasses import dataclass, fields

import numpy as np

from robotid_sim.arrays import Bool2D, Float
from robotid_sim.errors import ShapeError
from robotid_sim.measurement.motion import RowFilter

LEAST_SHARE = 0.05
"""Rows that see a smaller share of open samples than this fade out instead of being scaled up."""


@dataclass(frozen=True, slots=True, eq=False)
class GatedRowFilter(RowFilter):
    r"""Row filter that leaves samples out, each joint for itself.

    With the low-pass F and the gate :math:`g \in \{0, 1\}` of a joint it returns

    .. math:: F(g x) / \sqrt{F g}

    of torque and of every column of the regressor: the applicability function of normalized
    convolution [1]_. Both sides pass the same linear map, so ``tau = W beta`` stays exact however
    many samples are shut, and no sample has to be invented. Division by the root of the open share,
    where [1]_ divides by the share itself, leaves white noise with the same variance in every row,
    which is what least squares wants.

    References
    ----------
    .. [1] Knutsson, Westin (1993), "Normalized and differential convolution", IEEE Conf. Computer
       Vision and Pattern Recognition, 515-523, doi:10.1109/CVPR.1993.341081.
    """

    gate: Bool2D | None = None
    """Samples in `used` that count, shape (stop - first, n)."""

    def __post_init__(self) -> None:
        # A slotted dataclass is another class than the one its body sees: no bare super().
        RowFilter.__post_init__(self)
        if self.gate is None or len(self.gate) != self.stop - self.first:
            raise ShapeError(f"the gate of a row filter needs {self.stop - self.first} samples")

    def apply(self, x: Float) -> Float:
        """Return the rows of a signal cut to `used`, shut samples left out; see `RowFilter`."""
        assert self.gate is not None
        gate = self.gate.reshape(self.gate.shape + (1,) * (x.ndim - 2))
        share = RowFilter.apply(self, gate.astype(float))
        rows = RowFilter.apply(self, np.where(gate, x, 0.0))
        return np.asarray(rows / np.sqrt(np.maximum(share, LEAST_SHARE)))


def ungated(row_filter: RowFilter) -> RowFilter:
    """Return a row filter without its gate."""
    options = {field.name: getattr(row_filter, field.name) for field in fields(RowFilter)}
    return RowFilter(**options)


def gated(row_filter: RowFilter, gate: Bool2D) -> RowFilter:
    """Return a row filter with a gate for all samples of a log, shape (N, n), added to its own.

    A gate that shuts nothing leaves the filter as it is.
    """
    cut = gate[row_filter.used]
    if cut.all():
        return row_filter
    if isinstance(row_filter, GatedRowFilter) and row_filter.gate is not None:
        cut = cut & row_filter.gate
    options = {field.name: getattr(row_filter, field.name) for field in fields(RowFilter)}
    return GatedRowFilter(**options, gate=cut)
