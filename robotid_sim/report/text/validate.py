"""A validation in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.contacts import contact_notes
from robotid_sim.pipeline.validate import Validation
from robotid_sim.report.loop_section import model_table
from robotid_sim.report.tables import check_table, prediction_table
from robotid_sim.report.text.parts import Text
from robotid_sim.report.text.predict import doubt_text


def validate_text(done: Validation) -> Iterator[Text]:
    """Return prediction, loops and checks."""
    loop = done.loop
    yield f"{done.plant.name}: {done.lift.message}"
    yield (
        f"bandwidth {loop.gains.bandwidth:.4g} rad/s; error bound under the disturbance "
        + " ".join(f"{1e3 * bound:.3g}" for bound in loop.gains.error_bound)
        + " (10^-3 rad or m)"
    )
    if loop.gains.limited:
        joints = ", ".join(loop.gains.limited)
        yield f"the error bound is above the specified error at {joints}"
    if done.predicted is not None:
        yield ""
        yield "prediction of the log"
        yield prediction_table(*done.predicted)
    yield ""
    yield model_table(loop, done.plant.joint_units)
    yield ""
    yield check_table(done.checks)
    yield from contact_notes(done.contacts)
    yield from doubt_text(done.doubt)
