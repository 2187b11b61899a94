"""Designs that keep links apart beside free ones: success, what they cost, seconds.

One row a robot and seed: the criterion of the free design and of the one with a clearance, the
factor on the expected standard deviation of a parameter, whether what comes out keeps everything,
and CPU seconds of both. A design that ends where its random draw was did not succeed.

Run as ``python bench/clearance.py [NAME ...] [--clearance 0.005] [--seeds 5] [--full]``
with names of `any_robot.ARMS` or of the catalog.
"""

import argparse
import logging
import time
from dataclasses import dataclass, replace

import numpy as np
from any_robot import ARMS, Arm
from threadpoolctl import threadpool_limits

from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.model.catalog_files import describe_catalog
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.config_tables import DEFAULT_CLEARANCE
from robotid_sim.pipeline.excitation import design_excitation

LARGEST_LOSS = 1.15
"""Factor on the standard deviation of a parameter that the clearance may cost."""


@dataclass(frozen=True)
class Timed:
    """A design and what it took."""

    result: DesignResult
    seconds: float


def timed(setup: Setup, seed: int, plan: DesignPlan) -> Timed:
    """Return a design by a plan, and what it took."""
    began = time.process_time()
    designs = design_excitation(setup.nominal, setup.basis, plan, np.random.default_rng(seed))
    return Timed(designs.designs[0], time.process_time() - began)


def setup_of(name: str, seed: int, clearance: float, *, full: bool) -> Setup:
    """Return the study of a robot that keeps links apart."""
    arm = ARMS.get(name, Arm(name))
    settings = dict(arm.settings) | ({"tip": arm.tip} if arm.tip else {})
    space = {"design": {"constraints": {"clearance": clearance}}, "control": {"enabled": False}}
    config = load_config(None, {"seed": seed, "robot": settings, **space})
    return build_setup(arm.path, config if full else config.quick())


def main() -> None:
    """Print the table and how many designs succeeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    catalog = [row["name"] for row in describe_catalog() if row["name"] != "twolink"]
    parser.add_argument("names", nargs="*", default=catalog)
    parser.add_argument("--clearance", type=float, default=DEFAULT_CLEARANCE)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"{'robot':14}{'seed':>5}{'free':>9}{'apart':>9}{'std':>7}{'free s':>8}{'apart s':>8}")
    tried = succeeded = within = 0
    for name in options.names:
        for seed in range(options.seeds):
            setup = setup_of(name, seed, options.clearance, full=options.full)
            anywhere = replace(setup.excitation, clearance=None, floor=None)
            free, apart = timed(setup, seed, anywhere), timed(setup, seed, setup.excitation)
            lost = apart.result.value_after - free.result.value_after
            factor = float(np.exp(0.5 * lost / setup.basis.rank))
            better = apart.result.value_after < apart.result.value_before
            good = better and not apart.result.violated
            tried, succeeded = tried + 1, succeeded + good
            within += good and factor <= LARGEST_LOSS
            print(
                f"{name:14}{seed:5}{free.result.value_after:9.1f}{apart.result.value_after:9.1f}"
                f"{factor:7.2f}{free.seconds:8.1f}{apart.seconds:8.1f}"
                f"{'' if good else '  no success'}",
                flush=True,
            )
    print(f"{succeeded} of {tried} succeeded, {within} with a factor of at most {LARGEST_LOSS:g}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
