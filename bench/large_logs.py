"""``robotid identify`` of long logs: peak memory and CPU seconds, HDF5 and CSV.

The log is one period of 10 s at 1 kHz again and again, with new noise of encoders and torques, as
of a machine. Every identification runs in a child process, whose peak memory and CPU seconds the
operating system tells. The last column is the CPU time of a row over that of the row above, of the
same form, without what a short log takes too: the time of the first one.

Run as ``python bench/large_logs.py [ROBOT] [ROWS ...] [--lacking]``; by default twolink with 1e5,
1e6 and 1e7 rows, which takes some quarter of an hour and 2 GB in the temporary folder. With
``--lacking`` all joints have friction that the model lacks, as real ones do.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

from robotid_sim import FourierOptions, Robot, random_design
from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot

SAMPLES, DT = 10_000, 1e-3
ENCODER, TORQUE = 1e-4, 0.01
"""Noise of the encoders [rad], and of the torques over their RMS."""


STRIBECK = 0.1
"""Friction that the model lacks, at rest over the RMS of the torque."""

SLOW = 0.1
"""Velocity at which it decays [rad/s]."""


def one_period(robot: Robot, *, lacking: bool) -> tuple[Float2D, Float2D]:
    """Return positions and torques of a period."""
    basis, rng = base_parameters(robot), np.random.default_rng(0)
    options = FourierOptions(period=SAMPLES * DT, periods=1)
    trajectory = random_design(robot, basis, rng, options=options, candidates=50)
    motion = trajectory(DT * np.arange(SAMPLES))
    tau = joint_torque(robot, motion.q, motion.dq, motion.ddq)
    if lacking:
        friction = np.sign(motion.dq) * np.exp(-((motion.dq / SLOW) ** 2))
        tau += STRIBECK * np.sqrt((tau**2).mean(axis=0)) * friction
    return motion.q, tau


def write(robot: Robot, rows: int, path: Path, *, lacking: bool) -> None:
    """Write a log of so many rows, a period at a time."""
    q, tau = one_period(robot, lacking=lacking)
    std = TORQUE * np.sqrt((tau**2).mean(axis=0))
    columns = {"t": (), "q": (robot.dof,), "tau_meas": (robot.dof,)}
    with h5py.File(path.with_suffix(".h5"), "w") as file, path.open("w") as text:
        for part in range(0, rows, SAMPLES):
            rng = np.random.default_rng(part)
            log = Log(
                t=DT * np.arange(part, part + SAMPLES),
                q=q + ENCODER * rng.standard_normal(q.shape),
                tau_meas=tau + std * rng.standard_normal(tau.shape),
                joint_names=robot.joint_names,
                joint_units=robot.joint_units,
                period=SAMPLES * DT,
            )
            small = path.with_name("part")
            save_log(log, small.with_suffix(".csv"))
            text.writelines(
                line
                for line in small.with_suffix(".csv").read_text().splitlines(keepends=True)
                if part == 0 or line[0].isdigit()
            )
            if part == 0:
                save_log(log, small.with_suffix(".h5"))
                with h5py.File(small.with_suffix(".h5")) as first:
                    file.attrs.update(first.attrs)
                for name, shape in columns.items():
                    file.create_dataset(name, (rows, *shape), dtype=float)
            for name in columns:
                file[name][part : part + SAMPLES] = getattr(log, name)


def identify(robot: Robot, path: Path) -> tuple[float, float]:
    """Return peak memory [MB] and CPU time [s] of an identification in a process of its own."""
    words = ["identify", robot.name, str(path), "-o", str(path.with_name("estimate.json"))]
    with path.with_name("out.txt").open("w") as out:
        child = subprocess.Popen([sys.executable, "-m", "robotid_sim", *words], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"identify ended with {child.returncode}")
    return usage.ru_maxrss * 1024 / 1e6, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Write logs and identify from them, print a table."""
    words = [word for word in sys.argv[1:] if word != "--lacking"]
    name, *sizes = words or ["twolink"]
    lacking = "--lacking" in sys.argv
    robot = load_robot(name)
    begun: dict[str, float] = {}
    before: dict[str, float] = {}
    what = ", friction that the model lacks" if lacking else ""
    print(f"{robot.name}, {robot.dof} joints, 1 kHz{what}")
    print(f"{'rows':>10} {'form':>5} {'peak [MB]':>10} {'CPU [s]':>8} {'us a row':>9} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        for rows in [int(float(size)) for size in sizes] or [10**5, 10**6, 10**7]:
            write(robot, rows, path, lacking=lacking)
            for file in (path.with_suffix(".h5"), path):
                form = file.suffix[1:]
                peak, seconds = identify(robot, file)
                each = (seconds - begun.get(form, 0.0)) / rows
                ratio = each / before[form] if form in before else float("nan")
                print(
                    f"{rows:10.0e} {form:>5} {peak:10.0f} {seconds:8.1f} {1e6 * each:9.1f} "
                    f"{ratio:6.2f}",
                    flush=True,
                )
                if form in begun:
                    before[form] = each
                begun.setdefault(form, seconds)


if __name__ == "__main__":
    main()
