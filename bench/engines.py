"""The default study in both engines, in turn: seconds of its stages, and the same answer.

One process; the stages that simulate are `simulate`, `validate` (its unseen motion) and `control`.
The first study compiles and does not count. Ratios are those of the medians over the rounds.

Run as ``python bench/engines.py [ROBOT] [--rounds 2] [--quick]``.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from robotid_sim.engine.engines import ENGINES
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.study import run_study

STAGES = ("simulate", "validate", "control")


def studied(robot: str, engine: str, *, quick: bool) -> StudyResult:
    """Return the result of a study whose plant is in an engine."""
    config = load_config(None, {"experiment": {"engine": engine}})
    config = config.quick() if quick else config
    setup = build_setup(build_robot(robot, config.robot), config)
    with tempfile.TemporaryDirectory() as folder:
        return run_study(setup, Path(folder)).result


def main() -> None:
    """Run the studies, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", nargs="?", default="irb140")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for engine in ENGINES:
        studied("twolink", engine, quick=True)
    results: dict[str, list[StudyResult]] = {engine: [] for engine in ENGINES}
    for _ in range(options.rounds):
        for engine, found in results.items():
            found.append(studied(options.robot, engine, quick=options.quick))
    seconds = {
        engine: {stage: float(np.median([r.timings[stage] for r in found])) for stage in STAGES}
        for engine, found in results.items()
    }
    print(f"{options.robot}, median of {options.rounds}")
    print(f"{'engine':9}" + "".join(f"{stage:>10}" for stage in STAGES) + "  verdict  model error")
    for engine, found in results.items():
        last = found[-1]
        error = next(
            c.value for c in last.verdict.checks if c.name == "model_predicts_validation_motion"
        )
        times = "".join(f"{seconds[engine][stage]:8.2f} s" for stage in STAGES)
        verdict = "PASSED" if last.verdict.passed else "FAILED"
        print(f"{engine:9}{times}  {verdict}  {error:.6%}")
    first, *others = ENGINES
    for engine in others:
        ratios = "".join(f"{seconds[engine][s] / seconds[first][s]:8.2f} x" for s in STAGES)
        print(f"{engine:9}{ratios}  of {first}")


if __name__ == "__main__":
    main()
