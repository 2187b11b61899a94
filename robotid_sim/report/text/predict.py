"""A prediction of a log in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.predict import ScoredPrediction
from robotid_sim.report.prediction_report import columns_of, log_prediction_table, remarks
from robotid_sim.report.text.diagnose import reading_text
from robotid_sim.report.text.parts import Text


def predict_text(done: ScoredPrediction) -> Iterator[Text]:
    """Return the scores of a prediction, and what to know of them."""
    predicted = done.prediction
    yield from reading_text(done.logs)
    yield (
        f"{done.nominal.name}: {predicted.t.size} samples predicted by "
        f"'{done.estimate.chosen.estimator}'"
    )
    if predicted.message:
        yield predicted.message
    yield ""
    yield log_prediction_table(predicted)
    yield from (columns_of(predicted), *remarks(predicted, done.lacks))
    if done.estimate.doubt:
        yield f"WARNING: of the estimate: {done.estimate.doubt}"
    yield from doubt_text(done.doubt)


def doubt_text(doubt: str) -> Iterator[Text]:
    """Return what contradicts logs that were taken in spite of it, if anything."""
    if doubt:
        yield f"WARNING: of the log: {doubt}"
