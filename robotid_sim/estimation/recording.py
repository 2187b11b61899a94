"""Recorded positions and torques of a log, for estimators that simulate."""

from dataclasses import dataclass

from robotid_sim.arrays import Bool2D, Float1D, Float2D, freeze
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class RecordedLog:
    """Unfiltered positions and torques of a log."""

    q: Float2D
    """Measured position [rad or m], shape (N, n)."""
    tau: Float2D
    """Measured torque of the step that begins near every position, minus known loads and other
    torque without parameters [N m], shape (N, n)."""
    dq: Float1D
    """Approximate velocity of the first sample [rad/s], shape (n,)."""
    valid: Bool2D
    """Whether a position is measured; others are interpolated, shape (N, n)."""
    dt: float
    """Sample time [s]."""
    lead: float
    """Time from the start of a step to the measurement of its position [s], at most half a step
    early or late: torques are not interpolated, to keep the prediction causal."""
    position_noise: Float1D
    """Standard deviation of the white noise of the positions [rad or m], shape (n,)."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "q")
        freeze(self, self.q.shape, "tau")
        freeze(self, self.q.shape[1:], "dq", "position_noise")
        if self.valid.shape != self.q.shape:
            raise ShapeError(f"valid has shape {self.valid.shape}, expected {self.q.shape}")
        if abs(self.lead) > 0.5001 * self.dt:
            raise OptionError(
                f"the time offset of a position is {self.lead:g} s, more than half a sample"
            )
        if not (self.dt > 0.0 and (self.position_noise > 0.0).all()):
            raise OptionError("a recording needs a positive sample time and noise of its positions")

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return len(self.q)
