"""``robotid simulate``: the virtual experiment."""

from pathlib import Path

import numpy as np

from robotid_sim.cli import output
from robotid_sim.errors import OptionError
from robotid_sim.files import require_writable
from robotid_sim.measurement.files import save_log
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.contacts import contacts
from robotid_sim.pipeline.stages import simulate as simulate_stage
from robotid_sim.pipeline.study import saved_if_diverged
from robotid_sim.pipeline.verdict import saturated
from robotid_sim.progress_display import progress_line
from robotid_sim.section import number
from robotid_sim.streams import Streams
from robotid_sim.table import Table
from robotid_sim.trajectory.runnable import limit_use, require_runnable
from robotid_sim.trajectory.trajectory_files import load_trajectory

SUFFIXES = (".h5", ".csv")
"""Of logs."""


def simulate(*, robot: str, trajectory: Path, out: Path, json: bool, study: StudyConfig) -> int:
    """Do ``robotid simulate``; its words are in `cli.syntax.simulate`."""
    require_writable(out)
    if out.suffix.lower() not in SUFFIXES:
        raise OptionError(f"cannot write {out}: the name of a log ends in {' or '.join(SUFFIXES)}")
    plant = build_robot(robot, study.robot)
    nominal = build_nominal(plant, study)
    cell = build_cell(plant, nominal, study)
    path = load_trajectory(trajectory, plant)
    require_runnable(path, plant, cell.rate, str(trajectory))
    diverged = out.with_name(f"diverged-{out.name}")
    with progress_line(enabled=not json) as progress, saved_if_diverged(diverged):
        rng = Streams(study.seed)("measure")
        log = simulate_stage(cell, path, rng, seed=study.seed, progress=progress)
    save_log(log, out)
    space = build_space(nominal, study)
    floor = None if space is None else space.floor
    touching = [str(found) for found in contacts(nominal, {"trajectory": path}, floor)]
    peak, shares = np.abs(log.tau_meas).max(axis=0), limit_use(plant, path)
    clipped = saturated(log).mean(axis=0)
    if json:
        content = {"robot": plant.name, "log": str(out), "samples": log.t.size, "dt_s": log.dt}
        content |= {"peak_torque": peak.tolist(), "saturated": clipped.tolist()}
        output.print_json({**content, **shares, "contacts": touching})
    else:
        output.print_line(f"{plant.name}: {log.t.size} samples at {1.0 / log.dt:g} Hz")
        columns = {
            "joint": plant.joint_names,
            "peak torque": map(number, peak),
            "of limit": [f"{share:.0%}" for share in peak / plant.limits.effort],
        }
        for name, of_joints in shares.items():
            columns[name.replace("_", " ")] = [f"{share:.0%}" for share in of_joints]
        output.print_table(Table.of(columns))
        for name, share in zip(plant.joint_names, clipped, strict=True):
            if share > 0.0:
                output.print_line(
                    f"SATURATED: {name} is commanded more than its torque limit in "
                    f"{100.0 * share:.2g} % of the samples, and does not follow; lower "
                    "design.torque_ratio, or check rotor inertia and --plant-drive"
                )
        for text in touching:
            output.print_line(f"CONTACT: {text}; no real arm may run this")
        output.print_written([out])
    return 0
