"""FIGAROH and Pinocchio beside us: regressor, base parameters, design, and a whole identification.

The peers are installed by pip into an environment of their own, in a temporary folder, unless
``--python`` names the interpreter of one. All read the same logs, of the default experiment of a
robot in the engine with the default sensors, in two worlds:

- `smooth sign`: friction of the plant is ``Fv dq + Fc tanh(dq / eps)``, and all are told eps;
- `true sign`: it is ``Fv dq + Fc sign(dq)``, and joints stick. The peers have columns of the true
  sign; ours, by default, takes eps from the log.

What is predicted is another trajectory in the same world, without noise, where joints move: at
standstill dry friction has no value.

- Pinocchio has the regressor of rigid bodies. Columns of friction and rotors, base columns by
  pivoted QR, and weighted least squares are a page of NumPy and SciPy in bench/peers_inside.py.
- FIGAROH has that page: regressor with these columns, elimination and QR, and more that is not
  timed here (physical projection, verdicts, calibration of geometry). A robot is a subclass and a
  YAML file of its user; here its functions are called as its base class does. For both, positions
  pass a Butterworth filter of 25 Hz, forward and backward, and are differenced; regressor and
  torque are decimated alike to 10 Hz (Gautier's recipe, which FIGAROH's examples follow); both are
  given the time at which the torque acts, which we know. FIGAROH's trajectory design needs cyipopt,
  of which there are no wheels, and a problem written by its user: it is not tried.
- Times are CPU seconds on one thread, ours with compiled kernels warm. Parameter errors are the
  median over base parameters that matter, each tool's own set.

Run as ``python bench/peers.py [ROBOT] [--python PATH]``; prints a table in Markdown. Needs PyBullet
or MuJoCo for the logs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
from peers_inside import parameter_error, torque_error
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_robot import build_basis
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.stages import fit_logs

STATES = 2000
SLOWEST = 0.3
"""Least speed of random states [rad/s]: there the smooth sign of friction is one."""
WORLDS = {"smooth sign": (), "true sign": ("--plant-friction", "stick-slip")}
"""Options of the simulation, by the friction of the plant."""
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def environment(folder: Path) -> Path:
    """Make an environment with the peers, and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    words = [str(python), "-m", "pip", "install", "-q", "--prefer-binary", "figaroh", "pin"]
    subprocess.run(words, check=True)
    return python


def cli(*words: str | Path) -> float:
    """Run a command of ours and return its CPU seconds."""
    before = os.times()
    command = [sys.executable, "-m", "robotid_sim", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | ONE_THREAD)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def random_states(robot: Robot) -> list[np.ndarray]:
    """Return positions, velocities and accelerations without slow joints."""
    rng = np.random.default_rng(0)
    shape = (STATES, robot.dof)
    dq = rng.uniform(SLOWEST, 3.0, shape) * rng.choice([-1.0, 1.0], shape)
    return [rng.uniform(-2.0, 2.0, shape), dq, rng.uniform(-10.0, 10.0, shape)]


def save_for_peers(
    robot: Robot, eps: Float1D, log: Log, unseen: Log, states: list[np.ndarray], folder: Path
) -> None:
    """Write what the peers read: zero for eps is a true sign."""
    write_urdf(robot, folder / "robot.urdf")
    recorded = {"t": log.t, "q": log.q, "tau": log.tau_meas, "offset": log.torque_time_offset}
    np.savez(folder / "log.npz", eps=eps, **recorded)
    names = ("q", "dq", "ddq", "tau")
    exact = zip(names, (*states, joint_torque(robot, *states)), strict=True)
    np.savez(folder / "states.npz", **dict(exact))
    assert unseen.truth is not None
    np.savez(folder / "unseen.npz", **{name: getattr(unseen.truth, name) for name in names})


