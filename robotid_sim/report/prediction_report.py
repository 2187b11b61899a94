"""Page and text of the prediction of a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.pipeline.predict import ScoredPrediction
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import LOG, Replay, log_motion, tie_to_motion
from robotid_sim.report.sections import Recipe, make_closing_sections, prediction_section
from robotid_sim.report.text import Text, log_reading_text, report_warning
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table
from robotid_sim.validation.log_prediction import LogPrediction

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.estimation.state_functions import UnmodeledFunction

MIN_EXPLAINED_SHARE = 0.8
"""Smallest share of the torque variance of a joint that is a good prediction."""

MIN_LIMITING_SHARE = 0.5
"""Smallest share of a cause that limits the prediction of a joint."""

BAND_TEXT = (
    "in band: share of the samples within the 90 % predictive band, which includes model error, "
    "parameter error and noise of this log."
)

COLUMN_TEXT = (
    "error: RMS error / RMS torque at the full rate, including noise of torque and acceleration; "
    "moving: only samples above the transition velocity; filtered: "
    "rows as in a fit{band}; nominal: error of the nominal model."
)


def prediction_report(scored: ScoredPrediction, recipe: Recipe) -> Page:
    """Build the report of the prediction of a log."""
    nominal, log, predicted = scored.nominal, scored.logs[0], scored.prediction
    estimate, unmodeled = scored.estimate.chosen, scored.unmodeled
    t, names, error = predicted.t, predicted.identified.joint_names, predicted.error
    ends = (int(error.argmin()), int(error.argmax()))
    best, worst = (f"{percent(error[j])} ({names[j]})" for j in ends)
    scores, torques = log_prediction_sections(predicted, estimate, unmodeled)
    motion = log_motion(nominal, log, LOG, predicted.identified, estimate.noise_std)
    return Page(
        title=f"Prediction of a log of {nominal.name}",
        finding=f"RMS error over RMS torque at the full rate: {best} to {worst}.",
        passed=None,
        facts=(
            ("estimator", estimate.estimator),
            ("origin", log.origin),
            ("samples", f"{t.size} at {number(1.0 / log.dt, 4)} Hz"),
            ("time", f"{number(t[0], 4)} to {number(t[-1], 4)} s"),
        ),
        sections=(
            scores,
            tie_to_motion(torques, LOG),
            *make_closing_sections(nominal, nominal.assumptions, "nominal", recipe),
        ),
        replay=Replay(nominal, (motion,)),
    )


def log_prediction_sections(
    predicted: LogPrediction,
    estimate: Estimate,
    unmodeled: Sequence[UnmodeledFunction],
    title: str = "",
) -> tuple[Section, Section]:
    """Build the sections on scores and torques of a predicted log; `title` names it."""
    section = prediction_section(
        predicted.identified, predicted.nominal, estimate.noise_std, "given"
    )
    scores = Section(
        title=f"Prediction{title}",
        text=f"{explain_columns(predicted)} Preprocessing: {predicted.message or 'none'}.",
        tables=(log_prediction_table(predicted),),
        notes=tuple(remarks(predicted, unmodeled)),
    )
    return scores, replace(section, title=f"Predicted torques{title}", tables=())


def explain_columns(predicted: LogPrediction) -> str:
    """Explain the columns of the table of a prediction."""
    band = "" if predicted.cutoff is None else f", up to {number(predicted.cutoff, 3)} Hz"
    text = COLUMN_TEXT.format(band=band)
    return text if predicted.band is None else f"{text} {BAND_TEXT}"


def log_prediction_table(predicted: LogPrediction) -> Table:
    """Tabulate the prediction errors of every joint torque."""
    names, units = predicted.identified.joint_names, predicted.identified.torque_units
    rows = zip(predicted.torque_rms, units, strict=True)
    inside = {} if predicted.coverage is None else {"in band": _percents(predicted.coverage)}
    return Table.from_columns(
        {
            "joint": names,
            "RMS error": [f"{value:.3g} {unit}" for value, unit in rows],
            "error": _percents(predicted.error),
            "moving": _percents(predicted.error_moving),
            "explained": _percents(predicted.explained_share),
            "filtered": _percents(predicted.identified.torque_rms_relative),
            "nominal": _percents(predicted.nominal.torque_rms_relative),
            **inside,
        }
    )


def _percents(x: Float1D) -> list[str]:
    """Format percentages; a dash for a joint without torque or motion."""
    return [percent(value) if np.isfinite(value) else "-" for value in x]


def remarks(predicted: LogPrediction, unmodeled: Sequence[UnmodeledFunction]) -> list[str]:
    """Explain the scores of individual joints, one sentence each."""
    ours, without, nominal = (
        part.torque_rms_relative
        for part in (predicted.identified, predicted.parameters, predicted.nominal)
    )
    names = predicted.identified.joint_names
    worse = np.array(names)[ours > nominal].tolist()
    sentences = []
    for j, name in enumerate(names):
        quantities = [f.quantity for f in predicted.added if f.joint == name]
        if quantities and percent(ours[j]) != percent(without[j]):
            sentences.append(
                f"{name}: predicted with the unmodeled torque as a function of "
                f"{', '.join(quantities)}; with parameters alone the filtered error is "
                f"{percent(without[j])}, not {percent(ours[j])}."
            )
    for j, name in enumerate(names):
        if predicted.explained_share[j] < MIN_EXPLAINED_SHARE:
            share = percent(max(predicted.explained_share[j], 0.0))
            causes = [f.cause for f in unmodeled if f.joint == name]
            sentences.append(
                f"{name}: the estimate explains {share} of the torque variance; "
                f"{'; '.join(causes or [_limit(predicted, j)])}."
            )
    if worse:
        sentences.append(
            f"The nominal model predicts {', '.join(worse)} better than the estimate. Check "
            f"whether payload, zero positions or sensors changed; run `robotid diagnose`."
        )
    return sentences


def _limit(predicted: LogPrediction, j: int) -> str:
    """Explain the limit of the prediction of a joint without unmodeled torque."""
    still = 1.0 - predicted.share_moving[j]
    if still > MIN_LIMITING_SHARE:
        return f"it is at rest {percent(still)} of the time; friction at rest is undetermined"
    slow = predicted.identified.torque_rms[j] / predicted.torque_rms[j]
    if slow**2 < 1.0 - MIN_LIMITING_SHARE:
        return "most of the error is above the low-pass of the rows: noise or vibration"
    return "the error is slow and not a function of the joint state; run `robotid diagnose`"


def predict_text(scored: ScoredPrediction) -> Iterator[Text]:
    """Report the scores of a prediction with remarks."""
    predicted = scored.prediction
    yield from log_reading_text(scored.logs.notes)
    yield (
        f"{scored.nominal.name}: {predicted.t.size} samples predicted by "
        f"'{scored.estimate.chosen.estimator}'"
    )
    if predicted.message:
        yield predicted.message
    yield ""
    yield log_prediction_table(predicted)
    yield from (explain_columns(predicted), *remarks(predicted, scored.unmodeled))
    if scored.estimate.warning:
        yield f"WARNING: the estimate is untrusted: {scored.estimate.warning}"
    yield from report_warning(scored.warning)
