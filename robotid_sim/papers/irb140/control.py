"""The paper's three models under sliding-mode control on the circle, in both interpretations.

The paper does not say whether its models are in the controller or in the simulated arm; section 3
"establishes three dynamic models" and drives each. Here they are formal models in the controller of
one arm, or three arms, each with a controller that has its exact model. Table 3's links are not
physically consistent: the engine runs a consistent set with the same torques.

In addition to the paper, its swarms identify from torques of the engine, compared with least
squares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.engine.engines import default_engine, use_engine
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.experiment.conditions import (
    Condition,
    ConditionScale,
    SinusoidalTorque,
    Undisturbed,
    compose,
)
from robotid_sim.experiment.rollout import Cell
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.model.catalog import make_published_plant, make_published_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.model import (
    ITERATIONS,
    PAPER_NAME,
    PARTICLES,
    PUBLISHED_SETS,
    ROBOT_NAME,
    SETTINGS,
)
from robotid_sim.papers.irb140.swarms import BOX_HALF_WIDTH, METHOD_SETTINGS
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import ConstraintsConfig, ControlConfig, DesignConfig
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.streams import make_stream
from robotid_sim.tasks.task import Circle, JointStep, TaskRun
from robotid_sim.validation.closed_loop import make_undisturbed_task
from robotid_sim.validation.comparison import UNDISTURBED_NAME, Comparison, task_runs
from robotid_sim.validation.control_run import ControlRun, Trace, run_loop

CIRCLE, STEP = "circle-slow", "joint-step"
SCENARIOS: Mapping[str, tuple[str, Condition]] = {
    "nominal": (UNDISTURBED_NAME, Undisturbed()),
    "disturbed": ("sinusoidal", SinusoidalTorque()),
}
"""Name in robotid_sim and condition, by the name of a scenario in the paper."""
MODELS = tuple(PUBLISHED_SETS)
"""Parameter sets of Table 3; the reference is the plant itself."""
CONTROL_RATE = 1000.0
"""Control rate [Hz]."""
SUBSTEPS = 2
"""Engine steps per control step, half the default of a cell, for time."""
STEP_KEYS = ("rise_time", "settling_time", "overshoot", "steady_state_error")
"""Metrics of the joint step, in the order of Table 4."""
STEP_TIME = 2.0
"""Time of the step [s], in which the slow loop settles."""
STEP_BANDWIDTHS = (3.0, 20.0)
"""Range in which the bandwidth of the step's loop is searched [rad/s]."""
SETTLING_TIME = 0.3
"""Time that the loop takes to settle, in which the torques of the models differ most [s]."""
CURVE_SAMPLES = 250
"""Samples of a stored curve."""
LOOP_COMPARISON = Comparison(trace_samples=1_000_000)
"""Sliding-mode control; traces have all samples of a lap, so that no torque transient is lost."""
JOINT_COUNT = 3
"""Number of joints whose links the paper identifies."""


def track(seed: int, run: int, scenario: str, *, arms: bool, lap: float = 30.0) -> dict[str, Any]:
    """Drive the circle, in `lap` [s], and the step with all models in one of `SCENARIOS`.

    The models are in the controller of the reference or are arms, each with a controller that has
    its exact model. Run r draws the phases of the disturbance, a sinusoid of 40 % of the peak
    torque of the reference, which are the same for all models. The nominal scenario is
    deterministic and has a single run. All have the gains of the reference. Run 0 also has time
    series.
    """
    plant = make_published_plant(ROBOT_NAME)
    study = "arms" if arms else "loop"
    name, condition = SCENARIOS[scenario]
    if arms:
        basis = base_parameters(plant, ())
        models = {model: find_equivalent(plant, basis, model) for model in MODELS}
    else:
        models = {m: make_published_robot(ROBOT_NAME, PUBLISHED_SETS[m]) for m in MODELS} | {
            "reference": plant
        }
    tasks = prepare_tasks(lap, default_engine())
    stream = ("plants", f"run {run}") if arms else ("loop", f"run {run}", "run 0", name)
    runs: dict[str, dict[str, ControlRun]] = {m: {} for m in MODELS}
    for key, prepared in tasks.items():
        size = ConditionScale(plant, prepared.peak, prepared.task.trajectory.duration)
        active = compose(name, (condition,), size, make_stream(seed, PAPER_NAME, *stream))
        for model, robot in models.items():
            arm = robot if arms else plant
            runs[model][key] = run_task(arm, robot, prepared.gains, prepared.task, active)
    true = runs["reference"][CIRCLE]
    bandwidth = {"step_bandwidth": tasks[STEP].gains.bandwidth}
    rows = {m: loop_row(r[CIRCLE], r[STEP], true) | bandwidth for m, r in runs.items()}
    curves = {m: curve_row(r[CIRCLE]) for m, r in runs.items() if run == 0}
    return {"studies": {study: {"methods": rows}, f"{study} curves": {"methods": curves}}}


