"""``robotid schema``: the JSON Schema of a kind of files."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

SCHEMA_NAMES = ("result", "estimate", "log", "study", "map")


@command()
def schema(
    name: Annotated[
        str,
        options.argument(
            "NAME", f"{', '.join(SCHEMA_NAMES)}.", autocompletion=lambda: [*SCHEMA_NAMES]
        ),
    ],
    out: Annotated[Path | None, options.output_option("Write it here instead.")] = None,
    json: options.Json = False,
) -> int:
    """Print the JSON Schema of a kind of file that other programs may read or write.

    For a log, the schema describes the comment lines of a CSV; for a study, the configuration.
    """
    from json import dumps

    from robotid_sim.files import write_text
    from robotid_sim.pipeline.schemas import schema as schema_of

    output.begin(out)
    content = schema_of(name)
    if out is None:
        output.print_json(content)
        return 0
    write_text(out, dumps(content, indent=1) + "\n")
    output.print_result({"schema": name, "file": str(out)}, [], [out], as_json=json)
    return 0
