"""What a swarm costs by its size, measured so that other work on the machine does little harm."""

import time
from typing import Any

from robotid_sim.papers.irb120 import model, trials


def swarm_times(*, seed: int, rounds: int, iterations: int) -> dict[str, Any]:
    """Return CPU times [s] of MuPSO by the number of particles, 50 and 70 in turn, by round."""
    seconds: dict[str, list[float]] = {"50": [], "70": []}
    for run in range(rounds):
        for population, of_size in seconds.items():
            began = time.process_time()
            trials.swarm(
                seed=seed,
                run=run,
                method="mupso",
                population=int(population),
                iterations=iterations,
                reading=model.MAIN_READING,
                handling="scaling",
            )
            of_size.append(time.process_time() - began)
    return {"seconds": seconds}
