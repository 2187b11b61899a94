"""Test whether estimates agree, and compare the results of their studies."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.inputs import real_path
from robotid_sim.pipeline.identification import ESTIMATE, Identification
from robotid_sim.pipeline.predict import SavedEstimate
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.study_stages import FOLDER_KIND, RESULT
from robotid_sim.representation import public_value
from robotid_sim.result_folder import owner_of, require_complete
from robotid_sim.validation.agreement import (
    ASSUMED_DEGREES_OF_FREEDOM,
    Agreement,
    ComparedEstimate,
    compare_estimates,
)
from robotid_sim.validation.comparison import IDENTIFIED, Row, rms_of_unit, summarize

MAX_P_VALUE = 1.0 - 1e-6
"""Largest p-value of logs that count as independent."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ComparisonSource:
    """An estimate, with the other content of its file (`context`)."""

    compared: ComparedEstimate
    context: Mapping[str, Any]
    result: StudyResult | None
    """Result of the study of the estimate, if there is one."""

    @property
    def label(self) -> str:
        """Name of the file."""
        return self.compared.label


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class EstimateComparison:
    """Agreement of estimates, with the results of their studies."""

    sources: tuple[ComparisonSource, ...]
    agreement: Agreement
    notes: tuple[str, ...]
    """Notes on the comparison, one sentence each."""

    @property
    def passed(self) -> bool:
        """Whether the estimates agree."""
        return self.agreement.is_agreement

    @property
    def estimates(self) -> list[ComparedEstimate]:
        """The estimates."""
        return [source.compared for source in self.sources]

    @property
    def results(self) -> dict[str, StudyResult]:
        """Results of the studies of the estimates, by the names of the estimates."""
        return {s.label: s.result for s in self.sources if s.result is not None}

    def content(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        results: list[dict[str, Any]] = []
        for label, result in self.results.items():
            validation = result.selected_estimate.validation
            prediction = None if validation is None else validation.model_dump(mode="json")
            tracking = [
                {**asdict(row.case), "unit": unit, "rms_error": None if v is None else v.mean}
                for row in make_tracking_rows(result)
                for unit, v in row.values.items()
            ]
            scores = {"prediction": prediction, "tracking": tracking}
            results.append({"file": label, "passed": result.verdict.passed, **scores})
        return {
            "estimates": [
                {
                    "file": source.label,
                    "estimator": source.compared.estimate.estimator,
                    "unbiased": source.compared.estimate.unbiased,
                    "cov_blocks": source.compared.blocks,
                    "warning": source.context.get("warning", ""),
                }
                for source in self.sources
            ],
            **self.agreement.content(),
            "notes": list(self.notes),
            "results": results,
        }


def compare(estimates: Sequence[SavedEstimate | Identification | str | Path]) -> EstimateComparison:
    """Compare estimates of independent logs, pair by pair, by their covariances.

    Parameters
    ----------
    estimates : sequence of SavedEstimate, Identification, str or Path
        Two or more: estimate files, result folders of studies, or identifications.

    Returns
    -------
    comparison : EstimateComparison
        Agreement; at most 1 of 100 sets of estimates of one robot is reported as different.

    Raises
    ------
    OptionError
        If there are fewer than two estimates, or a file is given twice.
    FileFormatError
        If a file is not an estimate, or joints or base parameters differ.
    """
    if len(estimates) < 2:
        raise OptionError(f"a comparison needs at least 2 estimates, got {len(estimates)}")
    paths = [Path(each) for each in estimates if isinstance(each, str | Path)]
    for first, second in combinations(paths, 2):
        if real_path(first) == real_path(second):
            raise OptionError(f"{first} is given twice; give estimates of independent logs")
    sources = tuple(_load(each, k) for k, each in enumerate(estimates, start=1))
    reference = sources[0].compared
    # Robots with different lengths have the same names with different groupings.
    for other in (source.compared for source in sources[1:]):
        if other.estimate.joint_names != reference.estimate.joint_names:
            raise FileFormatError(
                f"{other.label} is of another robot than {reference.label}: its joints are "
                f"{', '.join(other.estimate.joint_names)}"
            )
        same = other.estimate.names == reference.estimate.names
        if not same or other.groupings != reference.groupings:
            raise FileFormatError(
                f"{other.label} has other base parameters than {reference.label} "
                f"({len(other.groupings)}, not {len(reference.groupings)}); give estimates of one "
                "robot with the same joint parameters"
            )
    for a, b in combinations((source.compared for source in sources), 2):
        if np.array_equal(a.estimate.beta, b.estimate.beta):
            raise FileFormatError(
                f"{a.label} and {b.label} hold the same estimate; use estimates of different logs"
            )
    agreement = compare_estimates([source.compared for source in sources])
    return EstimateComparison(sources, agreement, tuple(_notes(sources, agreement)))


def make_tracking_rows(result: StudyResult) -> list[Row]:
    """Summarize the tracking errors of the identified model by case and unit of joints."""
    units = result.robot.joint_units
    quantities = {unit: rms_of_unit(units, unit) for unit in dict.fromkeys(units)}
    return summarize([run for run in result.control if run.model == IDENTIFIED], quantities)


def _files_of(path: Path) -> tuple[Path, Path | None]:
    """Find the estimate file and the study result, if any, for a file or result folder."""
    if path.is_dir():
        require_complete(path)
        estimate, result = path / ESTIMATE, path / RESULT
    elif path.name == RESULT:
        estimate, result = path.with_name(ESTIMATE), path
    else:
        owner, estimate, result = owner_of(path), path, path.with_name(RESULT)
        if owner is None or owner.kind != FOLDER_KIND:
            return path, None
    return estimate, result if result.is_file() else None


def _load(estimate: SavedEstimate | Identification | str | Path, number: int) -> ComparisonSource:
    """Read the chosen estimate, with the degrees of freedom of its covariance."""
    study_result, path = None, f"estimate {number}"
    if isinstance(estimate, str | Path):
        path, (file, study_result) = str(estimate), _files_of(Path(estimate))
        estimate = SavedEstimate.from_estimate(file)
    saved = SavedEstimate.from_estimate(estimate)
    chosen, context = saved.chosen, saved.context
    groupings = context.get("groupings") or chosen.names
    dof, blocks = context.get("cov_dof"), context.get("cov_blocks")
    if not isinstance(groupings, list | tuple) or len(groupings) != len(chosen.names):
        raise FileFormatError(f"{path}: 'groupings' must have one entry per base parameter")
    try:
        degrees = None if dof is None else np.array(dof, dtype=float)
        count = None if blocks is None else int(blocks)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: 'cov_dof' and 'cov_blocks' must be numbers") from error
    if context.get("drive_gain_std"):
        # The covariance contains gain errors only to first order; in some directions their squares
        # exceed the noise and would fail a joint test.
        count = None
    compared = ComparedEstimate(path, chosen, tuple(groupings), dof=degrees, blocks=count)
    return ComparisonSource(
        compared, context, None if study_result is None else StudyResult.load(study_result)
    )


def _notes(sources: Sequence[ComparisonSource], agreement: Agreement) -> list[str]:
    """Write notes on the comparison, one sentence each."""
    notes = [
        f"{source.label} has no degrees of freedom of its covariance: "
        f"{ASSUMED_DEGREES_OF_FREEDOM:g} are assumed, without a joint test of all parameters. "
        "`robotid identify` writes them."
        for source in sources
        if source.compared.dof is None or source.context.get("cov_blocks") is None
    ]
    terms = [text for source in sources for text in _describe_terms(source)]
    if terms:
        notes.append(f"Joint terms are not compared: {', '.join(terms)}.")
    if any(pair.p_value is not None and pair.p_value > MAX_P_VALUE for pair in agreement.pairs):
        notes.append(
            "The estimates agree better than their intervals permit for independent logs. Check "
            "whether they are of one log, or whether their intervals include more than noise."
        )
    velocities = [source.context.get("transition_velocity") for source in sources]
    if any(velocity != velocities[0] for velocity in velocities[1:]):
        notes.append(
            "The estimates use different transition velocities; their Coulomb and viscous friction "
            "are not comparable."
        )
    if any(source.context.get("drive_gain_std") for source in sources):
        notes.append(
            "The covariances include drive gain errors, assumed independent. In one cell they are "
            "equal, and differences within the intervals may be real. There is no joint test of "
            "all parameters."
        )
    elif not agreement.is_agreement:
        notes.append(
            "The drive gains are assumed exact; a change of the drives between the logs is a "
            "difference, too. Give their errors by `identify --drive-gain-std`."
        )
    return notes


def _describe_terms(source: ComparisonSource) -> list[str]:
    """Describe the joint terms of a file."""
    terms = source.context.get("terms")
    return [
        f"{term.get('kind')} of {term.get('joint')} in {source.label}"
        for term in (terms if isinstance(terms, list | tuple) else ())
        if isinstance(term, dict)
    ]
