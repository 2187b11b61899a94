"""Campaigns: what two processes save, what a trial costs beside its work, and 10,000 of them.

``speed-up`` runs real trials of a robot by one process and by two, whose processes have done such
trials before: wall time, CPU seconds of all processes, and the ratios. ``overhead`` and ``many``
run trials that do nothing: what is left is the campaign's own, per trial, here and on a local Dask
cluster, and in 10,000 trials with the largest memory of the coordinator. ``thousand`` runs 1,000
real trials of the first three joints of rs010n, four estimators by 250 seeds.

On a busy machine the wall times are those of its share: CPU seconds compare.

Run as ``python bench/campaign.py [--part speed-up] [--workers 2]``.
"""

import argparse
import resource
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from robotid_sim.campaign import run
from robotid_sim.campaign.backend import send_work
from robotid_sim.campaign.group_work import GroupRunner, Motions, make_motions
from robotid_sim.campaign.plan import CampaignPlan, plan_of
from robotid_sim.campaign.store import DONE, TrialRow
from robotid_sim.campaign.trial_list import Group, StudyTrial
from robotid_sim.cli.output import print_table
from robotid_sim.section import number
from robotid_sim.table import Table

PARTS = ("speed-up", "overhead", "many", "thousand")

ESTIMATORS = ["ols", "wls", "instrumental-variables", "total-least-squares"]

REAL: dict[str, Any] = {
    "robot": "rs010n",
    "study": {"robot": {"tip": "link_3"}},
    "factors": {"estimator": ESTIMATORS},
}

TRIVIAL: dict[str, Any] = {"robot": "twolink", "factors": {"estimator": ["wls"]}}


@dataclass(frozen=True)
class NoWork(GroupRunner):
    """Trials that have their rows at once."""

    def __call__(self, work: tuple[Motions, Group]) -> list[TrialRow]:
        """Return rows of which nothing is known."""
        return [TrialRow(trial.key, trial.factors, trial.seed, DONE) for trial in work[1]]


def make_none(_trial: StudyTrial, **_options: object) -> Motions:
    """Make the motions of trials that need none."""
    nothing: Any = None
    return Motions(nothing, nothing, nothing, None)


@dataclass(frozen=True, slots=True)
class Cost:
    """What trials took."""

    seconds: float
    """Wall time."""
    own: float
    """CPU seconds of the coordinator."""
    children: float
    """CPU seconds of its processes, of those that run and of those that have ended."""

    @classmethod
    def now(cls) -> Self:
        """Return what this process has taken so far."""
        own = psutil.Process().cpu_times()
        children = own.children_user + own.children_system
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                children += sum(child.cpu_times()[:4])
        return cls(time.perf_counter(), own.user + own.system, children)

    def since(self, before: "Cost") -> "Cost":
        """Return what was taken since then."""
        return Cost(
            self.seconds - before.seconds, self.own - before.own, self.children - before.children
        )

    def cells(self) -> tuple[str, ...]:
        """Return the texts of a row."""
        return tuple(number(x, 3) for x in (self.seconds, self.own, self.children))


def cost_of(plan: CampaignPlan, cluster: str | None, workers: int, warm: int) -> Cost:
    """Return the cost of the trials of a plan, without those of its first `warm` seeds.

    These make the motions and start the processes.
    """
    with tempfile.TemporaryDirectory() as place, send_work(cluster, workers) as count:
        folder = Path(place) / "campaign"
        if warm:
            first = plan.model_copy(update={"seeds": plan.seed_list[:warm]})
            run.run_campaign(first, folder, workers=count)
        before = Cost.now()
        done = run.run_campaign(plan, folder, workers=count)
        if set(done.counts) != {DONE}:
            raise SystemExit(f"trials failed: {dict(done.counts)}")
        return Cost.now().since(before)


def real(seeds: int) -> CampaignPlan:
    """Return a plan of real trials, four a seed."""
    return plan_of({**REAL, "seeds": seeds})


def trivial(trials: int) -> CampaignPlan:
    """Return a plan of trials that `NoWork` does."""
    return plan_of({**TRIVIAL, "seeds": trials})


def speed_up(workers: int) -> list[tuple[str, ...]]:
    """Return rows of one process and of several."""
    rows, seconds = [], []
    for count in (1, workers):
        cost = cost_of(real(64 + 2 * workers), None, count, warm=2 * workers)
        seconds.append(cost.seconds)
        rows.append((f"256 real trials, {count} processes", *cost.cells(), ""))
    ratio = seconds[0] / seconds[1]
    return [*rows[:-1], (*rows[-1][:-1], f"{ratio:.2f} x one process")]


def overhead(workers: int) -> list[tuple[str, ...]]:
    """Return rows of trials without work, here and on a local cluster."""
    rows = []
    for name, cluster in (("processes", None), ("Dask", "local")):
        trials = 1000
        cost = cost_of(trivial(trials + 2 * workers), cluster, workers, warm=2 * workers)
        each = f"{1e3 * cost.seconds / trials:.2f} ms a trial"
        each += f", {1e3 * cost.own / trials:.2f} ms of CPU"
        rows.append((f"{trials} trials without work, {name}", *cost.cells(), each))
    return rows


def many(workers: int) -> list[tuple[str, ...]]:
    """Return the row of 10,000 trials without work."""
    cost = cost_of(trivial(10_000), None, workers, warm=0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [("10,000 trials without work", *cost.cells(), f"{memory:.0f} MB at most")]


def thousand(workers: int) -> list[tuple[str, ...]]:
    """Return the row of 1,000 real trials."""
    cost = cost_of(real(250), None, workers, warm=0)
    each = f"{1e3 * (cost.own + cost.children) / 1000:.0f} ms of CPU a trial"
    return [("1,000 real trials of three joints", *cost.cells(), each)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for part in options.part or PARTS:
        if part in ("overhead", "many"):
            run.GroupRunner, run.make_motions = NoWork, make_none
        else:
            run.GroupRunner, run.make_motions = GroupRunner, make_motions
        rows += FUNCTIONS[part](options.workers)
    columns = ("work", "wall [s]", "CPU here [s]", "CPU of processes [s]", "")
    print_table(Table(columns, tuple(rows), text_columns=1))
    return 0


FUNCTIONS = dict(zip(PARTS, (speed_up, overhead, many, thousand), strict=True))

if __name__ == "__main__":
    sys.exit(main())
