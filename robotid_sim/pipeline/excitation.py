"""The design stage: excitations for a nominal model, and their expected accuracy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.engine.free_space import FreeSpace
from robotid_sim.engine.proximity import Proximity
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.design import base_regressor
from robotid_sim.excitation.explain import Explanation, explain
from robotid_sim.excitation.information import Prior, assume_noise, compute_information, samples_of
from robotid_sim.excitation.optimal import DesignResult, optimal_design, swarm_design
from robotid_sim.excitation.plan import DesignPlan, SwarmSearch
from robotid_sim.excitation.sequence import SequenceResult, optimal_sequence
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import ContactResult
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation, Trajectory, run_time

EXPLAINED_SAMPLES = 500
"""Number of samples of a run in an explanation."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Designs:
    """The excitations of the design stage."""

    designs: tuple[DesignResult, ...]
    """One design per trajectory, in order."""
    sequence: SequenceResult | None = None
    """Information of all trajectories together, if there are several."""
    relaxed: tuple[str, ...] = ()
    """Descriptions of pairs of links that cannot keep the clearance, with their distances."""

    @property
    def trajectories(self) -> tuple[Excitation, ...]:
        """The excitations."""
        if self.sequence is not None:
            return self.sequence.trajectories
        return tuple(design.trajectory for design in self.designs)

    @property
    def is_interrupted(self) -> bool:
        """Whether the design was interrupted by Ctrl-C."""
        return any(design.interrupted for design in self.designs)


@one_blas_thread()
def design_excitation(
    nominal: Robot,
    basis: BaseParameters,
    plan: DesignPlan,
    rng: np.random.Generator,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> Designs:
    """Design excitations with only the nominal model.

    The result does not depend on the number of workers. Raises `InfeasibleError` if no candidate
    respects the limits.
    """
    with add_clearance(nominal, plan) as (plan, relaxed):
        if isinstance(plan.search, SwarmSearch):
            result = swarm_design(nominal, basis, rng, plan, progress=progress)
            return Designs((result,), relaxed=relaxed)
        if plan.count == 1:
            result = optimal_design(nominal, basis, rng, plan, workers=workers, progress=progress)
            return Designs((result,), relaxed=relaxed)
        sequence = optimal_sequence(nominal, basis, rng, plan, workers=workers, progress=progress)
        return Designs(sequence.designs, sequence, relaxed)


def designs_by_criteria(
    nominal: Robot,
    basis: BaseParameters,
    plan: DesignPlan,
    rngs: Mapping[str, np.random.Generator],
    criteria: Mapping[str, Criterion],
    progress: Progress = silent,
) -> dict[str, DesignResult]:
    """Design single excitations by several criteria with the same plan."""
    return {
        name: design_excitation(
            nominal,
            basis,
            replace(plan, criterion=criterion, count=1),
            rngs[name],
            progress=progress,
        ).designs[0]
        for name, criterion in criteria.items()
    }


def free_space(nominal: Robot, plan: DesignPlan) -> FreeSpace | None:
    """Build the space in which links keep their clearance; None without clearance."""
    if not plan.has_clearance:
        return None
    rest = nominal.home if plan.start is None else plan.start
    return FreeSpace(nominal, rest, plan.clearance or 0.0, plan.floor)


@contextmanager
def add_clearance(nominal: Robot, plan: DesignPlan) -> Iterator[tuple[DesignPlan, tuple[str, ...]]]:
    """Add the clearance to the constraints of a plan; yield it with the pairs that cannot keep it.

    The engine that measures distances, if needed, is open in the context.
    """
    space = free_space(nominal, plan)
    if space is None:
        yield plan, ()
        return
    with space.open() as clearance:
        constraints = (clearance,) if clearance.names else ()  # a short arm has no pair of links
        yield replace(plan, constraints=(*plan.constraints, *constraints)), clearance.relaxed


def compute_expected_accuracy(
    nominal: Robot, basis: BaseParameters, trajectories: Sequence[Excitation], plan: DesignPlan
) -> Float1D:
    """Compute the expected standard deviation of every base parameter, shape (b,).

    The data are logs of all trajectories, with torque noise of 1 % of the RMS, and the prior of
    the plan; see `expected_std`.
    """
    information = plan.prior or Prior.none(basis.rank)
    for path in trajectories:
        noise = assume_noise(nominal, path)
        information += compute_information(nominal, basis, [path], noise_std=noise, dt=plan.dt)
    return information.std


def explanation(
    nominal: Robot, basis: BaseParameters, trajectories: Sequence[Excitation], plan: DesignPlan
) -> Explanation:
    """Explain why base parameters are well or weakly identifiable; see `explain`."""
    rows, samples = [], 0.0
    for trajectory in trajectories:
        t = np.arange(EXPLAINED_SAMPLES) * run_time(trajectory) / EXPLAINED_SAMPLES
        rows.append(base_regressor(nominal, basis, trajectory, t))
        samples += samples_of(trajectory, plan.dt)
    noise = np.sqrt(np.mean([assume_noise(nominal, path) ** 2 for path in trajectories], axis=0))
    values = basis.project(nominal.parameters())
    return explain(
        np.concatenate(rows), noise, basis, values, nominal.joint_names, samples, prior=plan.prior
    )


CONTACT_CUTOFF = 0.01
"""Largest measured distance [m]."""

CONTACT_POSES = 400
"""Number of poses of a motion that are checked for contacts."""

CONTACT_REMEDY = (
    "The engine does not simulate contact between links. Do not run this motion on a real robot. "
    "Set a clearance in [design.constraints], and check every motion before running it."
)


def contacts(
    robot: Robot, motions: Mapping[str, Trajectory], floor: float | None = None
) -> list[ContactResult]:
    """Find the pairs of links in contact on motions, with their deepest contact.

    Links are convex hulls; pairs that touch in the home pose are excluded. `floor` is the height of
    the floor in the root frame [m], None without a floor.
    """
    contact_list = []
    with Proximity(robot, floor=floor, cutoff=CONTACT_CUTOFF) as proximity:
        is_apart = proximity(robot.home)[0] > 0.0
        for name, motion in motions.items():
            t = np.linspace(motion.start, motion.duration, CONTACT_POSES)
            distances = proximity.measure(motion(t).q)[0]
            for k in np.flatnonzero(is_apart & (distances.min(axis=0) < 0.0)):
                i, pair = int(distances[:, k].argmin()), proximity.pairs[k]
                depth, time = -float(distances[i, k]), float(t[i])
                links = (pair.first, pair.second)
                contact_list.append(
                    ContactResult(motion=name, links=links, depth_m=depth, t_s=time)
                )
    return contact_list


def contact_notes(contact_list: Iterable[ContactResult]) -> list[str]:
    """Report the deepest contact of every motion, and the remedy."""
    by_motion: dict[str, list[ContactResult]] = {}
    for contact in contact_list:
        by_motion.setdefault(contact.motion, []).append(contact)
    lines = []
    for motion, pairs in by_motion.items():
        deepest = max(pairs, key=lambda contact: contact.depth_m)
        count = f" (of {len(pairs)} pairs)" if len(pairs) > 1 else ""
        lines.append(f"CONTACT in {motion}: {deepest}{count}")
    return [*lines, CONTACT_REMEDY] if lines else []
