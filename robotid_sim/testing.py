"""Contract checks for user-defined parts, one per family, like scikit-learn's ``check_estimator``.

Each check uses an object on a small arm and raises `AssertionError` naming the violated rule. The
project's own contract tests call them too. Deviations from a rule that are allowed are
declared by attributes of the class, such as `Sensor.random` or `ModelController.uses_feedforward`.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, is_dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.controller import ControllerFactory, Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import LogError, RobotIdError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem, build_problem
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.design import base_regressor, random_feasible
from robotid_sim.excitation.space import ExcitationFamily, FourierOptions
from robotid_sim.experiment.conditions import Condition, ConditionScale, compose
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_law import FrictionLaw, evaluate_coefficients
from robotid_sim.model.joint_terms import require_terms_of
from robotid_sim.model.perturb import perturb
from robotid_sim.model.plant_drives import SPRING_COLUMNS, PlantDrive
from robotid_sim.model.robot import Robot
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.preprocess.preprocessor import Preprocessor, motion_of_log
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.tasks.task import Task

WorkResult = TypeVar("WorkResult")

SAMPLE_RATE = 500.0
"""Rate of the sample log [Hz]."""

GRADIENT_TOLERANCE = 1e-6
"""Largest error of a gradient against central differences, relative to its norm."""

SPHERE_CENTER = np.array([-2.1, 0.7, 1.9, -0.4, 2.6])
"""Point of the minimum of the sphere function on which optimizers are checked."""

LIMIT_TOLERANCE = 1e-6
"""Largest relative excess of sampled motions over a limit."""


@cache
def sample_robot() -> Robot:
    """Return the two-link arm of the catalog."""
    return load_robot("twolink")


@cache
def sample_log() -> Log:
    """Return a log of the arm with exact positions and 1 % torque noise: two periods of 5 s."""
    robot, rng = sample_robot(), np.random.default_rng(0)
    path = random_feasible(robot, rng, FourierOptions(period=5.0, periods=2))
    t = np.arange(round(path.start * SAMPLE_RATE), round(path.duration * SAMPLE_RATE)) / SAMPLE_RATE
    motion = path(t)
    tau = joint_torque(robot, motion.q, motion.dq, motion.ddq)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
    return Log(
        t=t,
        q=motion.q,
        tau_meas=tau + noise,
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        period=5.0,
        origin="virtual",
        seed=0,
        truth=Truth(motion.q, motion.dq, motion.ddq, tau),
    )


@cache
def sample_problem() -> LinearProblem:
    """Return the linear problem of the sample log."""
    robot = sample_robot()
    return build_problem(RtsSmoother()(sample_log(), robot), robot, base_parameters(robot))


def _channels(log: Log) -> bytes:
    names = ("t", "q", "tau_meas", "dq", "tau_cmd", "current")
    present = (getattr(log, name) for name in names)
    return b"".join(value.tobytes() for value in present if value is not None)


def _numbers(motion: Motion) -> bytes:
    return b"".join(getattr(motion, name).tobytes() for name in ("t", "q", "dq", "ddq", "tau"))


def _assert_accepted(work: Callable[[], WorkResult]) -> WorkResult:
    """Call `work`; turn an error for which a study rejects the item into an `AssertionError`."""
    try:
        return work()
    except RobotIdError as error:
        raise AssertionError(str(error)) from error


def _state_of(item: object) -> Any:
    """Return the fields of an item, which calls must not change."""
    return asdict(item) if is_dataclass(item) and not isinstance(item, type) else vars(item).copy()


def _require_deterministic(run: Callable[[np.random.Generator], bytes], *, random: bool) -> None:
    """Require equal bits for equal seeds, and different bits for another seed if it is random."""
    # The global generator is used only to show that it is not touched.
    state_before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    first, again, other = (run(np.random.default_rng(seed)) for seed in (3, 3, 4))
    state_after = np.random.get_state()[1]  # type: ignore[index] # noqa: NPY002
    assert first == again, "the same seed gives other numbers"
    assert np.array_equal(state_before, state_after), "draws from NumPy's global generator; use rng"
    if random:
        assert first != other, "another seed gives the same numbers; set the trait random = False"
    else:
        assert first == other, "draws, although its trait says random = False"


def check_sensor(sensor: Sensor) -> None:
    """Check that a sensor changes only channels of a log and uses only its generator."""
    log = sample_log()
    channels_before, options = _channels(log), deepcopy(_state_of(sensor))
    measured_log = sensor(log, np.random.default_rng(0))
    assert isinstance(measured_log, Log), "returns no Log"
    assert _channels(log) == channels_before, "changes the log that it was given"
    assert measured_log.truth is log.truth, "changes or drops the truth"
    assert measured_log.q.shape == log.q.shape, "changes the number of samples"
    assert np.array_equal(measured_log.t, log.t), "changes the times"
    for name in ("joint_names", "joint_units", "torque_time_offset", "period", "seed", "origin"):
        assert getattr(measured_log, name) == getattr(log, name), f"changes {name}"
    log_without_truth = sensor(replace(log, truth=None), np.random.default_rng(0))
    assert _channels(log_without_truth) == _channels(measured_log), "looks at the truth"
    _require_deterministic(lambda rng: _channels(sensor(log, rng)), random=sensor.random)
    assert repr(_state_of(sensor)) == repr(options), "changes its own options"


def check_preprocessor(preprocessor: Preprocessor) -> None:
    """Check that a preprocessor uses only the measurement for the motion, and can be tuned."""
    log, robot = sample_log(), sample_robot()
    channels_before = _channels(log)
    motion = _assert_accepted(partial(motion_of_log, preprocessor, log, robot))
    assert np.array_equal(motion.t, log.t + log.torque_time_offset), "t is not the torque's time"
    motion_without_truth = preprocessor(replace(log, truth=None), robot)
    assert _numbers(motion_without_truth) == _numbers(motion), "looks at the truth"
    other_motion = preprocessor(log, perturb(robot, np.random.default_rng(1)))
    for name in ("q", "dq", "ddq", "tau"):
        array, other_array = getattr(motion, name), getattr(other_motion, name)
        # Preprocessors that fit a model start from the nominal one, and so differ by rounding.
        is_equal = np.allclose(array, other_array, rtol=0.0, atol=1e-6 * np.abs(array).max())
        assert is_equal, "depends on the inertia of the nominal model"
    tuned_copy = preprocessor.tune(log, robot)
    assert _numbers(tuned_copy(log, robot)) == _numbers(motion), "tune() changes the motion"
    assert tuned_copy.tune(log, robot) is tuned_copy, "tune() changes a tuned preprocessor"
    assert _channels(log) == channels_before, "changes the log that it was given"
    if preprocessor.needs_period:
        try:
            preprocessor(replace(log, period=None), robot)
        except LogError:
            return
        raise AssertionError("takes a log without a period, although it needs one")
    preprocessor(replace(log, period=None), robot)


def check_estimator(estimator: Estimator) -> None:
    """Check that an estimator fits, changes none of its inputs, and returns failures as data."""
    problem = sample_problem()
    state_before = (problem.W.tobytes(), problem.y.tobytes(), repr(_state_of(estimator)))
    estimate = estimator.fit(problem, np.random.default_rng(0))
    assert isinstance(estimate, Estimate), "returns no Estimate"
    assert estimate.success, f"fails on a good problem: {estimate.message}"
    assert estimate.beta.shape == (problem.basis.rank,), "beta differs in size from the basis"
    assert estimate.names == problem.basis.names, "names other parameters"
    assert estimate.joint_names == problem.joint_names, "names other joints"
    state_after = (problem.W.tobytes(), problem.y.tobytes(), repr(_state_of(estimator)))
    assert state_before == state_after, "changes the problem or its own options"

    def fit(rng: np.random.Generator) -> bytes:
        return estimator.fit(problem, rng).beta.tobytes()

    _require_deterministic(fit, random=estimator.random)
    if estimate.cov is not None:
        scale = np.sqrt(np.outer(np.diag(estimate.cov), np.diag(estimate.cov)))
        assert np.linalg.eigvalsh(estimate.cov / scale).min() > 0.0, "cov is not a covariance"
    W = problem.W.copy()
    W[:, 0] = 0.0
    failed_estimate = estimator.fit(replace(problem, W=W), np.random.default_rng(0))
    assert not failed_estimate.success, "succeeds although one parameter has no effect"
    assert failed_estimate.message, "fails without a message"


def check_optimizer(optimizer: Optimizer) -> None:
    """Check that an optimizer respects box and budget, and minimizes the sphere function."""
    box = np.full(5, 5.0)
    points: list[Float2D] = []
    options = repr(_options(optimizer))

    def search(rng: np.random.Generator, budget: int = 600) -> bytes:
        points.clear()

        def cost(X: Float2D) -> Float1D:
            points.append(X.copy())
            return _sphere(X)

        result = minimize(cost, -box, box, method=optimizer, max_evals=budget, rng=rng)
        queries = np.concatenate(points)
        assert result.nfev == len(queries) == budget, "does not spend its budget exactly"
        assert (queries == result.x).all(axis=1).any(), "returns a point that was not evaluated"
        assert (np.abs(queries) <= box).all(), "asks for points outside the box"
        assert (np.diff(result.history[:, 1]) <= 0.0).all(), "its history rises"
        return result.x.tobytes()

    _require_deterministic(search, random=True)
    assert repr(_options(optimizer)) == options, "changes its own options"
    result = minimize(
        _sphere, -box, box, method=optimizer, max_evals=10_000, rng=np.random.default_rng(0)
    )
    assert result.fun < optimizer.sphere_cost, f"ends at {result.fun:.3g} on a sphere"


def _sphere(X: Float2D) -> Float1D:
    """Return squared distances from a point off the center of the box, shape (m,)."""
    return np.asarray(((X - SPHERE_CENTER) ** 2).sum(axis=1))


def _options(optimizer: Optimizer) -> dict[str, Any]:
    fields = getattr(optimizer, "__dataclass_fields__", {})
    return {name: getattr(optimizer, name) for name, field in fields.items() if field.init}


def check_criterion(criterion: Criterion) -> None:
    """Check that a criterion's gradient matches its value, which is infinite without full rank."""
    robot, rng = sample_robot(), np.random.default_rng(0)
    basis = base_parameters(robot)
    path = random_feasible(robot, rng, FourierOptions(period=5.0, periods=1))
    W = base_regressor(robot, basis, path, np.arange(40) * 0.125)
    scale = np.ones(robot.dof)
    value, gradient = criterion(W, scale)
    assert np.isfinite(value), "is not finite for an exciting motion"
    assert gradient.shape == W.shape, "its gradient differs in shape from W"
    for _ in range(3):
        direction = rng.standard_normal(W.shape)
        direction *= np.abs(W)
        direction /= np.linalg.norm(direction)
        step = 1e-5 * np.linalg.norm(W)
        f_ahead, f_behind = (criterion(W + sign * step * direction, scale)[0] for sign in (1, -1))
        difference = (f_ahead - f_behind) / (2.0 * step)
        size = max(float(np.linalg.norm(gradient)), np.finfo(float).tiny)
        error = abs(float((gradient * direction).sum()) - difference) / size
        assert error < GRADIENT_TOLERANCE, f"its gradient is off by {error:.2g}"
    W_zero = W.copy()
    W_zero[:, :, 0] = 0.0
    assert criterion(W_zero, scale)[0] == np.inf, "is finite although a parameter has no effect"
    assert criterion.symbol, "has no symbol"


