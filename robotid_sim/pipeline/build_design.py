"""Build the excitation design of a study from its configuration."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.engine.free_space import FreeSpace, assume_floor
from robotid_sim.engine.proximity import DISTANCE_CUTOFF
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.constraints import MotionConstraint, TipBox, TipPlane, TorqueLimit
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.excitation.information import Prior, compute_information
from robotid_sim.excitation.penalties import wide_draw
from robotid_sim.excitation.plan import DesignPlan, GradientSearch, SwarmSearch
from robotid_sim.excitation.space import ExcitationFamily, FourierOptions
from robotid_sim.experiment.rollout import GRID_TOLERANCE
from robotid_sim.measurement.files import load_log
from robotid_sim.model.robot import Robot
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import ConstraintsConfig, DesignConfig
from robotid_sim.pipeline.excitation import free_space
from robotid_sim.preprocess.misfit import JOINT_SYMBOLS
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.streams import Streams
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import APPROACH_STEP, require_runnable, require_samples
from robotid_sim.trajectory.trajectory_files import load_trajectory

GRADIENT, RANDOM = "slsqp", "random"
"""Solvers that are not in `robotid_sim.optim`."""

HARMONIC_FAMILIES = ("fourier", "fourier-quintic", "cartesian-fourier")

TRAJECTORY_SUFFIX = ".json"

MAX_CLEARANCE = 0.8 * DISTANCE_CUTOFF
"""Largest clearance [m]; smaller than the cut-off, because the solver needs larger distances."""


@one_blas_thread()
def build_design(nominal: Robot, basis: BaseParameters, config: StudyConfig) -> DesignPlan:
    """Build the plan of the excitation, with the prior from the files of `design.prior`.

    Raises
    ------
    UnknownNameError, OptionError
        If a name, an option or a size is invalid.
    """
    design, rate = config.design, config.experiment.rate
    family = build_family(design)
    if 2.0 * getattr(family, "harmonics", 0) >= family.period * rate:
        limit = f"{0.5 * family.period * rate:g} for {family.period:g} s at {rate:g} Hz"
        raise OptionError(f"design.harmonics is {design.harmonics}; it must be less than {limit}")
    require_samples(family.periods * family.period, rate, f"design.periods = {family.periods}")
    start = _to_array(nominal, "start", design.constraints.start)
    settings = design.constraints
    constraints: list[MotionConstraint] = []
    if settings.uncertainty > 0.0:
        constraints.append(TorqueLimit(nominal, design.torque_ratio, settings.uncertainty))
    constraints += [TipBox(nominal, np.array(b.lower), np.array(b.upper)) for b in settings.boxes]
    constraints += [TipPlane(nominal, np.array(p.normal), p.offset) for p in settings.planes]
    plan = DesignPlan(
        family=family,
        criterion=build_criterion(design),
        search=build_search(design),
        constraints=tuple(constraints),
        start=start,
        **_space(nominal, start, design.constraints),
        noise_std=_to_array(nominal, "noise_std", design.noise_std),
        prior_names=tuple(str(path) for path in design.prior),
        count=design.count,
        jointly=design.jointly,
        rate=rate,
    )
    if not design.prior:
        return plan
    priors = (_compute_prior(path, nominal, basis, plan) for path in design.prior)
    return replace(plan, prior=sum(priors, Prior.none(basis.rank)))


def build_search(design: DesignConfig) -> GradientSearch | SwarmSearch:
    """Build the search of a design by the name of its solver."""
    if design.solver in (GRADIENT, RANDOM):
        starts = 0 if design.solver == RANDOM else design.starts
        return GradientSearch(
            candidates=design.candidates, starts=starts, iterations=design.iterations
        )
    if design.solver not in OPTIMIZERS:
        raise UnknownNameError.from_names("solver", design.solver, (GRADIENT, RANDOM, *OPTIMIZERS))
    if design.count > 1:
        raise OptionError(
            f"solver '{design.solver}' designs one trajectory, not {design.count}; use {GRADIENT}"
        )
    return SwarmSearch(
        method=design.solver,
        population=design.population,
        generations=design.generations,
        handling=design.handling,
    )


def build_space(nominal: Robot, config: StudyConfig) -> FreeSpace | None:
    """Build the space in which links keep their clearance; None without clearance."""
    settings = config.design.constraints
    start = _to_array(nominal, "start", settings.start)
    return free_space(nominal, DesignPlan(start=start, **_space(nominal, start, settings)))


def _space(nominal: Robot, start: Float1D | None, settings: ConstraintsConfig) -> dict[str, Any]:
    """Return the fields `clearance`, `floor` and `assumptions` of a plan."""
    if settings.contact:
        return {}
    if settings.clearance > MAX_CLEARANCE:
        raise OptionError(
            f"design.constraints.clearance is {settings.clearance:g} m; give at most "
            f"{MAX_CLEARANCE:g} m, because distances are measured up to {DISTANCE_CUTOFF:g} m"
        )
    floor = settings.floor
    notes: tuple[str, ...] = ()
    if floor is None:
        floor, notes = assume_floor(nominal, nominal.home if start is None else start)
    elif floor == -np.inf:
        floor = None
    return {"clearance": settings.clearance, "floor": floor, "assumptions": notes}


def _to_array(nominal: Robot, name: str, values: tuple[float, ...] | None) -> Float1D | None:
    if values is None:
        return None
    if len(values) != nominal.dof:
        raise OptionError(
            f"design.{name} has {len(values)} numbers for {nominal.dof} joints of '{nominal.name}'"
        )
    return np.array(values)


def build_family(design: DesignConfig) -> ExcitationFamily:
    """Build the family of an excitation with its limits."""
    options: dict[str, Any] = {
        name: getattr(design, name) for name in ("period", "periods", "margin", "torque_ratio")
    }
    if design.family in HARMONIC_FAMILIES:
        options["harmonics"] = design.harmonics
    if design.family == "fourier":
        options["amplitude"] = design.amplitude
    if design.constraints.jerk is not None:
        options["jerk"] = design.constraints.jerk
    return FAMILIES.build(design.family, **{**options, **design.options})


def build_criterion(design: DesignConfig, name: str | None = None) -> Criterion:
    """Build the criterion of a design, or the criterion `name` with its defaults."""
    if name is not None and name != design.criterion:
        return CRITERIA.build(name)
    return CRITERIA.build(design.criterion, **design.criterion_options)


def build_unseen(
    nominal: Robot,
    basis: BaseParameters,
    plan: DesignPlan,
    config: StudyConfig,
    *,
    is_wide: bool = True,
) -> FourierTrajectory:
    """Build the validation motion of one period, which is not optimized.

    It is a Fourier series for any family of the excitation, and respects the constraints of the
    plan. Raises `InfeasibleError` if no random candidate does.
    """
    design, rng = config.design, Streams(config.seed)("unseen design")
    options = FourierOptions(
        period=design.period,
        periods=1,
        margin=design.margin,
        torque_ratio=design.torque_ratio,
        amplitude=design.amplitude,
    )
    if design.family == "fourier":
        options = replace(options, harmonics=design.harmonics)
    unseen_plan = replace(plan, family=options, criterion=DOptimality(), noise_std=None, prior=None)
    problem = unseen_plan.problem(nominal, basis)
    x = wide_draw(problem, rng) if is_wide else sample_feasible(problem, rng, 1)[0].x
    trajectory = problem.space.trajectory(x)
    assert isinstance(trajectory, FourierTrajectory)
    return trajectory


def require_whole_steps(period: float, rate: float) -> None:
    """Raise unless period and approach have a whole number of samples at the control rate."""
    for name, time in (("period", period), ("approach", APPROACH_STEP)):
        samples = time * rate
        if abs(samples - round(samples)) > GRID_TOLERANCE:
            raise OptionError(
                f"the {name} (multiples of {time:g} s) has no whole number of samples at "
                f"{rate:g} Hz; change the rate"
            )


def require_period(nominal: Robot, basis: BaseParameters, config: StudyConfig, rows: Rows) -> None:
    """Raise if the excitation is too short for a fit, or rows have the wrong number of joints."""
    rows.require_joints(nominal.dof)
    dt, family = 1.0 / config.experiment.rate, build_family(config.design)
    rank = max(basis.rank, base_parameters(nominal, JOINT_SYMBOLS).rank)
    needed = 2 * rank // nominal.dof + 1  # rows for a comparison of preprocessors
    shortest = rows.shortest_period(dt, needed)
    if not shortest <= family.period < np.inf:
        raise OptionError(
            f"design.period is {family.period:g} s; give at least "
            f"{np.ceil(100.0 * shortest) / 100:g} s for enough rows in the fit"
        )


def _compute_prior(path: Path, nominal: Robot, basis: BaseParameters, plan: DesignPlan) -> Prior:
    """Compute the information of a file: a log, or a trajectory with its expected log."""
    if path.suffix == TRAJECTORY_SUFFIX:
        trajectory = load_trajectory(path, nominal)
        require_runnable(trajectory, nominal, plan.rate, str(path))
        return compute_information(
            nominal, basis, [trajectory], noise_std=plan.noise_std, dt=plan.dt
        )
    log = load_log(path).require_robot(nominal)
    preprocessor = RtsSmoother().tune(log, nominal)
    problem = build_problem(preprocessor(log, nominal), nominal, basis)
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    return Prior.from_rows(problem.W, estimate.noise_std)
