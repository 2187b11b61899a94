"""``robotid simulate``, ``import`` and ``diagnose``: logs, and what is wrong with them."""

from pathlib import Path

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

SUFFIXES = (".h5", ".csv")
"""Of logs."""


@command("seed", "plugin", "nominal", "preset", "plant_friction", "plant_drive", "engine")
def simulate(
    robot: str, trajectory: Path, out: Path, json: bool = False, *, study: options.Configuration
) -> int:
    """Run the virtual experiment: ROBOT in the engine, driven along a trajectory, with sensors."""
    from robotid_sim.errors import OptionError
    from robotid_sim.pipeline.simulate import simulate as run_experiment
    from robotid_sim.report.text import simulate_text

    output.begin(out)
    if out.suffix.lower() not in SUFFIXES:
        raise OptionError(f"cannot write {out}: the name of a log ends in {' or '.join(SUFFIXES)}")
    with output.progress_line() as progress:
        diverged = out.with_name(f"diverged-{out.name}")
        done = run_experiment(robot, trajectory, study, diverged=diverged, progress=progress)
    done.write(out)
    output.print_result(done.content(out), simulate_text(done), [out], as_json=json)
    return 0


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


@command("seed", "plugin", "nominal", excludes={"seed": "nominal"})
def diagnose(
    robot: str,
    log: Path,
    mapping: Path | None = None,
    json: bool = False,
    *,
    study: options.Configuration,
) -> int:
    """Say what is wrong with a log or with the model for it: cause, joint, evidence, remedy.

    For a machine's log ROBOT is the nominal model. Exit 1 if there is a cause.
    """
    from robotid_sim.pipeline.assess import diagnose as diagnose_log
    from robotid_sim.pipeline.build_robot import build_nominal_of_log, build_robot
    from robotid_sim.report.text import diagnose_text

    output.begin()
    model = build_robot(robot, study.robot)
    data = rid.read_log(log, model, mapping)
    nominal = build_nominal_of_log(model, data[0], study)
    parameters = study.estimation.joint_parameters
    done = diagnose_log(data, nominal, joint_parameters=parameters)
    content = {"robot": model.name, **done.content()}
    output.print_result(content, diagnose_text(done, data), as_json=json)
    return 0 if done.healthy else 1
