"""Exported Python and C beside the package's own dynamics: microseconds a call, largest difference.

    python bench/exported_code.py [--robots irb140 twolink] [--seconds 0.5]

One sample a call, as a control loop asks for it. C is compiled with `cc -O2` and called from a loop
in C, so that no call from Python counts; without a compiler its row is missing.
"""

import argparse
import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from robotid_sim.dynamics.code_files import c_prefix, write_c, write_python
from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

LOOP = """
void repeat(long count, const double *q, const double *dq, const double *ddq, double *out)
{{
    volatile double angle = q[{last}];
    double at[{n}];
    for (int i = 0; i < {n}; ++i) at[i] = q[i];
    for (long k = 0; k < count; ++k) {{
        at[{last}] = angle;
        {prefix}_{name}(at, {more}(void *)out);
    }}
    (void)dq; (void)ddq;
}}
"""

ROUTINES = ("inverse_dynamics", "mass_matrix")


def time_of(call: Callable[[], object], seconds: float) -> float:
    """Return the time of a call [us], the least of five runs."""
    call()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds / 10.0:
        call()
        count += 1
    runs = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(count):
            call()
        runs.append((time.perf_counter() - began) / count)
    return 1e6 * min(runs)


def in_python(robot: Robot, folder: Path) -> dict[str, Callable[..., np.ndarray]]:
    """Return the exported functions of Python."""
    write_python(robot, folder / "exported.py")
    spec = importlib.util.spec_from_file_location("exported", folder / "exported.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, name) for name in ROUTINES}


def in_c(robot: Robot, folder: Path, compiler: str) -> dict[str, Callable[..., np.ndarray]]:
    """Return functions that call an exported function of C `count` times and return its result."""
    functions = {}
    for name in ROUTINES:
        source, library = folder / f"{name}.c", folder / f"{name}.so"
        write_c(robot, source)
        more, n = ("dq, ddq, " if name == "inverse_dynamics" else ""), robot.dof
        words = {"n": n, "last": n - 1, "prefix": c_prefix(robot), "name": name, "more": more}
        source.write_text(source.read_text() + LOOP.format(**words))
        subprocess.run(
            [compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True
        )
        vector = np.ctypeslib.ndpointer(float, flags="C_CONTIGUOUS")
        repeat = ctypes.CDLL(str(library)).repeat
        repeat.argtypes, repeat.restype = [ctypes.c_long, *[vector] * 4], None
        functions[name] = repeat
    return functions


def compare(name: str, seconds: float) -> None:
    """Print the times of one robot."""
    robot, rng = load_robot(name), np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, (3, robot.dof))
    ours = {
        "inverse_dynamics": lambda: joint_torque(robot, q, dq, ddq),
        "mass_matrix": lambda: mass_matrix(robot, q),
    }
    arguments = {"inverse_dynamics": (q, dq, ddq), "mass_matrix": (q,)}
    compiler = shutil.which("cc")
    with tempfile.TemporaryDirectory() as folder:
        exported = in_python(robot, Path(folder))
        compiled = in_c(robot, Path(folder), compiler) if compiler else {}
    for routine in ROUTINES:
        want = ours[routine]()
        row = {"package": (want, time_of(ours[routine], seconds))}
        given, call = arguments[routine], exported[routine]
        row["Python"] = (call(*given), time_of(lambda c=call, g=given: c(*g), seconds))
        if compiled:
            result, count = np.empty(want.shape), 100_000
            repeat = compiled[routine]
            least = min(_timed(repeat, count, q, dq, ddq, result) for _ in range(5))
            row["C"] = (result, 1e6 * least / count)
        for language, (value, duration) in row.items():
            error = np.abs(value - want).max() / np.abs(want).max()
            print(f"{name:10} {routine:18} {language:8} {duration:9.3f} us   error {error:.1e}")


def _timed(repeat: Callable[..., None], count: int, *arrays: np.ndarray) -> float:
    began = time.perf_counter()
    repeat(count, *arrays)
    return time.perf_counter() - began


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=["irb140", "twolink"])
    parser.add_argument("--seconds", type=float, default=0.5, help="time of a measurement [s]")
    options = parser.parse_args()
    for name in options.robots:
        compare(name, options.seconds)


if __name__ == "__main__":
    main()