def find_equivalent(robot: Robot, basis: BaseParameters, column: str) -> Robot:
    """Find the consistent arm nearest to `robot` with the joint torques of a column of Table 3.

    Raises `InconsistentInertiaError` if no consistent parameters have these torques.
    """
    beta = basis.project(make_published_robot(ROBOT_NAME, PUBLISHED_SETS[column]).parameters())
    phi = ConsistentProgram(robot, basis).find_exact(beta)
    if phi is None:
        raise InconsistentInertiaError(
            f"no consistent parameters have the torques of '{column}' of Table 3"
        )
    return robot.with_parameters(phi)


@dataclass(frozen=True)
class PreparedTask:
    """A task with the gains of its loop, which all models and runs share."""

    task: TaskRun
    gains: LoopGains
    peak: Float1D
    """Largest torques of the undisturbed loop with the true model, which scale a disturbance [N m],
    shape (n,)."""


@lru_cache(maxsize=2)
def prepare_tasks(lap: float, engine: str) -> dict[str, PreparedTask]:
    """Prepare the circle of `lap` [s] and the joint step, by name.

    The gains of the circle follow from a specification for a fast lap; the gains of the step give
    the true model the rise time of Table 4.
    """
    plant = make_published_plant(ROBOT_NAME)
    specs = {"circle": Circle(), STEP: JointStep(seconds=STEP_TIME)}
    fast, *_ = paths = task_runs(plant, Comparison(tasks=specs, slow_lap=lap))
    tasks = {task.name: task for task in paths}
    path = fast.trajectory(np.arange(0.0, fast.trajectory.duration, 1.0 / CONTROL_RATE))
    printed_rise = SETTINGS["printed"]["nominal"]["reference"]["step"][0]

    def gains_of(bandwidth: float) -> LoopGains:
        return LoopGains.from_specification(
            plant, path, rate=CONTROL_RATE, error=np.inf, bandwidth=bandwidth
        )

    def compute_rise_error(bandwidth: float) -> float:
        rise, *_ = step_metrics(run_task(plant, plant, gains_of(bandwidth), tasks[STEP]))
        assert rise is not None
        return rise - float(printed_rise)

    gains = LoopGains.from_specification(plant, path, rate=CONTROL_RATE)
    with use_engine(engine):
        slow = gains_of(brentq(compute_rise_error, *STEP_BANDWIDTHS, xtol=1e-3))
        return {
            task.name: PreparedTask(task, loop, run_task(plant, plant, loop, task).peak_torque)
            for task, loop in ((tasks[CIRCLE], gains), (tasks[STEP], slow))
        }


def run_task(
    plant: Robot, model: Robot, gains: LoopGains, task: TaskRun, scenario: Scenario | None = None
) -> ControlRun:
    """Run an arm on a task, with a model in its sliding-mode controller."""
    cell = Cell(plant=plant, controller=ComputedTorque(plant), rate=CONTROL_RATE, substeps=SUBSTEPS)
    rng = np.random.default_rng(0)  # no random numbers are drawn: there are no sensors in the loop
    exact = make_undisturbed_task(cell, gains, task, rng, LOOP_COMPARISON)
    active = replace(scenario or Scenario(), offset=task.offset)
    run = run_loop(replace(exact, model=model, model_name=model.name, scenario=active))
    assert isinstance(run, ControlRun), run
    return run


def step_metrics(run: ControlRun) -> list[float | None]:
    """List the metrics of a joint step, as in `STEP_KEYS`; None for values not reached."""
    assert run.step is not None
    return [getattr(run.step, name) for name in STEP_KEYS]


def _select_settled(run: ControlRun) -> tuple[Trace, slice]:
    """Select the samples of the time series after the loop has settled; all runs here have one."""
    assert run.trace is not None
    return run.trace, slice(int(np.argmax(run.trace.t >= SETTLING_TIME)), None)


