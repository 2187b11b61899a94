"""The design stage: from a configuration to excitations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.engine.proximity import CUTOFF, FLOOR, Proximity
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.constraints import (
    Clearance,
    MotionConstraint,
    TipBox,
    TipPlane,
    TorqueLimit,
)
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.design import base_regressor, random_feasible
from robotid_sim.excitation.explain import Explanation, explain
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.information import assumed_noise, planned_information, samples_of
from robotid_sim.excitation.optimal import DesignResult, optimal_design
from robotid_sim.excitation.prior import Prior
from robotid_sim.excitation.sequence import SequenceResult, optimal_sequence
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.excitation.swarm_design import swarm_design
from robotid_sim.measurement.files import load_log
from robotid_sim.model.robot import Robot
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.progress import Progress, silent
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.robots import nominal_robot, stage_rng
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import Excitation, run_time
from robotid_sim.trajectory.trajectory_files import load_trajectory

GRADIENT, DRAWS = "slsqp", "random"
"""Solvers that are no optimizers of `robotid_sim.optim`."""

WITH_HARMONICS = ("fourier", "fourier-quintic", "cartesian-fourier")

TRAJECTORY_SUFFIX = ".json"

MOST_CLEARANCE = 0.8 * CUTOFF
"""Largest clearance [m]: the solver needs some distance beyond it."""

CONTACT_SAMPLES = 400
"""Poses of a trajectory at which contacts are looked for."""
EXPLAINED_SAMPLES = 500
"""Samples of a run that an explanation looks at."""


@dataclass(frozen=True, slots=True, eq=False)
class Designs:
    """The excitations of the design stage."""

    designs: tuple[DesignResult, ...]
    """One a trajectory, in the order of their design."""
    sequence: SequenceResult | None = None
    """What they are worth together, if there are several."""
    relaxed: tuple[str, ...] = ()
    """Pairs of links that cannot keep the clearance, and what they keep, in words."""

    @property
    def trajectories(self) -> tuple[Excitation, ...]:
        """The excitations."""
        if self.sequence is not None:
            return self.sequence.trajectories
        return tuple(design.trajectory for design in self.designs)

    @property
    def interrupted(self) -> bool:
        """Whether it is the best so far at Ctrl-C."""
        return any(design.interrupted for design in self.designs)


class _Subject(NamedTuple):
    """What is designed for, and by which draws."""

    nominal: Robot
    basis: BaseParameters
    rng: np.random.Generator


def basis_of(nominal: Robot, config: StudyConfig) -> BaseParameters:
    """Return the base parameters that a study looks for."""
    with threadpool_limits(1):
        return base_parameters(nominal, config.estimation.joint_parameters)


def family_of(config: StudyConfig) -> ExcitationFamily:
    """Return the family of a study's excitation.

    Raises
    ------
    UnknownNameError, OptionError
        If the family or one of its options is unknown.
    """
    design = config.design
    options: dict[str, Any] = {
        "period": design.period,
        "periods": design.periods,
        "margin": design.margin,
        "torque_ratio": design.torque_ratio,
    }
    if design.family in WITH_HARMONICS:
        options["harmonics"] = design.harmonics
    if design.family == "fourier":
        options["amplitude"] = design.amplitude
    if design.constraints.jerk is not None:
        options["jerk"] = design.constraints.jerk
    return FAMILIES.build(design.family, **{**options, **design.options})


def criterion_of(config: StudyConfig, name: str | None = None) -> Criterion:
    """Return the criterion of a study, or another one with its defaults."""
    if name is not None and name != config.design.criterion:
        return CRITERIA.build(name)
    return CRITERIA.build(config.design.criterion, **config.design.criterion_options)


def check_design(plant: Robot, config: StudyConfig) -> None:
    """Raise on what in the configuration of a design would only fail after work has begun.

    Raises
    ------
    UnknownNameError, OptionError
        If a name, an option or a size is refused.
    """
    design = config.design
    family, rate = family_of(config), config.experiment.rate
    if 2.0 * getattr(family, "harmonics", 0) >= family.period * rate:
        most = f"{family.period:g} s at {rate:g} Hz carry fewer than {0.5 * family.period * rate:g}"
        raise OptionError(f"design.harmonics is {design.harmonics}, but a period of {most}")
    criterion_of(config)
    if design.solver not in (GRADIENT, DRAWS):
        OPTIMIZERS[design.solver]
    clearance = design.constraints.clearance or 0.0
    if clearance > MOST_CLEARANCE:
        raise OptionError(
            f"design.constraints.clearance of {clearance:g} m is too large: distances are measured "
            f"up to {CUTOFF:g} m; give at most {MOST_CLEARANCE:g} m"
        )
    for name, values in (("noise_std", design.noise_std), ("start", design.constraints.start)):
        if values is not None and len(values) != plant.dof:
            raise OptionError(
                f"design.{name} has {len(values)} numbers for {plant.dof} joints of '{plant.name}'"
            )


@contextmanager
def constraints_of(nominal: Robot, config: StudyConfig) -> Iterator[list[MotionConstraint]]:
    """Give the constraints of a study's excitation; the engine is open meanwhile if it must be."""
    wanted = config.design.constraints
    found: list[MotionConstraint] = []
    if wanted.uncertainty > 0.0:
        found.append(TorqueLimit(nominal, config.design.torque_ratio, wanted.uncertainty))
    found += [TipBox(nominal, np.array(b.lower), np.array(b.upper)) for b in wanted.boxes]
    found += [TipPlane(nominal, np.array(p.normal), p.offset) for p in wanted.planes]
    if wanted.clearance is None and wanted.floor is None:
        yield found
        return
    with Proximity(nominal, floor=wanted.floor) as proximity:
        names = tuple(str(pair) for pair in proximity.pairs)
        rest = nominal.home if wanted.start is None else np.array(wanted.start)
        _require_above_floor(proximity, rest)
        yield [*found, Clearance(proximity.along, names, wanted.clearance or 0.0, rest)]


