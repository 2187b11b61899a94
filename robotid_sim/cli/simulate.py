"""``robotid simulate``: the virtual experiment."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

LOG_SUFFIXES = (".h5", ".csv")
"""Suffixes of log files."""


@command("seed", "plugin", "nominal", "preset", "plant_friction", "plant_drive", "engine")
def simulate(
    robot: options.RobotArg,
    trajectory: Annotated[Path, options.file("Trajectory file of `robotid design`.")],
    out: Annotated[Path, options.output_option("Log file, .h5 or .csv.")],
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Run the virtual experiment: ROBOT in the engine, driven along a trajectory, with sensors."""
    from robotid_sim.errors import OptionError
    from robotid_sim.pipeline.simulate import simulate as run_experiment
    from robotid_sim.report.text import simulate_text

    output.begin(out)
    if out.suffix.lower() not in LOG_SUFFIXES:
        raise OptionError(
            f"cannot write {out}: the name of a log ends in {' or '.join(LOG_SUFFIXES)}"
        )
    with output.progress_line() as progress:
        diverged = out.with_name(f"diverged-{out.name}")
        experiment = run_experiment(robot, trajectory, study, diverged=diverged, progress=progress)
    experiment.write(out)
    output.print_result(experiment.content(out), simulate_text(experiment), [out], as_json=json)
    return 0
