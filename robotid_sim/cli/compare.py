"""``robotid compare``: whether estimates are of one robot, and what studies make of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.cli import output
from robotid_sim.cli.command_line import command_line
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.estimation.estimate import load_chosen
from robotid_sim.files import require_writable, write_json
from robotid_sim.inputs import real_path
from robotid_sim.report.agreement_table import difference_table, pair_table
from robotid_sim.report.comparison_report import (
    comparison_report,
    prediction_table,
    tracking_rows,
    tracking_table,
)
from robotid_sim.report.page import write_page
from robotid_sim.result_folder import owner_of, require_complete
from robotid_sim.study.folder import ESTIMATE, KIND, RESULT
from robotid_sim.study.result import StudyResult
from robotid_sim.validation.agreement import (
    ASSUMED_DOF,
    Agreement,
    ComparedEstimate,
    compare_estimates,
)

TOO_ALIKE = 1.0 - 1e-6
"""Probability of a larger difference from which on logs are hardly independent."""


@dataclass(frozen=True, slots=True, eq=False)
class _EstimateSource:
    """An estimate and what its file says beside it."""

    compared: ComparedEstimate
    context: dict[str, Any]
    result: StudyResult | None
    """Of the study whose estimate it is, if it is one."""

    @property
    def label(self) -> str:
        return self.compared.label


def compare(*, estimates: list[Path], out: Path | None, report: Path | None, json: bool) -> int:
    """Do ``robotid compare``; its words are in `cli.syntax.compare`."""
    outputs = [path for path in (out, report) if path is not None]
    for path in outputs:
        require_writable(path)
    _require_several(estimates)
    sources = [_load(path) for path in estimates]
    _require_one_kind(sources)
    compared = [source.compared for source in sources]
    agreement = compare_estimates(compared)
    results = {source.label: source.result for source in sources if source.result is not None}
    notes = _notes(sources, agreement)
    content = {
        "estimates": [_described(source) for source in sources],
        **agreement.content(),
        "notes": notes,
        "results": [_outcome(label, result) for label, result in results.items()],
    }
    if out is not None:
        write_json(out, "agreement", 1, content)
    if report is not None:
        page = comparison_report(agreement, compared, results, notes, command_line())
        write_page(page, report)
    if json:
        output.print_json(content)
    else:
        _print(agreement, sources, notes)
        for table in (prediction_table(results), tracking_table(results)):
            if table is not None:
                output.print_line()
                output.print_table(table)
        output.print_written([out, report])
    return 0 if agreement.agrees else 1


def _require_several(paths: Sequence[Path]) -> None:
    if len(paths) < 2:
        raise OptionError(f"a comparison needs at least 2 estimates, got {len(paths)}")
    for one, two in combinations(paths, 2):
        if real_path(one) == real_path(two):
            raise OptionError(f"{one} is given twice; give estimates of independent logs")


def _files_of(path: Path) -> tuple[Path, Path | None]:
    """Return the estimate file of a file or result folder, and its study's result if it has one."""
    if path.is_dir():
        require_complete(path)
        estimate, result = path / ESTIMATE, path / RESULT
    elif path.name == RESULT:
        estimate, result = path.with_name(ESTIMATE), path
    else:
        owner, estimate, result = owner_of(path), path, path.with_name(RESULT)
        if owner is None or owner.kind != KIND:
            return path, None
    return estimate, result if result.is_file() else None


def _load(path: Path) -> _EstimateSource:
    """Return the chosen estimate of a file with the degrees of freedom that the file holds."""
    file, of_study = _files_of(path)
    _, chosen, context = load_chosen(file)
    groupings = context.get("groupings") or chosen.names
    dof, blocks = context.get("cov_dof"), context.get("cov_blocks")
    if not isinstance(groupings, list | tuple) or len(groupings) != len(chosen.names):
        raise FileFormatError(f"{path} needs one of its 'groupings' for every base parameter")
    try:
        freedom = None if dof is None else np.array(dof, dtype=float)
        count = None if blocks is None else int(blocks)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: 'cov_dof' and 'cov_blocks' are numbers") from error
    if context.get("torque_gain_std"):
        # Errors of torque constants are held to first order: in some directions their squares are
        # larger than the noise, and a test of all directions would find them.
        count = None
    compared = ComparedEstimate(str(path), chosen, tuple(groupings), dof=freedom, blocks=count)
    return _EstimateSource(
        compared, context, None if of_study is None else StudyResult.load(of_study)
    )


