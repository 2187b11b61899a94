"""``robotid design``: an excitation trajectory."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options, output
from robotid_sim.study.robots import nominal_robot, read_robot
from robotid_sim.study.stages import basis_of
from robotid_sim.study.stages import design as design_stage
from robotid_sim.trajectory.design import assess


def design(
    robot: options.RobotArg,
    out: Annotated[Path, typer.Option("-o", "--out", help="Trajectory file (JSON).")],
    seed: options.Seed = None,
    config: options.Config = None,
    quick: options.Quick = False,
    json: options.Json = False,
    base: options.Base = None,
    tip: options.Tip = None,
    payload: options.Payload = None,
    repair: options.Repair = False,
    nominal: options.Nominal = None,
    no_urdf_friction: options.NoFriction = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> int:
    """Design an excitation: the best of many random feasible Fourier series by D-optimality.

    Only the nominal model is used. Exit 1 if no excitation satisfies the limits.
    """
    del verbose, debug
    study = options.study_config(
        config=config,
        seed=seed,
        base=base,
        tip=tip,
        payload=payload,
        repair=repair,
        nominal=nominal,
        no_urdf_friction=no_urdf_friction,
        quick=quick,
    )
    plant = read_robot(robot, study.robot)
    with output.progress_bar(enabled=not json) as progress:
        trajectory = design_stage(plant, study, progress=progress)
    trajectory.save(out)
    model = nominal_robot(plant, study)
    found = asdict(assess(model, basis_of(model, study), trajectory))
    if json:
        output.print_json({"robot": plant.name, "trajectory": str(out), **found})
    else:
        output.print_line(
            f"{plant.name}: {trajectory.periods} periods of {trajectory.base_period:g} s, "
            f"{trajectory.harmonics} harmonics, approach {trajectory.approach:g} s"
        )
        rows = [[key, output.number(value)] for key, value in found.items()]
        output.print_table("", ["nominal model", "value"], rows)
        output.print_line(f"trajectory written to {out}")
    return 0
