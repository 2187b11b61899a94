"""Whether the residuals of a fit hold more than sensor noise explains."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.problem import Estimator, LinearProblem, build_problem
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import Sensor, measured_again, settled
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.validation.prediction import clean_log, rms


@dataclass(frozen=True, slots=True)
class ResidualNoise:
    """Residuals of a fit beside what sensor noise causes, RMS over rows and replicates, each (n,).

    Rows where noise is larger than on average are divided by their share of it.
    """

    estimated: Float1D
    """Residuals, the freedom of the fit accounted for [N m]."""
    expected: Float1D
    """Deviation of the rows that torque noise and propagated encoder noise cause [N m]."""
    replicates: int
    """Logs behind both numbers."""

    @property
    def ratio(self) -> Float1D:
        """Estimated over expected: 1 where the model and the filters leave nothing but noise."""
        return np.asarray(self.estimated / np.maximum(self.expected, np.finfo(float).tiny))


def residual_noise(
    plant: Robot,
    nominal: Robot,
    log: Log,
    sensors: Sequence[Sensor],
    preprocessor: Preprocessor,
    motion: Motion,
    problem: LinearProblem,
    estimator: Estimator,
    rngs: Sequence[np.random.Generator],
) -> ResidualNoise:
    """Fit replicates of a log anew and compare residuals with the spread between replicates.

    A replicate is the same true motion measured anew; the log itself is the first. All pass the
    same fixed filters. The spread between replicates holds the torque noise and the encoder noise
    propagated through the true model, and nothing that is the same in all of them, such as a
    filter's bias, a delay or a wrong friction law; the residuals hold that too. Propagated encoder
    noise is large only near friction reversals, where few rows would carry most of both sums: a
    joint that creeps through one shows nothing but the bend of its friction curve there.

    `plant` and the truth of `log` serve for scoring only; the preprocessor holds everything that it
    learnt from the log fixed, see `Preprocessor.tuned`. `motion` and `problem` are what it made of
    the log, and each of `rngs` makes a further replicate.
    """
    # Sensors are of the same cell, not of another one of its kind.
    cell = clean_log(log), settled(sensors, log), preprocessor, nominal
    fitted = partial(_left_by_fit, plant, estimator)
    replicate = partial(_replicate, fitted, *cell, problem.basis)
    draws = [(rng, k / (len(rngs) + 1.0)) for k, rng in enumerate(rngs, start=1)]
    parts = [fitted(motion, problem), *map(replicate, draws)]
    residuals, rows = (list(each) for each in zip(*parts, strict=True))
    spread = np.std(np.array(rows), axis=0, ddof=1)
    share = np.maximum(spread / np.maximum(rms(spread), np.finfo(float).tiny), 1.0)
    freedom = 1.0 - problem.basis.rank / problem.y.size
    estimated = rms(np.concatenate(residuals / share)) / np.sqrt(max(freedom, 1e-9))
    return ResidualNoise(estimated, rms(spread / share), len(rows))


def _replicate(
    fitted: Callable[[Motion, LinearProblem], tuple[Float2D, Float2D]],
    clean: Log,
    sensors: Sequence[Sensor],
    preprocessor: Preprocessor,
    nominal: Robot,
    basis: BaseParameters,
    draw: tuple[np.random.Generator, float],
) -> tuple[Float2D, Float2D]:
    """Return what is left where the motion is measured anew, as `_left_by_fit`."""
    motion = preprocessor(measured_again(clean, sensors, *draw), nominal)
    return fitted(motion, build_problem(motion, nominal, basis))


def _left_by_fit(
    plant: Robot, estimator: Estimator, motion: Motion, problem: LinearProblem
) -> tuple[Float2D, Float2D]:
    """Return the residuals of a fit, and what the true model leaves of the rows."""
    beta = estimator.fit(problem, np.random.default_rng(0)).beta
    model = joint_torque(plant, motion.q, motion.dq, motion.ddq)
    if motion.row_filter is not None:
        model = motion.row_filter.apply(model[motion.row_filter.used])
    return problem.by_joint(problem.y - problem.W @ beta), problem.by_joint(problem.y) - model