def _require_one_kind(sources: Sequence[_EstimateSource]) -> None:
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
    tried = result.chosen_estimate.validation
    return {
        "file": label,
        "passed": result.verdict.passed,
        "prediction": None if tried is None else tried.model_dump(mode="json"),
        "tracking": [
            asdict(row.case) | {"unit": unit, "rms_error": None if value is None else value.mean}
            for row in tracking_rows(result)
            for unit, value in row.values.items()
        ],
    }


def _described(source: _EstimateSource) -> dict[str, Any]:
    """Return what the result says of one file."""
    compared = source.compared
    return {
        "file": source.label,
        "estimator": compared.estimate.estimator,
        "unbiased": compared.estimate.unbiased,
        "cov_blocks": compared.blocks,
        "doubt": source.context.get("doubt", ""),
    }


def _notes(sources: Sequence[_EstimateSource], agreement: Agreement) -> list[str]:
    """Return what a reader must know of the comparison, one sentence each."""
    notes = [
        f"{source.label} does not say how certain its covariance is: {ASSUMED_DOF:g} degrees of "
        "freedom are assumed, and all parameters at once are not tested. `robotid identify` writes "
        "them."
        for source in sources
        if source.compared.dof is None or source.context.get("cov_blocks") is None
    ]
    terms = [text for source in sources for text in _terms(source)]
    if terms:
        notes.append(f"Terms of joints are not compared: {', '.join(terms)}.")
    if any(pair.p_value is not None and pair.p_value > TOO_ALIKE for pair in agreement.pairs):
        notes.append(
            "Estimates agree better than those of independent logs of such noise would: are they "
            "of one log, or do their intervals allow for more than noise?"
        )
    velocities = [source.context.get("friction_velocity") for source in sources]
    if any(velocity != velocities[0] for velocity in velocities[1:]):
        notes.append(
            "The estimates have other friction velocities: their Coulomb and viscous friction "
            "need not be the same for one robot."
        )
    if any(source.context.get("torque_gain_std") for source in sources):
        notes.append(
            "The covariances hold errors of the torque constants, taken as independent: in one "
            "cell they are the same, and smaller differences than the intervals are real. All "
            "parameters at once are not tested then."
        )
    elif not agreement.agrees:
        notes.append(
            "Torque constants are taken as exact: if the drives changed between the logs, that is "
            "a difference too. State the size of their errors by `identify --torque-gain-std`."
        )
    return notes


def _terms(source: _EstimateSource) -> list[str]:
    """Return the terms of joints that a file has beside its base parameters, in words."""
    terms = source.context.get("terms")
    return [
        f"{term.get('kind')} of {term.get('joint')} in {source.label}"
        for term in (terms if isinstance(terms, list | tuple) else ())
        if isinstance(term, dict)
    ]


def _print(agreement: Agreement, sources: Sequence[_EstimateSource], notes: Sequence[str]) -> None:
    pairs = agreement.pairs
    count = len(pairs[0].names)
    output.print_line(f"{len(sources)} estimates of {count} base parameters")
    output.print_line()
    output.print_table(pair_table(agreement))
    shown = pairs if len(pairs) == 1 else [pair for pair in pairs if not pair.agrees]
    for pair in shown:
        output.print_line()
        output.print_table(difference_table(pair))
    output.print_line()
    output.print_line(f"{agreement.finding} (false alarms: {agreement.false_alarm:.0%})")
    for note in notes:
        output.print_line(note)
    for source in sources:
        if source.context.get("doubt"):
            output.print_line(f"WARNING: of {source.label}: {source.context['doubt']}")
