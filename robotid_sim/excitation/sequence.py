"""Several excitations of one robot: each designed given the previous ones, or all together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.excitation.criteria import NOISE_FLOOR
from robotid_sim.excitation.information import Prior, compute_information
from robotid_sim.excitation.optimal import DesignResult, optimal_design, optimize
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import Interrupted, map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.trajectory.reference import Excitation


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class SequenceResult:
    """Complementary excitations, and the history of their design."""

    trajectories: tuple[Excitation, ...]
    """Excitations in the requested number; fewer after Ctrl-C."""
    log_dets: tuple[float, ...]
    """log det of the information of the prior and the logs up to and including each trajectory."""
    designs: tuple[DesignResult, ...]
    """The designs one after the other, from which a simultaneous design starts."""
    value_in_sequence: float
    """Criterion of prior and all logs together, per sample of the new logs, if the trajectories are
    those of `designs`."""
    value: float
    """Criterion for `trajectories`; at most `value_in_sequence`."""
    success: bool
    """True if all designs, and the simultaneous one, have converged."""
    message: str
    interrupted: bool = False
    """True if the design was stopped by Ctrl-C."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedDesign:
    """Common data of all designs of a sequence."""

    nominal: Robot
    basis: BaseParameters
    plan: DesignPlan
    """Plan with a prior and a noise floor."""

    def information(self, trajectories: Sequence[Excitation]) -> Prior:
        """Return the information of the prior and the logs of trajectories."""
        criterion, prior = self.plan.criterion, self.plan.prior
        assert prior is not None
        return prior + compute_information(
            self.nominal,
            self.basis,
            trajectories,
            noise_std=criterion.noise_std,
            floor=criterion.floor or NOISE_FLOOR,
            dt=self.plan.dt,
        )

    def log_dets(self, trajectories: Sequence[Excitation]) -> tuple[float, ...]:
        """Return log det of the information after each trajectory."""
        counts = range(1, len(trajectories) + 1)
        return tuple(self.information(trajectories[:count]).log_det for count in counts)


def optimal_sequence(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    plan: DesignPlan,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> SequenceResult:
    """Design excitations whose logs together minimize a criterion within all limits.

    Each is designed given the prior and the logs of the previous ones. The simultaneous design is
    one program with `count` times the unknowns that starts from the sequence, so that it is never
    worse; the order of its trajectories has no meaning. Rows are weighted by their noise for every
    criterion. After Ctrl-C the result contains the designs until then; before the first design
    `KeyboardInterrupt` is raised. Arguments and exceptions are as in `optimal_design`.
    """
    count, jointly, search = plan.count, plan.jointly, plan.gradient
    if count < 1:
        raise OptionError(f"a sequence needs at least 1 trajectory, got {count}")
    criterion = plan.criterion.set_data(noise_std=plan.noise_std)
    if criterion.floor is None:  # sums of information require rows in units of noise
        criterion = replace(criterion, floor=NOISE_FLOOR)
    prior = plan.prior or Prior.none(basis.rank)
    plan = replace(plan, criterion=criterion, noise_std=None, prior=prior)
    setting = SharedDesign(nominal, basis, plan)
    design = partial(optimal_design, nominal, basis, rng, workers=workers)
    share = 0.5 if jointly else 1.0
    designs = _design_in_turn(setting, design, lambda stage, done: progress(stage, share * done))
    result = _make_sequence(setting, designs, interrupted=len(designs) < count)
    if not jointly or result.interrupted:
        return result
    improved_result = _improve_all(setting, result, search.iterations)
    progress("design", 1.0)
    return improved_result


def _design_in_turn(
    setting: SharedDesign, design: Callable[..., DesignResult], progress: Progress
) -> list[DesignResult]:
    """Compute the designs, each given the previous ones; fewer after Ctrl-C."""
    designs: list[DesignResult] = []
    count = setting.plan.count
    for k in range(count):
        prior = setting.information([previous.trajectory for previous in designs])
        try:
            result = design(
                replace(setting.plan, prior=prior),
                progress=lambda stage, done, k=k: progress(stage, (k + done) / count),
            )
        except KeyboardInterrupt:
            if not designs:
                raise
            break
        designs.append(result)
        if result.interrupted:
            break
    return designs


def _make_sequence(
    setting: SharedDesign, designs: list[DesignResult], *, interrupted: bool
) -> SequenceResult:
    """Return the result of a sequence."""
    trajectories = [design.trajectory for design in designs]
    problem = setting.plan.problem(setting.nominal, setting.basis, len(designs))
    value = problem.value(problem.coordinates(trajectories))
    interrupted = interrupted or designs[-1].interrupted
    return SequenceResult(
        trajectories=tuple(trajectories),
        log_dets=setting.log_dets(trajectories),
        designs=tuple(designs),
        value_in_sequence=value,
        value=value,
        success=not interrupted and all(design.success for design in designs),
        message=f"{len(designs)} in sequence: {designs[-1].message}",
        interrupted=interrupted,
    )


def _improve_all(setting: SharedDesign, start: SequenceResult, iterations: int) -> SequenceResult:
    """Improve all designs simultaneously; return the sequence itself if there is no improvement."""
    count = len(start.trajectories)
    problem = setting.plan.problem(setting.nominal, setting.basis, count)
    x = problem.coordinates(start.trajectories)
    interrupted = False
    try:
        results = map_tasks(partial(optimize, problem, iterations), [x])
    except Interrupted as interrupt:
        results, interrupted = interrupt.results, True
    is_better = bool(results) and results[0].value < start.value
    trajectories = problem.trajectories(results[0].x) if is_better else start.trajectories
    message = results[0].message if results else "interrupted"
    return replace(
        start,
        trajectories=trajectories,
        log_dets=setting.log_dets(trajectories),
        value=results[0].value if is_better else start.value,
        success=not interrupted and start.success and results[0].success,
        message=f"{len(trajectories)} together: {message}",
        interrupted=interrupted,
    )