def _require_above_floor(proximity: Proximity, rest: Float1D) -> None:
    distances, _ = proximity(rest)
    for pair, distance in zip(proximity.pairs, distances, strict=True):
        if pair.second == FLOOR and distance < 0.0:
            raise InfeasibleError(
                f"{pair.first} is {-distance:.3g} m below the floor at rest; lower "
                "design.constraints.floor or choose another start"
            )


def contacts(nominal: Robot, trajectories: Sequence[Excitation], config: StudyConfig) -> list[str]:
    """Return which links touch on excitations that were not asked to keep them apart, in words.

    By the convex hulls of the links; those that touch at rest already do not count. Nothing is said
    of a robot without geometry.

    Parameters
    ----------
    nominal : Robot
        Kinematics and geometry.
    trajectories : sequence of Excitation
        The excitations.
    config : StudyConfig
        Section `design`.
    """
    wanted = config.design.constraints
    if wanted.clearance is not None or wanted.floor is not None:
        return []  # it is a constraint
    try:
        proximity = Proximity(nominal)
    except OptionError:
        return []
    with proximity:
        apart = proximity(nominal.home)[0] > 0.0
        found = []
        for trajectory in trajectories:
            t = np.linspace(trajectory.start, trajectory.duration, CONTACT_SAMPLES)
            distances = proximity.along(trajectory(t).q)[0]
            for k in np.flatnonzero(apart & (distances.min(axis=0) < 0.0)):
                at = int(distances[:, k].argmin())
                found.append(
                    f"{proximity.pairs[k]} touch, {-1e3 * distances[at, k]:.2g} mm deep at t = "
                    f"{t[at]:.3g} s; design with a clearance to keep them apart"
                )
    return found


def expected_accuracy(
    nominal: Robot,
    basis: BaseParameters,
    trajectories: Sequence[Excitation],
    config: StudyConfig,
) -> Float1D:
    """Return the standard deviation that every base parameter will have, shape (b,).

    From the logs of all trajectories together, with torque noise of 1 % of the RMS, and from what
    exists already; see `expected_std`.
    """
    known = prior_of(nominal, config) or Prior.none(basis.rank)
    dt = 1.0 / config.experiment.rate
    for one in trajectories:
        noise = assumed_noise(nominal, one)
        known += planned_information(nominal, basis, [one], noise_std=noise, dt=dt)
    return known.std


def prior_of(nominal: Robot, config: StudyConfig) -> Prior | None:
    """Return the information of the trajectories and logs that exist already, or None.

    A trajectory counts with the log that it will have; a log with its rows and their residuals.
    """
    if not config.design.prior:
        return None
    basis, prior = basis_of(nominal, config), Prior.none(basis_of(nominal, config).rank)
    for path in config.design.prior:
        prior = prior + _information(path, nominal, basis, config)
    return prior


def _information(path: Path, nominal: Robot, basis: BaseParameters, config: StudyConfig) -> Prior:
    if path.suffix == TRAJECTORY_SUFFIX:
        noise = None if config.design.noise_std is None else np.array(config.design.noise_std)
        dt = 1.0 / config.experiment.rate
        known = [load_trajectory(path, nominal)]
        return planned_information(nominal, basis, known, noise_std=noise, dt=dt)
    log = load_log(path).require_robot(nominal)
    preprocessor = RtsSmoother().tuned(log, nominal)
    problem = build_problem(preprocessor(log, nominal), nominal, basis)
    fit = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    return Prior.of_rows(problem.W, fit.noise_std)


