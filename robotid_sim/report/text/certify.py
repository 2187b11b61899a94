"""A certificate in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.certificate import Certificate
from robotid_sim.report.certificate_report import certificate_finding, proof_table
from robotid_sim.report.tables import check_table
from robotid_sim.report.text.parts import Text


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