def loop_row(lap: ControlRun, step: ControlRun, true: ControlRun) -> dict[str, Any]:
    """Measure the circle and the step of a model, the circle also against the reference.

    The row has, for the first joints: RMS torque differences [N m], energies, which are integrals
    of abs(tau dq) [J], RMS torque rates [N m/s] and RMS errors [rad], some also for the time after
    `SETTLING_TIME`; for all joints the norm of the errors [mrad]; the step metrics of Table 4.
    """
    trace, settled = _select_settled(lap)
    ideal, _ = _select_settled(true)
    difference = trace.tau - ideal.tau
    rate = np.diff(trace.tau[settled], axis=0) / np.diff(trace.t[settled])[:, None]

    def energy_settled(of: Trace) -> Float1D:
        return np.asarray(of.energy[-1] - of.energy[settled][0])

    values: dict[str, Float1D] = {
        "torque_difference": rms(difference),
        "torque_difference_settled": rms(difference[settled]),
        "energy": lap.energy,
        "energy_signed": lap.energy_signed,
        "energy_gap": np.abs(lap.energy - true.energy),
        "energy_gap_settled": np.abs(energy_settled(trace) - energy_settled(ideal)),
        "torque_rate": lap.torque_variation,
        "torque_rate_settled": rms(rate),
        "rms_error": lap.rms_error,
    }
    return {
        **{name: value[:JOINT_COUNT].tolist() for name, value in values.items()},
        "tracking_error": 1e3 * float(np.linalg.norm(lap.rms_error)),
        "step": step_metrics(step),
    }


def curve_row(lap: ControlRun) -> dict[str, Any]:
    """Thin the time series of the first joints and of the tool; its largest error is in [mm]."""
    trace, _ = _select_settled(lap)
    thinned = slice(None, None, max(1, trace.t.size // CURVE_SAMPLES))

    def thin(values: Float2D, digits: int) -> Float2D:
        return np.round(values[thinned, :JOINT_COUNT], digits)

    tau, tip, tip_reference = thin(trace.tau, 6), thin(trace.tip, 7), thin(trace.tip_reference, 7)
    return {
        "t": trace.t[thinned].tolist(),
        "tau": tau.tolist(),
        "energy": thin(trace.energy, 6).tolist(),
        "tip": tip.tolist(),
        "tip_reference": tip_reference.tolist(),
        "tau_rms": rms(tau).tolist(),
        "tip_error": 1e3 * float(np.linalg.norm(tip - tip_reference, axis=1).max()),
    }


TIP_LINK = "link_3"
"""End of the paper's chain; the wrist is locked and belongs to this link."""
CLASSICAL_ESTIMATORS = ("ols", "wls", "consistent")
TORQUE_METHODS = ("pso", "pso-decreasing", "qubit", "qubit-decreasing", "delta-well")


def identify_from_torque(seed: int, run: int) -> dict[str, Any]:
    """Compare classical estimators and swarms on one log of the arm in the engine.

    Excitation, experiment, preprocessing and sensors are those of a quick study. The swarms get
    the paper's budget and minimize the weighted sum of squared torque residuals. The ``error`` is
    the RMS of the parameter errors over the standard deviations of weighted least squares, the
    ``residual`` is by joint [N m].
    """
    log_seed = int(make_stream(seed, PAPER_NAME, "log", f"run {run}").integers(2**31))
    config = StudyConfig(
        seed=log_seed,
        design=DesignConfig(constraints=ConstraintsConfig(contact=True)),  # as in the paper
        control=ControlConfig(enabled=False),
    )
    plant = make_published_plant(ROBOT_NAME, TIP_LINK)
    setup = build_setup(plant, config.quick().with_estimators(CLASSICAL_ESTIMATORS))
    nominal, basis, streams = setup.nominal, setup.basis, setup.streams
    designs = design_excitation(nominal, basis, setup.excitation, streams("design"))
    log = run_experiment(setup.cell, designs.trajectories[0], streams("measure"))
    rng = streams("identify")
    identification = identify(log, nominal, basis=basis, plan=setup.fit, check=False, rng=rng)
    true = identification.basis.project(plant.parameters())
    estimates = {estimate.estimator: estimate for estimate in identification.estimates}
    std = estimates["wls"].std
    for name in TORQUE_METHODS:
        optimizer, options = METHOD_SETTINGS[name]
        budget = {"fraction": BOX_HALF_WIDTH, "evaluations": PARTICLES * ITERATIONS}
        estimator = ESTIMATORS.build(
            "wls-pso", optimizer=optimizer, options=dict(options), **budget
        )
        rng = make_stream(seed, PAPER_NAME, "torque", name, f"run {run}")
        estimates[name] = estimator.fit(identification.problem, rng)
    return {
        "methods": {
            name: {
                "criterion_over_optimum": estimate.criterion_over_optimum,
                "error": float(rms((estimate.beta - true) / std)),
                "residual": estimate.torque_rms.tolist(),
                "nfev": estimate.nfev,
                "seconds": estimate.seconds,
            }
            for name, estimate in estimates.items()
        }
    }
