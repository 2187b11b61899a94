"""``robotid import``: a machine's log in a foreign form as a log of ours."""

from pathlib import Path

import robotid_sim as rid
from robotid_sim.cli import output
from robotid_sim.cli.command import command


@command()
def import_(
    source: list[Path],
    robot: str,
    out: Path,
    mapping: Path | None = None,
    write_map: Path | None = None,
    topic: str | None = None,
    segment: int | None = None,
    base: str | None = None,
    tip: str | None = None,
    assume_limits: bool = False,
    json: bool = False,
) -> int:
    """Turn a machine's log in any usual form into one that the other commands read.

    Columns are matched to joints by name or order, units by name or limits; a map overrides both.
    """
    from robotid_sim.pipeline.foreign_log import convert_log
    from robotid_sim.report.text import import_text

    output.begin(out, write_map)
    # Only its joints matter here: inertia that cannot be is `check`'s to tell.
    read = rid.load_robot(robot, base=base, tip=tip, assume_limits=assume_limits, formal=True)
    done = convert_log(
        source, read, out, mapping=mapping, write_map=write_map, topic=topic, segment=segment
    )
    content = {"robot": read.name, **done.content(), "file": str(out)}
    output.print_result(content, import_text(done, read), [out, write_map], as_json=json)
    return 0
