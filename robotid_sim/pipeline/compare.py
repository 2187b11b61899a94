"""Whether estimates are of one robot, and what studies make of them."""

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
"""Probability of a larger difference from which on logs are hardly independent."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ComparisonSource:
    """An estimate and what its file says beside it."""

    compared: ComparedEstimate
    context: Mapping[str, Any]
    result: StudyResult | None
    """Of the study whose estimate it is, if it is one."""

    @property
    def label(self) -> str:
        """Name of the file."""
        return self.compared.label


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class EstimateComparison:
    """Whether estimates are of one robot, and what their studies came to."""

    sources: tuple[ComparisonSource, ...]
    agreement: Agreement
    notes: tuple[str, ...]
    """What a reader must know of the comparison, one sentence each."""

    @property
    def passed(self) -> bool:
        """Whether the estimates can be of one robot."""
        return self.agreement.is_agreement

    @property
    def estimates(self) -> list[ComparedEstimate]:
        """The estimates."""
        return [source.compared for source in self.sources]

    @property
    def results(self) -> dict[str, StudyResult]:
        """Results of the studies that some of them are of, by the names of the estimates."""
        return {s.label: s.result for s in self.sources if s.result is not None}

    def content(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
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
            "results": [_outcome(label, result) for label, result in self.results.items()],
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
        Of 100 sets of estimates of one robot 1 at most is called different.

    Raises
    ------
    OptionError
        If there are less than two, or one is given twice.
    FileFormatError
        If a file is no estimate, or they are of different joints or base parameters.
    """
    if len(estimates) < 2:
        raise OptionError(f"a comparison needs at least 2 estimates, got {len(estimates)}")
    paths = [Path(each) for each in estimates if isinstance(each, str | Path)]
    for one, two in combinations(paths, 2):
        if real_path(one) == real_path(two):
            raise OptionError(f"{one} is given twice; give estimates of independent logs")
    sources = tuple(_source(each, k) for k, each in enumerate(estimates, start=1))
    _require_one_kind(sources)
    agreement = compare_estimates([source.compared for source in sources])
    return EstimateComparison(sources, agreement, tuple(_notes(sources, agreement)))


def make_tracking_rows(result: StudyResult) -> list[Row]:
    """Return the tracking errors of the identified model by case, of every unit of joints."""
    units = result.robot.joint_units
    quantities = {unit: rms_of_unit(units, unit) for unit in dict.fromkeys(units)}
    return summarize([run for run in result.control if run.model == IDENTIFIED], quantities)


def _files_of(path: Path) -> tuple[Path, Path | None]:
    """Return the estimate file of a file or result folder, and its study's result if it has one."""
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


def _source(estimate: SavedEstimate | Identification | str | Path, number: int) -> ComparisonSource:
    """Return the chosen estimate of a file with the degrees of freedom that the file holds."""
    of_study, path = None, f"estimate {number}"
    if isinstance(estimate, str | Path):
        path, (file, of_study) = str(estimate), _files_of(Path(estimate))
        estimate = SavedEstimate.from_estimate(file)
    saved = SavedEstimate.from_estimate(estimate)
    chosen, context = saved.chosen, saved.context
    groupings = context.get("groupings") or chosen.names
    dof, blocks = context.get("cov_dof"), context.get("cov_blocks")
    if not isinstance(groupings, list | tuple) or len(groupings) != len(chosen.names):
        raise FileFormatError(f"{path} needs one of its 'groupings' for every base parameter")
    try:
        freedom = None if dof is None else np.array(dof, dtype=float)
        count = None if blocks is None else int(blocks)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: 'cov_dof' and 'cov_blocks' are numbers") from error
    if context.get("drive_gain_std"):
        # Errors of torque constants are held to first order: in some directions their squares are
        # larger than the noise, and a test of all directions would find them.
        count = None
    compared = ComparedEstimate(path, chosen, tuple(groupings), dof=freedom, blocks=count)
    return ComparisonSource(
        compared, context, None if of_study is None else StudyResult.load(of_study)
    )


def _require_one_kind(sources: Sequence[ComparisonSource]) -> None:
    """Raise unless all estimates are of the same joints and base parameters, and of several fits.

    Estimates of one robot with other lengths have the same names in other sums.
    """
    first = sources[0].compared
    for other in (source.compared for source in sources[1:]):
        if other.estimate.joint_names != first.estimate.joint_names:
            raise FileFormatError(
                f"{other.label} is of another robot than {first.label}: its joints are "
                f"{', '.join(other.estimate.joint_names)}"
            )
        same = other.estimate.names == first.estimate.names
        if not same or other.groupings != first.groupings:
            raise FileFormatError(
                f"{other.label} has other base parameters than {first.label} "
                f"({len(other.groupings)} against {len(first.groupings)}); is it of another robot, "
                "or of other joint parameters?"
            )
    for one, two in combinations((source.compared for source in sources), 2):
        if np.array_equal(one.estimate.beta, two.estimate.beta):
            raise FileFormatError(
                f"{one.label} and {two.label} hold the same estimate; give those of independent "
                "logs"
            )


def _outcome(label: str, result: StudyResult) -> dict[str, Any]:
    """Return what a study came to: verdict, prediction and tracking of the chosen estimate."""
    tried = result.selected_estimate.validation
    return {
        "file": label,
        "passed": result.verdict.passed,
        "prediction": None if tried is None else tried.model_dump(mode="json"),
        "tracking": [
            asdict(row.case) | {"unit": unit, "rms_error": None if value is None else value.mean}
            for row in make_tracking_rows(result)
            for unit, value in row.values.items()
        ],
    }


def _notes(sources: Sequence[ComparisonSource], agreement: Agreement) -> list[str]:
    """Return what a reader must know of the comparison, one sentence each."""
    notes = [
        f"{source.label} does not say how certain its covariance is: "
        f"{ASSUMED_DEGREES_OF_FREEDOM:g} degrees of "
        "freedom are assumed, and all parameters at once are not tested. `robotid identify` writes "
        "them."
        for source in sources
        if source.compared.dof is None or source.context.get("cov_blocks") is None
    ]
    terms = [text for source in sources for text in _terms(source)]
    if terms:
        notes.append(f"Terms of joints are not compared: {', '.join(terms)}.")
    if any(pair.p_value is not None and pair.p_value > MAX_P_VALUE for pair in agreement.pairs):
        notes.append(
            "Estimates agree better than those of independent logs of such noise would: are they "
            "of one log, or do their intervals allow for more than noise?"
        )
    velocities = [source.context.get("transition_velocity") for source in sources]
    if any(velocity != velocities[0] for velocity in velocities[1:]):
        notes.append(
            "The estimates use different transition velocities; their Coulomb and viscous friction "
            "are not comparable."
        )
    if any(source.context.get("drive_gain_std") for source in sources):
        notes.append(
            "The covariances hold errors of the torque constants, taken as independent: in one "
            "cell they are the same, and smaller differences than the intervals are real. All "
            "parameters at once are not tested then."
        )
    elif not agreement.is_agreement:
        notes.append(
            "Torque constants are taken as exact: if the drives changed between the logs, that is "
            "a difference too. State the size of their errors by `identify --torque-gain-std`."
        )
    return notes


def _terms(source: ComparisonSource) -> list[str]:
    """Return the terms of joints that a file has beside its base parameters, in words."""
    terms = source.context.get("terms")
    return [
        f"{term.get('kind')} of {term.get('joint')} in {source.label}"
        for term in (terms if isinstance(terms, list | tuple) else ())
        if isinstance(term, dict)
    ]