def ours(robot: Robot, log: Log, unseen: Log, states: list[np.ndarray]) -> dict[str, Any]:
    """Return times and errors of this package, as `peers_inside.figures` does."""
    nominal = perturb(robot, np.random.default_rng(1))
    study = StudyConfig()
    plan, basis = build_fit(study), build_basis(nominal, study)
    fit_logs(log, nominal, basis, plan, np.random.default_rng(0))  # compiles
    torque_regressor(nominal, *states, basis.columns)
    began = time.process_time()
    W = torque_regressor(nominal, *states, basis.columns)
    regressor = time.process_time() - began
    began = time.process_time()
    base_parameters(nominal, study.estimation.joint_parameters)
    base = time.process_time() - began
    began = time.process_time()
    fit = fit_logs(log, nominal, basis, plan, np.random.default_rng(0))
    whole = time.process_time() - began
    beta, exact = fit.chosen.beta, basis.project(robot.parameters())
    truth = unseen.truth
    assert truth is not None
    along = torque_regressor(fit.nominal, truth.q, truth.dq, truth.ddq, basis.columns)
    return {
        "regressor": 1e6 * regressor / STATES,
        "base": base,
        "whole": whole,
        "parameters": basis.rank,
        "torque_error": torque_error(along @ beta, truth.tau, truth.dq),
        "parameter_error": parameter_error(W.reshape(-1, basis.rank), beta, exact),
    }


TIMES = {
    "regressor of a sample, all columns [µs]": ("regressor", "{:.1f}"),
    "base parameters [s]": ("base", "{:.3f}"),
    "their number": ("parameters", "{:.0f}"),
    "log to estimate [s]": ("whole", "{:.2f}"),
}
ERRORS = {
    "torque error on another motion, worst joint": ("torque_error", "{:.3%}"),
    "error of the base parameters, median": ("parameter_error", "{:.2%}"),
}
TOOLS = {"ours": "robotid_sim", "figaroh": "FIGAROH", "pinocchio": "Pinocchio + NumPy"}


def table(robot: Robot, design: float, results: dict[str, dict[str, Any]]) -> str:
    """Return times, and errors in every world, side by side in Markdown."""
    first = results["smooth sign"]
    heads = [f"{label} {first[tool].get('version', '')}".strip() for tool, label in TOOLS.items()]
    lines = [f"| {robot.name} | {' | '.join(heads)} |", "|---" * 4 + "|"]
    worlds = [("", first, TIMES), *((f"{name}: ", one, ERRORS) for name, one in results.items())]
    for start, found, rows in worlds:
        for label, (key, form) in rows.items():
            tools = [found[tool] for tool in TOOLS]
            cells = [form.format(tool[key]) if key in tool else "-" for tool in tools]
            lines.append(f"| {start}{label} | {' | '.join(cells)} |")
    reason = "needs cyipopt: no wheel" if "design" in first else "not timed"
    lines.append(f"| excitation design [s] | {design:.1f} | {reason} | has none |")
    extra = ("intervals, physically consistent robot", "yes, both", "projection; relative std", "-")
    lines.append(f"| {' | '.join(extra)} |")
    return "\n".join(lines)


def in_world(robot: Robot, world: str, python: Path, folder: Path) -> dict[str, Any]:
    """Return times and errors of all tools where the plant has one kind of friction."""
    for path in ("path", "other"):
        words = ("--trajectory", folder / f"{path}.json", "-o", folder / f"{path}.h5")
        cli("simulate", robot.name, *words, *WORLDS[world])
    log, unseen = (load_log(folder / f"{path}.h5") for path in ("path", "other"))
    states = random_states(robot)
    eps = robot.eps if world == "smooth sign" else np.zeros(robot.dof)
    save_for_peers(robot, eps, log, unseen, states, folder)
    script = Path(__file__).with_name("peers_inside.py")
    done = subprocess.run(
        [str(python), str(script), str(folder)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    if "failed" in found["figaroh"]:
        print(f"FIGAROH: {found['figaroh']['failed']}", file=sys.stderr)
    with threadpool_limits(1):
        return {**found, "ours": ours(robot, log, unseen, states)}


def main() -> None:
    """Make the logs of both worlds, let all tools identify from them, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("robot", nargs="?", default="irb140")
    parser.add_argument("--python", type=Path)
    given = parser.parse_args()
    robot = load_robot(given.robot)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = given.python or environment(folder / "environment")
        cli("design", robot.name, "-o", folder / "path.json", "--quick")  # compiles
        design = cli("design", robot.name, "-o", folder / "path.json")
        cli("design", robot.name, "-o", folder / "other.json", "--quick", "--seed", "1")
        results = {world: in_world(robot, world, python, folder) for world in WORLDS}
        print(table(robot, design, results))


if __name__ == "__main__":
    main()