def check_family(family: ExcitationFamily) -> None:
    """Check that a family's motions start and end at rest, keep the limits, and are smooth."""
    robot = load_robot(family.check_robot)
    space = family.space(robot)
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    assert trajectory.joint_names == robot.joint_names, "moves other joints"
    ends = trajectory(np.array([0.0, family.period]))
    assert np.abs(ends.dq).max() < 1e-9, "does not start and end a run at rest"
    assert np.abs(ends.q[1] - ends.q[0]).max() < 1e-9, "does not end a run where it began"
    t = np.linspace(0.0, family.period, 4001)
    run, limits = trajectory(t), robot.limits
    share = family.margin * (1.0 + LIMIT_TOLERANCE)
    assert (np.abs(run.q - limits.middle) <= share * limits.half_range).all(), "leaves its range"
    assert (np.abs(run.dq) <= share * limits.velocity).all(), "is too fast"
    assert (np.abs(run.ddq) <= share * limits.acceleration).all(), "accelerates too much"
    h = 1e-4
    inner = t[10:-10]
    slope = (trajectory(inner + h).q - trajectory(inner - h).q) / (2.0 * h)
    assert np.abs(slope - trajectory(inner).dq).max() < 1e-4, "dq is not the derivative of q"


def check_controller(factory: ControllerFactory) -> None:
    """Check that torques are finite and repeatable, and have feedforward if the trait says so."""
    robot = sample_robot()
    path = random_feasible(robot, np.random.default_rng(0), FourierOptions(period=5.0, periods=1))
    reference = path(np.linspace(0.0, 5.0, 500))
    gains = LoopGains.from_specification(robot, reference, rate=1000.0)
    law = factory(robot, gains)

    def commands() -> Float2D:
        law.reset()
        rows = []
        for k in range(5):
            q, dq, ddq = reference.q[k], reference.dq[k], reference.ddq[k]
            state = (q.tobytes(), dq.tobytes())
            rows.append(law(1e-3 * k, q, dq, Setpoint(q + 0.01, dq - 0.02, ddq)))
            assert (q.tobytes(), dq.tobytes()) == state, "changes the state that it was given"
        return np.array([row.copy() for row in rows])

    first = commands()
    assert first.shape == (5, robot.dof), "does not return a torque per joint"
    assert np.isfinite(first).all(), "returns torques that are not finite"
    assert np.array_equal(first, commands()), "does not repeat its torques after reset()"
    if getattr(law, "uses_feedforward", True):
        law.reset()
        q, dq, ddq = reference.q[7], reference.dq[7], reference.ddq[7]
        torque = law(0.0, q, dq, Setpoint(q, dq, ddq))
        exact = joint_torque(robot, q, dq, ddq)
        assert np.allclose(torque, exact, rtol=1e-9, atol=1e-8), (
            "does not give the torque of the motion where there is no error; a law without "
            "feedforward sets the trait uses_feedforward = False"
        )


