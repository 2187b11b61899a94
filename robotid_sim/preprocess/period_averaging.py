"""Mean over the periods of a log before anything else."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from robotid_sim.docstrings import documented
from robotid_sim.errors import LogError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.periods import Periods, periods_of
from robotid_sim.preprocess.preprocessor import Preprocessor, RowPreprocessor
from robotid_sim.registry import Registry

USER = "the preprocessor period-averaging"

METHODS: Registry[Preprocessor] = Registry(
    "smoothing method",
    Preprocessor,
    {
        "butterworth": "robotid_sim.preprocess.linear_filters:Butterworth",
        "fourier-fit": "robotid_sim.preprocess.fourier_fit:FourierFit",
        "rts": "robotid_sim.preprocess.rts:RtsSmoother",
        "savitzky-golay": "robotid_sim.preprocess.linear_filters:SavitzkyGolay",
    },
)
"""The preprocessors that leave the torque alone."""


@documented
@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodAveraging(RowPreprocessor):
    r"""Mean over all periods but the first, of position and torque alike, then any smoother.

    Averaging takes :math:`1 / \sqrt{M}` of the noise of M periods and nothing of a motion that
    repeats, without any model of it [1]_. The mean period stands in place of every one, so that the
    smoother has no ends; one period of it becomes rows. A log without a second period is smoothed
    as it is.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, sec. IV.
    """

    needs_period: ClassVar[bool] = True

    method: str = "rts"
    """What smooths the mean: a preprocessor of the motion alone."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its options."""
    smoother: Preprocessor | None = None
    """The smoother itself, tuned; then `method` and `options` have no effect."""

    def __post_init__(self) -> None:
        self._built()

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the motion of the mean period and its torque, repeated over the log."""
        periods = periods_of(log, USER)
        if periods is None:
            return self._built()(log, robot)
        mean = averaged(log, periods)
        motion = self._built()(mean, robot)
        edge = round(self.rows.edge / log.dt)
        first = periods.first - periods.samples // 2 - edge
        stop = first + periods.samples + 2 * edge
        if first < 0 or stop > log.t.size:
            raise LogError(f"{USER}: a period of {log.period:g} s is too short for the rows' edges")
        row_filter = self.rows.filter_for(mean, motion.dq, slice(first, stop))
        return replace(motion, row_filter=row_filter)

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with its smoother tuned to the mean of `log`."""
        if self.smoother is not None:
            return self
        periods = periods_of(log, USER)
        mean = log if periods is None else averaged(log, periods)
        return replace(self, smoother=self._built().tuned(mean, robot))

    def _built(self) -> Preprocessor:
        if self.smoother is not None:
            return self.smoother
        return METHODS.build(self.method, **{**self.options, "rows": self.rows})


def averaged(log: Log, periods: Periods) -> Log:
    """Return the log with its mean period in place of every one."""
    phase = periods.phase(log.t.size)
    q, tau = (periods.mean(x)[phase] for x in (log.q, log.tau_meas))
    return replace(log, q=q, tau_meas=tau, dq=None, truth=None)
