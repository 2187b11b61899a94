"""Design excitations for a robot, with their expected accuracy."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import MissingExtraError
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.design import ExcitationQuality, excitation_quality
from robotid_sim.excitation.explain import Explanation
from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_design import build_criterion, build_design
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import (
    Designs,
    compute_expected_accuracy,
    contacts,
    design_excitation,
    designs_by_criteria,
    explanation,
)
from robotid_sim.pipeline.result import ContactResult
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import Streams
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.trajectory.trajectory_files import export_csv, save_trajectory

COMPARED_CRITERIA = ("d-optimality", "condition-number", "normalized-condition-number")
"""Criteria for the comparison of designs."""

_log = logging.getLogger(__name__)


@public_value
@dataclass(frozen=True, eq=False)
class DesignSummary:
    """Designs with their expected accuracy: the values of page, terminal and JSON."""

    robot: str
    """Name of the robot."""
    nominal: Robot
    """The model of the design."""
    basis: BaseParameters
    """Base parameters that the design excites."""
    plan: DesignPlan
    designs: Designs
    others: Mapping[str, DesignResult]
    """Designs by other criteria for comparison."""
    explanation: Explanation | None
    """Reasons why parameters are well or weakly identifiable, if requested."""

    @property
    def criterion(self) -> str:
        """Name of the design criterion."""
        return CRITERIA.name_of(self.plan.criterion)

    @property
    def family(self) -> str:
        """Name of the family of motions."""
        return FAMILIES.name_of(self.plan.family)

    @property
    def assumptions(self) -> list[str]:
        """Assumptions on the model and its space, one sentence each."""
        return list(dict.fromkeys((*self.nominal.assumptions, *self.plan.assumptions)))

    @cached_property
    def std(self) -> Float1D:
        """Expected standard deviation of every base parameter, shape (b,)."""
        return compute_expected_accuracy(
            self.nominal, self.basis, self.designs.trajectories, self.plan
        )

    @cached_property
    def other_std(self) -> dict[str, Float1D]:
        """Expected standard deviations by designs for other criteria."""
        return {
            name: compute_expected_accuracy(self.nominal, self.basis, [other.trajectory], self.plan)
            for name, other in self.others.items()
        }

    @cached_property
    def first_quality(self) -> ExcitationQuality:
        """Condition and use of the limits of the first trajectory."""
        return excitation_quality(self.nominal, self.basis, self.designs.trajectories[0])

    @cached_property
    def other_assessed(self) -> dict[str, ExcitationQuality]:
        """Condition and use of the limits by designs for other criteria."""
        return {
            name: excitation_quality(self.nominal, self.basis, other.trajectory)
            for name, other in self.others.items()
        }

    @cached_property
    def contacts(self) -> list[ContactResult]:
        """Link contacts on the trajectories, which are numbered from 1.

        Empty without an installed engine, which a design without clearance does not need.
        """
        paths = {f"trajectory {k}": path for k, path in enumerate(self.designs.trajectories, 1)}
        try:
            return contacts(self.nominal, paths, self.plan.floor)
        except MissingExtraError as error:
            _log.warning("contacts are not checked: %s", error)
            return []

    @property
    def trajectories(self) -> tuple[Excitation, ...]:
        """The excitations."""
        return self.designs.trajectories

    @property
    def passed(self) -> bool:
        """Whether the design is complete and respects all limits."""
        is_feasible = not any(result.violated for result in self.designs.designs)
        return is_feasible and not self.designs.is_interrupted

    def write(self, path: str | Path, csv: str | Path | None = None) -> list[Path]:
        """Write the trajectories; return their files.

        `path` is the JSON file of the first trajectory; the names of further files have a number
        appended. `csv` is a table of the first trajectory for a machine. Raises `FileFormatError`
        if a file cannot be written.
        """
        files = [Path(path), *number_paths(Path(path), len(self.trajectories))]
        for trajectory, file in zip(self.trajectories, files, strict=True):
            save_trajectory(trajectory, file, self.nominal)
        if csv is not None:
            export_csv(self.trajectories[0], Path(csv), self.plan.rate, self.nominal)
        return files

    def content(self, files: Sequence[Path] = ()) -> dict[str, Any]:
        """Return designs and their expected accuracy as JSON values, with their files."""
        designs, plan, basis = self.designs, self.plan, self.basis
        first = designs.designs[0]
        std = [float(value) if np.isfinite(value) else None for value in self.std]
        values = basis.project(self.nominal.parameters()).tolist()
        content: dict[str, Any] = {
            "robot": self.robot,
            "trajectory": str(files[0]) if files else None,
            **asdict(self.first_quality),
            "criterion": self.criterion,
            "criterion_symbol": first.criterion.symbol,
            "criterion_before": first.value_before,
            "criterion_after": first.value_after,
            "starts": list(first.start_values),
            "success": first.success,
            "message": first.message,
            "base_parameters": [
                {"name": name, "unit": unit, "nominal": value, "expected_std": deviation}
                for name, unit, value, deviation in zip(
                    basis.names, basis.units, values, std, strict=True
                )
            ],
            "family": self.family,
            "violated": [str(v) for result in designs.designs for v in result.violated],
            "relaxed": list(designs.relaxed),
            "prior": list(plan.prior_names),
            "compared": {name: asdict(value) for name, value in self.other_assessed.items()},
        }
        if designs.sequence is not None:
            content["trajectories"] = [str(path) for path in files]
            content["log_dets"] = list(designs.sequence.log_dets)
        if self.explanation is not None:
            content["explanation"] = self.explanation.sentences()
        content["contacts"] = [
            f"{contact}; do not run this motion on a robot" for contact in self.contacts
        ]
        content["assumptions"] = self.assumptions
        return content


def number_paths(path: Path, count: int) -> list[Path]:
    """Return the numbered files of the second and further trajectories."""
    return [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in range(2, count + 1)]


def design(
    robot: str | Path | Robot,
    config: StudyConfig | None = None,
    *,
    nominal: Robot | None = None,
    family: str | None = None,
    criterion: str | None = None,
    solver: str | None = None,
    count: int | None = None,
    prior: Sequence[str | Path] | None = None,
    clearance: float | None = None,
    floor: float | None = None,
    compare: bool = False,
    explain: bool = False,
    seed: int | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> DesignSummary:
    """Design excitations of a robot from its nominal model alone.

    Parameters
    ----------
    robot : str, Path or Robot
        Catalog name, file, or a robot.
    config : StudyConfig, optional
        All settings; further arguments override them.
    nominal : Robot, optional
        The nominal model; by default as in the configuration, the robot perturbed by about 20 %.
    family, criterion, solver : str, optional
        Names that `robotid list` shows.
    count : int, optional
        Number of trajectories, designed one after the other.
    prior : sequence of str or Path, optional
        Existing logs or trajectories.
    clearance, floor : float, optional
        Distance between links, and height of the floor [m].
    compare : bool
        Also design by other criteria.
    explain : bool
        Explain why parameters are well or weakly identifiable.
    seed : int, optional
        Seed; by default that of the configuration.
    workers : int
        Processes; the result does not depend on their number.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    summary : DesignSummary
        The excitations, expected accuracy, and use of the limits.

    Raises
    ------
    InfeasibleError
        If no candidate respects the limits.
    OptionError, UnknownNameError
        If a name or an option is invalid.
    """
    config = (config or StudyConfig()).with_seed(seed)
    config = config.with_design(
        {
            "family": family,
            "criterion": criterion,
            "solver": solver,
            "count": count,
            "prior": None if prior is None else tuple(map(Path, prior)),
        },
        {"clearance": clearance, "floor": floor},
    )
    plant = build_robot(robot, config.robot)
    nominal = nominal or build_nominal(plant, config)
    basis = build_basis(nominal, config)
    plan, streams = build_design(nominal, basis, config), Streams(config.seed)
    designs = design_excitation(
        nominal, basis, plan, streams("design"), workers=workers, progress=progress
    )
    if designs.is_interrupted:  # the interrupted design is written immediately
        compare = explain = False
    criteria = {name: build_criterion(config.design, name) for name in COMPARED_CRITERIA if compare}
    rngs = {name: streams("design") for name in criteria}
    others = designs_by_criteria(nominal, basis, plan, rngs, criteria, progress)
    reasons = explanation(nominal, basis, designs.trajectories, plan) if explain else None
    return DesignSummary(plant.name, nominal, basis, plan, designs, others, reasons)
