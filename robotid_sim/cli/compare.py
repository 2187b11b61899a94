"""``robotid compare``: whether estimates are of one robot."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command()
def compare(
    estimates: Annotated[
        list[Path],
        options.argument(
            "ESTIMATE ESTIMATE…",
            "Estimate files of `robotid identify`, or result folders of `robotid run`, two or "
            "more.",
        ),
    ],
    out: options.ResultFile = None,
    report: options.ReportFile = None,
    json: options.Json = False,
) -> int:
    """Test whether estimates of independent logs are of one robot, and list differences.

    The chosen estimates are compared pair by pair, by their covariances; the false-alarm rate is at
    most 1 %. For result folders, predictions and tracking errors are compared, too. Exit 1 if they
    differ.
    """
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.compare import compare as compare_estimates
    from robotid_sim.report.comparison_report import compare_text, comparison_report
    from robotid_sim.report.page import write_page

    output.begin(out, report)
    comparison = compare_estimates(estimates)
    content = comparison.content()
    if out is not None:
        write_json(out, "agreement", 1, content)
    if report is not None:
        write_page(comparison_report(comparison, output.command_line()), report)
    output.print_result(content, compare_text(comparison), [out, report], as_json=json)
    return 0 if comparison.passed else 1