def check_task(task: Task) -> None:
    """Check that a task's runs are motions of the robot within its limits."""
    robot = sample_robot()
    runs = task.runs(robot)
    assert runs, "has no run"
    assert len({run.name for run in runs}) == len(runs), "two runs have one name"
    for run in runs:
        assert run.is_step == task.is_step, f"run '{run.name}' contradicts the trait is_step"
        path = run.trajectory
        assert path.joint_names == robot.joint_names, f"run '{run.name}' moves other joints"
        reference = path(np.linspace(0.0, path.duration, 2001))
        limits, share = robot.limits, 1.0 + LIMIT_TOLERANCE
        is_within_range = np.abs(reference.q - limits.middle) <= share * limits.half_range
        assert is_within_range.all(), f"run '{run.name}' leaves the range of a joint"
        is_slow = np.abs(reference.dq) <= share * limits.velocity
        assert is_slow.all(), f"run '{run.name}' is too fast"


def check_condition(condition: Condition) -> None:
    """Check that a condition makes a scenario and uses only its generator."""
    robot = sample_robot()
    size = ConditionScale(robot, np.full(robot.dof, 10.0), 3.0)
    t = np.linspace(0.0, 3.0, 100)

    def scenario(rng: np.random.Generator) -> Scenario:
        return compose("tried", [condition], size, rng)

    def torque(rng: np.random.Generator) -> bytes:
        tau = scenario(rng).disturbance(t, robot.dof)
        assert tau is None or tau.shape == (t.size, robot.dof), "torque must have shape (N, n)"
        return b"" if tau is None else tau.tobytes()

    result = scenario(np.random.default_rng(0))
    assert isinstance(result, Scenario), "returns no Scenario"
    assert result.name == "tried", "changes the name of the scenario"
    draws = condition.random and result.disturbance(t, robot.dof) is not None
    _require_deterministic(torque, random=draws)
    assert result.plant(robot).joint_names == robot.joint_names, "changes the joints of the plant"


