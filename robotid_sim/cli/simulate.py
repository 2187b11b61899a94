"""``robotid simulate``: the virtual experiment."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from robotid_sim.cli import options, output
from robotid_sim.files import require_writable
from robotid_sim.measurement.files import save_log
from robotid_sim.section import Table, number
from robotid_sim.streams import Streams
from robotid_sim.study.build import build_cell, build_nominal, build_robot
from robotid_sim.study.build_design import build_space
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.contacts import contacts
from robotid_sim.study.stages import simulate as simulate_stage
from robotid_sim.study.study import saved_if_diverged
from robotid_sim.trajectory.trajectory_files import load_trajectory


@options.for_study("seed", "plugin", "nominal", "preset", "plant_friction")
def simulate(
    robot: options.RobotArg,
    trajectory: Annotated[
        Path, typer.Option("--trajectory", help="Trajectory file of `robotid design`.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Log file, .h5 or .csv.")],
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Run the virtual experiment: ROBOT in the engine, driven along a trajectory, with sensors."""
    require_writable(out)
    plant = build_robot(robot, study.robot)
    nominal = build_nominal(plant, study)
    cell = build_cell(plant, nominal, study)
    path = load_trajectory(trajectory, plant)
    diverged = out.with_name(f"diverged-{out.name}")
    with output.progress_bar(enabled=not json) as progress, saved_if_diverged(diverged):
        rng = Streams(study.seed)("measure")
        log = simulate_stage(cell, path, rng, seed=study.seed, progress=progress)
    save_log(log, out)
    space = build_space(nominal, study)
    floor = None if space is None else space.floor
    touching = [str(found) for found in contacts(nominal, {"trajectory": path}, floor)]
    peak = np.abs(log.tau_meas).max(axis=0)
    if json:
        content = {"robot": plant.name, "log": str(out), "samples": log.t.size, "dt_s": log.dt}
        output.print_json({**content, "peak_torque": peak.tolist(), "contacts": touching})
    else:
        output.print_line(f"{plant.name}: {log.t.size} samples at {1.0 / log.dt:g} Hz")
        columns = {
            "joint": plant.joint_names,
            "peak torque": map(number, peak),
            "of limit": [f"{share:.0%}" for share in peak / plant.limits.effort],
        }
        output.print_table(Table.of(columns))
        for text in touching:
            output.print_line(f"CONTACT: {text}; no real arm may run this")
        output.print_line(f"log written to {out}")
    return 0
