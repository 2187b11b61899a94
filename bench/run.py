"""Time of a whole study from the command line: on a fresh machine, on a used one, and quick.

CPU seconds are those of the command and its processes, user and system time together. Ratios are to
a fixed workload of NumPy (`startup.WORKLOAD`), timed before and after, so that machines and days
compare. A fresh machine is one whose compiled functions are in no cache.

Run as ``python bench/run.py [--robot irb140] [--fresh]``; the fresh run compiles for minutes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from startup import WORKLOAD, cpu_seconds


def timed(words: list[str], **environment: str) -> tuple[float, float, int]:
    """Return CPU and wall time [s] of a command, and its exit code."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "robotid_sim", *words],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, wall, done.returncode


def main() -> int:
    """Print the table and return the exit code: 1 if a study fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="irb140")
    parser.add_argument("--fresh", action="store_true", help="also without compiled functions")
    arguments = parser.parse_args()
    workload = min(cpu_seconds(["-c", WORKLOAD]) for _ in range(3))
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as scratch:
        whole, quick = Path(scratch) / "whole", Path(scratch) / "quick"
        study = ["run", arguments.robot, "--out"]
        cases = [("used machine", [*study, str(whole)], {})]
        cases += [("used machine, --quick", [*study, str(quick), "--quick"], {})]
        cases += [("--dry-run", [*study, str(Path(scratch) / "dry"), "--dry-run"], {})]
        if arguments.fresh:
            cache = {"NUMBA_CACHE_DIR": str(Path(scratch) / "cache")}
            cases.append(("fresh machine", [*study, str(Path(scratch) / "fresh")], cache))
        timed(cases[1][1])  # compiles what is not in the cache
        for title, words, environment in cases:
            cpu, wall, code = timed(words, **environment)
            rows.append((title, cpu, wall, cpu / workload))
            failed |= code != 0
        stages = json.loads((whole / "result.json").read_text())["timings"]
    workload = min(workload, *(cpu_seconds(["-c", WORKLOAD]) for _ in range(3)))
    print(f"{'study of ' + arguments.robot:26} {'CPU s':>7} {'wall s':>7} {'ratio':>7}")
    for title, cpu, wall, ratio in rows:
        print(f"{title:26} {cpu:7.1f} {wall:7.1f} {ratio:7.1f}")
    print(f"{'the workload':26} {workload:7.2f}")
    print("wall seconds by stage, used machine:")
    for name, seconds in stages.items():
        print(f"  {name:24} {seconds:7.1f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
