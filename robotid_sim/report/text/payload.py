"""A load or torque constants in words."""

from collections.abc import Iterator

from robotid_sim.pipeline.payload import PayloadResult
from robotid_sim.report.text.diagnose import reading_text
from robotid_sim.report.text.parts import Text
from robotid_sim.report.text.predict import doubt_text


def payload_text(done: PayloadResult) -> Iterator[Text]:
    """Return how the logs were read, and the estimate."""
    yield from reading_text(done.logs)
    yield from done.estimate.sentences()
    yield from doubt_text(done.doubt)
