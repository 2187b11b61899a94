"""``robotid reproduce``: tables and figures of a paper, reproduced, with verdicts."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command()
def reproduce(
    paper: Annotated[
        str,
        options.argument(
            "PAPER", "See `robotid list papers`; or `all`.", autocompletion=options.names("papers")
        ),
    ],
    out: Annotated[Path, options.output_option("Folder for everything.", "FOLDER")],
    quick: Annotated[
        bool, options.flag("--quick", "Fewer runs and smaller budgets; the same outputs.")
    ] = False,
    runs: Annotated[
        int | None,
        options.value(
            "N", "Number of runs per method.  [default: as in the paper]", min=1, max=10_000
        ),
    ] = None,
    engine: options.EngineName = None,
    plugin: options.Plugins = None,
    workers: options.Workers = None,
    seed: Annotated[int, options.value("N", "Seed of all randomness.", min=0)] = 0,
    json: options.Json = False,
    junit: options.JunitFile = None,
) -> int:
    """Reproduce a published system: tables, figures, and a verdict on every claim.

    Finished runs are kept in the folder and not repeated when the command is started again; tables,
    figures and the page replace earlier ones when all is done. Exit 1 if a number is outside of its
    expected range, or a check fails.
    """
    import os

    from robotid_sim.papers.reproduce import reproduce as reproduce_papers
    from robotid_sim.plugins import load_plugins
    from robotid_sim.report.reproduction_report import reproduce_cases, reproduce_text
    from robotid_sim.report.text import write_junit

    output.begin(junit)
    load_plugins(plugin or ())
    with output.progress_line() as progress:
        result = reproduce_papers(
            paper,
            out,
            quick=quick,
            runs=runs,
            engine=engine,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            command=output.command_line(),
            progress=progress,
        )
    write_junit(junit, f"reproduce {paper}", reproduce_cases(result))
    content, text = result.content(), reproduce_text(result)
    output.print_result(content, text, [*result.files, junit], as_json=json)
    return 0 if result.passed else 1