def designs(
    plant: Robot,
    config: StudyConfig,
    *,
    criterion: str | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Designs:
    """Return the excitations of a study, designed with the nominal model alone.

    Parameters
    ----------
    plant : Robot
        The URDF's robot, from which the nominal model is derived.
    config : StudyConfig
        Sections `design`, `nominal`, `estimation` (for the parameters), `experiment` (the rate).
    criterion : str, optional
        Another criterion than the configured one.
    workers : int
        Processes; the result does not depend on their number.
    progress : callable
        Called with the stage and the share done.
    """
    nominal, settings = nominal_robot(plant, config), config.design
    with threadpool_limits(1), constraints_of(nominal, config) as constraints:
        start = settings.constraints.start
        noise = settings.noise_std
        common: dict[str, Any] = {
            "options": family_of(config),
            "criterion": criterion_of(config, criterion),
            "constraints": constraints,
            "start": None if start is None else np.array(start),
            "noise_std": None if noise is None else np.array(noise),
            "prior": prior_of(nominal, config),
            "dt": 1.0 / config.experiment.rate,
            "progress": progress,
        }
        rng = stage_rng(config.seed, "design")
        subject = _Subject(nominal, basis_of(nominal, config), rng)
        relaxed = tuple(
            text for one in constraints if isinstance(one, Clearance) for text in one.relaxed
        )
        if settings.solver not in (GRADIENT, DRAWS):
            return Designs((_by_swarm(subject, common, config),), relaxed=relaxed)
        search: dict[str, Any] = {
            "starts": 0 if settings.solver == DRAWS else settings.starts,
            "candidates": settings.candidates,
            "iterations": settings.iterations,
            "workers": workers,
        }
        if settings.count == 1:
            return Designs((optimal_design(*subject, **{**common, **search}),), relaxed=relaxed)
        several = optimal_sequence(
            *subject, settings.count, **{**common, **search, "jointly": settings.jointly}
        )
        return Designs(several.designs, several, relaxed)


def _by_swarm(subject: "_Subject", common: dict[str, Any], config: StudyConfig) -> DesignResult:
    settings = config.design
    if settings.count > 1:
        raise OptionError(
            f"solver '{settings.solver}' designs one trajectory, not {settings.count}; use "
            f"{GRADIENT}"
        )
    return swarm_design(
        *subject,
        method=settings.solver,
        population=settings.population,
        generations=settings.generations,
        handling=settings.handling,
        **common,
    )


def unseen_trajectory(plant: Robot, config: StudyConfig) -> FourierTrajectory:
    """Return the trajectory of one period on which a model is tried; it is not optimized.

    It is a Fourier series, whatever the family of the excitation.
    """
    design = config.design
    options = FourierOptions(
        period=design.period,
        periods=1,
        margin=design.margin,
        torque_ratio=design.torque_ratio,
        amplitude=design.amplitude,
    )
    if design.family == "fourier":
        options = replace(options, harmonics=design.harmonics)
    rng = stage_rng(config.seed, "unseen design")
    return random_feasible(nominal_robot(plant, config), rng, options)


def compared_designs(
    plant: Robot, config: StudyConfig, criteria: Sequence[str], progress: Progress = silent
) -> dict[str, DesignResult]:
    """Return single designs by several criteria, with all else as configured."""
    design = config.design.model_copy(update={"count": 1})
    single = config.model_copy(update={"design": design})
    return {
        name: designs(plant, single, criterion=name, progress=progress).designs[0]
        for name in criteria
    }


def explanation(
    nominal: Robot,
    basis: BaseParameters,
    trajectories: Sequence[Excitation],
    config: StudyConfig,
) -> Explanation:
    """Return why excitations see some base parameters well and others badly; see `explain`."""
    dt = 1.0 / config.experiment.rate
    rows, used = [], 0.0
    for trajectory in trajectories:
        t = np.arange(EXPLAINED_SAMPLES) * run_time(trajectory) / EXPLAINED_SAMPLES
        rows.append(base_regressor(nominal, basis, trajectory, t))
        used += samples_of(trajectory, dt)
    noise = np.sqrt(np.mean([assumed_noise(nominal, one) ** 2 for one in trajectories], axis=0))
    values = basis.of(nominal.parameters())
    return explain(
        np.concatenate(rows),
        noise,
        basis,
        values,
        nominal.joint_names,
        used,
        prior=prior_of(nominal, config),
    )
