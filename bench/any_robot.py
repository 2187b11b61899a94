"""Quick studies of every arm of example-robot-data and pybullet_data that can exist.

One row a robot: joints, base parameters, verdict, CPU seconds, those per joint over those of the
catalog's irb140, sub-steps of the plant, and the checks that failed. Robots of more than one arm
get a tip alone, robots without limits those of the table below.

Run as ``python bench/any_robot.py [NAME ...]``, ``--seed N`` for another seed; it ends with the
number of robots that did not pass.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pybullet_data

from robotid_sim.errors import RobotIdError
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.study import run_study

YARDSTICK = "irb140"
EXAMPLES = "cmeel.prefix/share/example-robot-data/robots"
EXPECTED = (RobotIdError, np.linalg.LinAlgError, ArithmeticError)
"""What ends the study of one robot and not the bench."""
MOST_SECONDS = 3.0
"""Seconds per joint over those of the yardstick that an arm may take."""


@dataclass(frozen=True)
class Arm:
    """An arm of a package."""

    file: str
    """In example-robot-data, or in pybullet_data if it begins with ``pybullet:``."""
    tip: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the robot's section in study.toml."""

    @property
    def path(self) -> str:
        """Where the URDF is."""
        if self.file.startswith("pybullet:"):
            return str(Path(pybullet_data.getDataPath()) / self.file.removeprefix("pybullet:"))
        if "/" not in self.file:
            return self.file
        return str(distribution("example-robot-data").locate_file(f"{EXAMPLES}/{self.file}"))


ARMS = {
    YARDSTICK: Arm(YARDSTICK),
    "ur3": Arm("ur_description/urdf/ur3_robot.urdf"),
    "ur5": Arm("ur_description/urdf/ur5_robot.urdf"),
    "ur10": Arm("ur_description/urdf/ur10_robot.urdf"),
    "kinova": Arm("kinova_description/robots/kinova.urdf"),
    "iiwa": Arm("pybullet:kuka_iiwa/model.urdf"),
    "panda": Arm("panda_description/urdf/panda.urdf"),
    "franka_panda": Arm("pybullet:franka_panda/panda.urdf"),
    "xarm6": Arm("pybullet:xarm/xarm6_robot.urdf", settings={"repair": True}),
    "xarm7": Arm("xarm_description/urdf/xarm7.urdf"),
    "z1": Arm("z1_description/urdf/z1.urdf"),
    "so100": Arm("so_arm_description/urdf/so100.urdf"),
    "so101": Arm("so_arm_description/urdf/so101.urdf"),
    "tiago": Arm("tiago_description/robots/tiago_no_hand.urdf", tip="arm_tool_link"),
    "pr2": Arm("pr2_description/urdf/pr2.urdf", tip="r_gripper_palm_link"),
    "baxter": Arm("baxter_description/urdf/baxter.urdf", tip="right_gripper"),
    "talos": Arm("talos_data/robots/talos_full_v2.urdf", tip="gripper_left_base_link"),
    "finger_edu": Arm("finger_edu_description/robots/finger_edu.urdf"),
    "cartpole": Arm(
        "pybullet:cartpole.urdf",
        settings={
            "joints": {
                "slider_to_cart": {"lower": -2.0, "upper": 2.0, "velocity": 2.0},
                "cart_to_pole": {"velocity": 5.0},
            }
        },
    ),
}


@dataclass(frozen=True)
class Row:
    """What became of the study of one arm."""

    verdict: str
    dof: int = 0
    base: int = 0
    seconds: float = 0.0
    substeps: int = 0
    remarks: str = ""


def studied(arm: Arm, seed: int) -> Row:
    """Run the quick study of an arm."""
    section = {**arm.settings, **({} if arm.tip is None else {"tip": arm.tip})}
    config = load_config(None, {"seed": seed, "robot": section}).quick()
    began = time.process_time()
    try:
        setup = build_setup(arm.path, config)
    except RobotIdError as error:
        return Row("REFUSED", seconds=time.process_time() - began, remarks=str(error))
    sizes = {"dof": setup.cell.plant.dof, "base": setup.basis.rank, "substeps": setup.cell.substeps}
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdict = run_study(setup, Path(folder), workers=1).result.verdict
        except EXPECTED as error:
            took = time.process_time() - began
            return Row("STOPPED", **sizes, seconds=took, remarks=str(error))
    failed = [f"{c.name} {c.value:.4g} {c.message}" for c in verdict.checks if not c.passed]
    return Row(
        "PASSED" if verdict.passed else "FAILED",
        **sizes,
        seconds=time.process_time() - began,
        remarks="; ".join(failed),
    )


def main() -> None:
    """Run the studies, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ARMS)}")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = [name for name in ARMS if name in arguments.names or not arguments.names]
    studied(ARMS[YARDSTICK], arguments.seed)  # compiles
    yardstick = studied(ARMS[YARDSTICK], arguments.seed)
    print(f"seed {arguments.seed}, one process")
    head = f"{'robot':13}{'dof':>4}{'base':>6} {'verdict':8}{'seconds':>8}{'a joint':>9}"
    print(f"{head}{'sub-steps':>11}  failed")
    bad = 0
    for name in names:
        row = yardstick if name == YARDSTICK else studied(ARMS[name], arguments.seed)
        share = row.seconds / max(row.dof, 1) * yardstick.dof / yardstick.seconds
        bad += row.verdict != "PASSED" or share > MOST_SECONDS
        print(
            f"{name:13}{row.dof:4}{row.base:6} {row.verdict:8}{row.seconds:8.1f}{share:8.2f}x"
            f"{row.substeps:11}  {row.remarks}",
            flush=True,
        )
    print(f"{bad} of {len(names)} did not pass, or took more than {MOST_SECONDS:g} x a joint")


if __name__ == "__main__":
    main()
