"""An identification in words and tables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.long_log import LongLog
from robotid_sim.model.mass_comparison import unlikely_masses
from robotid_sim.pipeline.assess import Assessment
from robotid_sim.pipeline.identification import HeldOutPrediction, Identification
from robotid_sim.report.prediction_report import columns_of, log_prediction_table, remarks
from robotid_sim.report.tables import lack_table, parameter_table, residual_table, terms_table
from robotid_sim.report.text.diagnose import reading_text
from robotid_sim.report.text.parts import Text

if TYPE_CHECKING:
    from robotid_sim.estimation.problem import LinearProblem

MOST_OF_IT = 0.9
"""Share of a long log that the fit has where it is not of excerpts; edges are in no fit."""


def identify_text(assessment: Assessment, logs: Logs) -> Iterator[Text]:
    """Return how logs were read, the estimates, what the model lacks, and what is predicted."""
    fit = assessment.fit
    yield from reading_text(logs)
    if logs.long is not None:
        yield _of_parts(logs.long, fit.plain)
    yield from _fit_text(assessment)
    if fit.held_out is not None:
        yield from _held_out_text(fit.held_out, fit)


def _of_parts(log: LongLog, rows: "LinearProblem") -> str:
    """Return what a long log means for what is printed."""
    reading = (
        f"The log has {log.samples} samples and is read in parts. The first {log.head.t.size} "
        "decide how they are smoothed and what pages show. What the model lacks is looked for in "
        "excerpts"
    )
    share = rows.samples * rows.dt / (log.samples * log.dt)
    if share < MOST_OF_IT:
        return f"{reading}, {share:.2g} of the log; as it lacks something, the fit is of them, too."
    return f"{reading}; all samples are in the fit."


def _fit_text(assessment: Assessment) -> Iterator[Text]:
    """Return the estimates, the chosen one, and what is left."""
    fit = assessment.fit
    chosen, nominal = fit.chosen, fit.nominal
    yield f"{nominal.name}: {chosen.rows} rows, {len(chosen.names)} base parameters"
    for preprocessor in fit.preprocessors:
        if preprocessor.message:
            yield preprocessor.message
    yield ""
    yield residual_table(fit.estimates, nominal.joint_units)
    if not chosen.success:
        yield f"{chosen.estimator}: {chosen.message}"
        yield "`robotid diagnose` says what the log does not show."
        return
    yield ""
    yield parameter_table(chosen, fit.basis, fit.basis.of(nominal.parameters()))
    if fit.structure.terms:
        yield ""
        yield terms_table(fit.structure, nominal)
    if fit.lift is not None:
        yield f"identified robot: {fit.lift.message}"
        for text in unlikely_masses(fit.lift.robot, nominal):
            yield f"  unlikely: {text}"
    if fit.discrepancy.notable:
        yield ""
        yield lack_table(fit.discrepancy, nominal)
        yield (
            "Residuals above are what these functions leave. `robotid diagnose` looks for their "
            "cause; with --terms all the fit may choose terms of joints for them."
        )
        yield ""
    yield from assessment.remarks
    if fit.doubt:
        yield f"WARNING: {fit.doubt}"


def _held_out_text(held: HeldOutPrediction, fit: Identification) -> Iterator[Text]:
    """Return what the fit predicts of data that were left out of it."""
    predicted = held.prediction
    yield ""
    yield f"held out ({held.what}): {predicted.t.size} samples"
    yield log_prediction_table(predicted)
    yield from (columns_of(predicted), *remarks(predicted, fit.discrepancy.lacks))
