"""One part of a user's own a family, registered by name: a plugin of the tests."""

from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import readonly
from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import ModelController
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.criteria import DOptimality
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.conditions import CONDITIONS, Condition
from robotid_sim.experiment.scenario import Constant
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.sensors import Sensor, record_sensor
from robotid_sim.model.friction_law import FRICTION_LAWS, FrictionLaw, coefficients_of
from robotid_sim.optim.optimizer import OPTIMIZERS, Optimizer
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.tasks import TASKS
from robotid_sim.tasks.task import Task, TaskRun
from robotid_sim.trajectory.reference import PointToPoint


@SENSORS.register("own-bias")
@dataclass(frozen=True, kw_only=True)
class TorqueBias(Sensor):
    """A torque sensor whose zero is off."""

    random: ClassVar[bool] = False
    share: float = 1e-4

    def __call__(self, log, rng):
        size = np.sqrt((log.tau_meas**2).mean(axis=0))
        return record_sensor(self, log, tau_meas=log.tau_meas + self.share * size)


@PREPROCESSORS.register("own-smoother")
@dataclass(frozen=True, kw_only=True)
class OwnSmoother(Preprocessor):
    """The smoother of the package under a name of its own."""

    rows: Rows = field(default_factory=Rows)
    inner: RtsSmoother | None = None

    @property
    def _smoother(self):
        return self.inner or RtsSmoother(rows=self.rows)

    def __call__(self, log, robot):
        return self._smoother(log, robot)

    def tune(self, log, robot):
        return self if self.inner else replace(self, inner=self._smoother.tune(log, robot))


@ESTIMATORS.register("own-ridge")
@dataclass(frozen=True, kw_only=True)
class Shrunken(Estimator):
    """Weighted least squares, shrunk by a hair."""

    share: float = 1e-6

    def fit(self, problem, rng):
        estimate = WeightedLeastSquares().fit(problem, rng)
        beta = readonly((1.0 - self.share) * estimate.beta, shape=(None,), name="beta")
        options = {**asdict(self)}
        return replace(estimate, beta=beta, options=options, unbiased=False)


@OPTIMIZERS.register("own-search")
@dataclass(eq=False)
class ShrinkingSearch(Optimizer):
    """Points about the best one so far, nearer and nearer."""

    population: int = 10
    pace: float = 0.99

    def _first(self):
        self._best, self._cost, self._width = None, np.inf, 1.0
        self._X = self.box.scatter(self.population, 1.0, self.rng)
        return self._X

    def _next(self, f):
        k = int(np.argmin(f))
        if f[k] < self._cost:
            self._best, self._cost = self._X[k].copy(), float(f[k])
        self._width *= self.pace
        X = self.box.scatter(self.population, 1.0, self.rng)
        if self._best is not None:
            middle = 0.5 * (self.box.lower + self.box.upper)
            X = self._best + self._width * (X - middle)
        self._X = np.clip(X, self.box.lower, self.box.upper)
        return self._X


@CRITERIA.register("own-optimality")
@dataclass(frozen=True, kw_only=True, eq=False)
class OwnOptimality(DOptimality):
    """D-optimality under a name of its own."""

    symbol: ClassVar[str] = "-log det, mine"


@FAMILIES.register("own-series")
@dataclass(frozen=True, kw_only=True)
class ShortSeries(FourierOptions):
    """Fourier series of three harmonics."""

    harmonics: int = 3


@CONTROLLERS.register("own-law")
@dataclass(frozen=True, eq=False)
class OwnLaw(ModelController):
    """Computed torque under a name of its own."""

    inner: ComputedTorque

    @classmethod
    def from_gains(cls, model, gains):
        return cls(ComputedTorque.from_gains(model, gains))

    def __call__(self, t, q, dq, setpoint):
        return self.inner(t, q, dq, setpoint)


@TASKS.register("own-move")
@dataclass(frozen=True, kw_only=True)
class OwnMove(Task):
    """From home a little way, slowly."""

    seconds: float = 3.0

    def runs(self, robot, plan=None):
        end = robot.home + 0.1 * robot.limits.half_range
        path = PointToPoint(robot.joint_names, robot.home, end, 0.0, self.seconds)
        return [TaskRun("own-move", path)]


@CONDITIONS.register("own-push")
@dataclass(frozen=True, kw_only=True)
class OwnPush(Condition):
    """A constant push on the first joint."""

    share: float = 0.1

    def add(self, scenario, size, rng):
        torque = np.zeros(size.peak.size)
        torque[0] = self.share * size.peak[0]
        return replace(scenario, disturbances=(*scenario.disturbances, Constant(torque)))


@FRICTION_LAWS.register("own-friction")
@dataclass(frozen=True, kw_only=True)
class OwnFriction(FrictionLaw):
    """The robot's own friction, a little more viscous."""

    factor: float = 1.01

    def coefficients(self, robot):
        viscous = np.array([self.factor * joint.friction.Fv for joint in robot.joints])
        return coefficients_of(robot, Fv_forward=viscous, Fv_backward=viscous)
