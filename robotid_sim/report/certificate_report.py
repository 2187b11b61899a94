"""A certificate, what either engine's model is worth in the other one: its page, and its text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.certificate import Certificate
from robotid_sim.pipeline.crossing import engine_title
from robotid_sim.pipeline.result import CheckResult
from robotid_sim.report.closing import Recipe, closing
from robotid_sim.report.comparison_report import difference_table, pair_table
from robotid_sim.report.figures.excitation import EXCITATION
from robotid_sim.report.figures.parameters import differences, pooled_differences
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, logs_motion
from robotid_sim.report.tables import check_number, check_table
from robotid_sim.report.text import Text
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table
from robotid_sim.validation.agreement import FALSE_ALARM, Agreement, Difference
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.tracking import visible_magnification

SHARED = (
    "The engines differ in the dynamics of the bodies and in their integration. Friction, rotors, "
    "drives, the control loop and the sensors are the testbench's own and the same in both: what "
    "they do wrong no engine shows."
)
"""What the certificate cannot tell."""


def certificate_report(certificate: Certificate, plant: Robot, recipe: Recipe) -> Page:
    """Return the page of a certificate."""
    first, replay = certificate.crossings[0], None
    crossed = [proof for proof in certificate.proofs if proof.crosses]
    error = worst([proof.worst_error for proof in crossed])
    gap = worst([proof.gap_left for proof in crossed])
    many = len(certificate.crossings)
    studies = "The study has" if many == 1 else f"Each of the {many} studies has"
    if first.excitation is not None:  # as one engine runs it, with the other beside it, magnified
        logs = first.excitation.items()
        runs = [Animation.of_log(plant, log, engine_title(name)) for name, log in logs]
        motion = logs_motion(runs)
        apart = visible_magnification(plant, [arm.difference for arm in motion.beside])
        replay = Replay(plant, (replace(motion, name=EXCITATION, magnification=apart),))
    return Page(
        title=f"Certificate of {certificate.robot} in two engines",
        finding=certificate_finding(certificate),
        passed=certificate.verdict.passed,
        facts=(
            ("engines", ", ".join(engine_title(name) for name in certificate.engines)),
            ("seeds", str(many)),
            ("model error in the other engine", percent(error, 2)),
            *([] if gap is None else [("tracking gap closed there", percent(1.0 - gap))]),
            ("differences in their intervals", percent(certificate.share_within)),
        ),
        sections=(
            Section(title="Verdict", tables=(check_table(certificate.verdict.checks),)),
            Section(
                title="Proofs",
                text=f"{studies} one excitation, designed with the nominal model; it runs in every "
                "engine, with sensor noise of its own. Either log is identified alone, and its "
                "model is tried on the unseen motion and on the laps of every engine.",
                tables=(proof_table(certificate),),
            ),
            *_differences(certificate),
            *closing(plant, (*first.assumptions, SHARED), "true", recipe),
        ),
        replay=replay,
    )


def certificate_finding(certificate: Certificate) -> str:
    """Return what comes out in one sentence."""
    crossed = [proof for proof in certificate.proofs if proof.crosses]
    error = worst([proof.worst_error for proof in crossed])
    gap = worst([proof.gap_left for proof in crossed])
    parts = [f"predict its unseen torques within {percent(error, 2)}"]
    if gap is not None:
        parts.append(f"close {percent(1.0 - gap)} of its tracking gap")
    failed = [check for check in certificate.verdict.checks if not check.passed]
    text = f"In the other engine the identified models {' and '.join(parts)} or better"
    if failed:
        first = failed[0]
        return f"Failed: {first.name} is {check_number(first, first.value)}. {text}."
    return (
        f"{text}; {percent(certificate.share_within)} of the differences between the engines' "
        "estimates are in their intervals."
    )


def proof_table(certificate: Certificate) -> Table:
    """Return identified in x proved in: errors and gaps of all seeds, the median and the worst."""
    cells = [
        [p for p in certificate.proofs if (p.identified_in, p.proved_in) == (source, target)]
        for source in certificate.engines
        for target in certificate.engines
    ]
    columns = {
        "identified in": [engine_title(proofs[0].identified_in) for proofs in cells],
        "proved in": [engine_title(proofs[0].proved_in) for proofs in cells],
    }
    several = len(certificate.crossings) > 1
    errors = [[proof.worst_error for proof in proofs] for proofs in cells]
    gaps = [[proof.gap_left for proof in proofs] for proofs in cells]
    for name, values in (("model error", errors), ("tracking gap left", gaps)):
        if several:
            columns[f"{name}, median"] = [percent(worst(v, np.median)) for v in values]
        columns[f"{name}, worst" if several else name] = [percent(worst(v)) for v in values]
    title = "Unseen motion (model error: worst joint) and laps in the closed loop"
    return Table.of(columns, title, text_columns=2)


def worst(
    values: Sequence[float | None], statistic: Callable[[list[float]], Any] = max
) -> float | None:
    """Return the largest value, or another statistic; None if one is missing: its fit failed."""
    numbers = [value for value in values if value is not None]
    return float(statistic(numbers)) if len(numbers) == len(values) else None


def _differences(certificate: Certificate) -> tuple[Section, ...]:
    """Return the differences of the estimates; nothing if there are none."""
    pairs = certificate.differences
    if not pairs:
        return ()
    first, several = pairs[0], len(pairs) > 1
    text = _statistic(certificate.verdict.checks, pairs)
    if several:
        text += f" Figure and table are of seed {certificate.crossings[0].seed}."
    return (
        Section(
            title="Difference of the estimates",
            text=text,
            charts=(differences(first), *((pooled_differences(pairs),) if several else ())),
            tables=(pair_table(Agreement((first,), FALSE_ALARM)), difference_table(first)),
        ),
    )


def _statistic(checks: Sequence[CheckResult], pairs: Sequence[Difference]) -> str:
    """Return the statistic of all parameters at once, in words."""
    words = (
        "Compared are estimates without constraints, whose covariances count: the difference d of "
        "two estimates of one robot has the covariance C = C₁ + C₂, and dᵀ C⁻¹ d over the number "
        "of parameters is about 1."
    )
    band = next((check for check in checks if check.name == "difference_in_band"), None)
    if band is None:
        return f"{words} Here the covariances come from too few residuals to test it."
    total, directions = sum(p.chi_squared for p in pairs), sum(p.rank for p in pairs)
    return (
        f"{words} Here it is {number(total, 4)} for {directions} parameters, "
        f"{number(band.value, 3)} each; between {number(band.lower, 3)} and "
        f"{number(band.limit, 3)} it is no alarm."
    )


def certify_text(done: Certificate) -> Iterator[Text]:
    """Return the proofs, the checks and the verdict."""
    seeds = [crossing.seed for crossing in done.crossings]
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    yield f"{done.robot}: {which}"
    yield ""
    yield proof_table(done)
    yield ""
    yield check_table(done.verdict.checks)
    yield ""
    yield certificate_finding(done)
    yield f"verdict: {'PASSED' if done.verdict.passed else 'FAILED'}"
