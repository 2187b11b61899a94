"""CPU seconds of commands that do no work: help, lists, completion, and wrong words.

Each is the best of several runs in a process of its own, user and system time together. Ratios are
to a fixed workload of NumPy, timed in between in the same way, so that machines and days compare.

Run as ``python bench/startup.py``; it ends with 1 if a command takes longer than the target.
"""

import os
import resource
import subprocess
import sys

REPEATS = 5
TARGET = 0.4  # [s]

KINDS = ("robots", "families", "trajectories", "criteria", "sensors", "presets", "friction-laws")
KINDS += ("plant-drives", "engines", "terms", "preprocessors", "estimators", "optimizers")
KINDS += ("controllers", "tasks", "scenarios", "papers")

COMMANDS = (
    *("", "--help", "--version", "--nope", "nope", "run --help"),
    *("list", "list nope", "list estimators wls", *(f"list {kind}" for kind in KINDS)),
    *("run irb140 --nope", "run --seed x", "identify", "run irb140 --engine foo"),
    *("run irb140 --out out --engine foo", "run nope --out out"),
)

COMPLETED = ("robotid re", "robotid run irb1", "robotid run irb140 --estimator c")

WORKLOAD = "import numpy as np; A = np.ones((300, 300)); [A @ A for _ in range(100)]"


def cpu_seconds(command: list[str], **environment: str) -> float:
    """Return the CPU time of a command [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **one_thread, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def completion(words: str) -> dict[str, str]:
    """Return the environment by which bash asks for the last word."""
    count = str(len(words.split(" ")) - 1)
    return {"_ROBOTID_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}


def main() -> int:
    """Print the table and return the exit code."""
    cases = [(f"robotid {words}", words.split(), {}) for words in COMMANDS]
    cases += [(f"{words}<TAB>", [], completion(words)) for words in COMPLETED]
    best: dict[str, float] = {}
    workload = float("inf")
    for _ in range(REPEATS):
        workload = min(workload, cpu_seconds(["-c", WORKLOAD]))
        for title, words, environment in cases:
            seconds = cpu_seconds(["-m", "robotid_sim", *words], **environment)
            best[title] = min(best.get(title, seconds), seconds)
    print(f"{'command':40} {'CPU s':>6} {'ratio':>6}")
    for title, seconds in best.items():
        print(f"{title:40} {seconds:6.2f} {seconds / workload:6.2f}")
    print(f"{'the workload':40} {workload:6.2f}")
    slow = [title for title, seconds in best.items() if seconds > TARGET]
    print(f"longer than {TARGET} s: {', '.join(slow) or 'none'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