def check_plant_drive(drive: PlantDrive) -> None:
    """Check that a drive returns springs of joints with rotor inertia, the same at every call."""
    robot = sample_robot()
    joints = tuple(replace(joint, rotor_inertia=0.1) for joint in robot.joints)
    robot = replace(robot, joints=joints)
    load, inertia = np.full(robot.dof, 20.0), np.full(robot.dof, 0.05)
    rows = drive.springs(robot, load, inertia)
    assert rows.shape == (robot.dof, len(SPRING_COLUMNS)), f"no row of {SPRING_COLUMNS} per joint"
    assert (np.isfinite(rows) & (rows >= 0.0)).all(), "springs are negative or not finite"
    assert np.array_equal(rows, drive.springs(robot, load, inertia)), (
        "gives other numbers each time"
    )


def check_friction_law(law: FrictionLaw) -> None:
    """Check that a friction law returns coefficients and terms, the same at every call."""
    for name in ("twolink", "irb140"):
        robot = load_robot(name)
        rows = _assert_accepted(partial(evaluate_coefficients, law, robot))
        assert np.array_equal(rows, law.coefficients(robot)), "gives other numbers each time"
        terms = law.terms(robot)
        require_terms_of(terms, robot.joint_names, name)
        assert terms == law.terms(robot), "gives other terms each time"
