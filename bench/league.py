"""The league of identification: preprocessors and estimators on equal data, over worlds and robots.

Every robot runs its default excitation in the engine once for every friction law of the plant, of
which the model knows Coulomb and viscous friction; the sensors of every preset measure each run
with several seeds; every preprocessor makes rows of every log, by default with terms of joints
chosen by evidence, too; what the model lacks is looked for and allowed for, and every estimator
fits the same rows. Those that simulate take the samples, beside the default preprocessor.

Errors are over the Cramér-Rao deviation of white torque noise of 1 % and exact motion, RMS over
seeds, median and worst parameter of all robots; coverage is the share of 95 % intervals that hold
the true value, where an estimator states any; seconds are those of preprocessing, finding what
lacks, and the fit. A preprocessor that refuses a log, or an estimator that fails, is counted.

Run as ``python bench/league.py [--seeds 3] [--workers N] [--keep FOLDER]``; with a folder it
goes on where it was ended. Writes ``identification-league.html`` and prints its tables.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from interval_coverage import DEFAULT, NOISE, engine_run, robot_of
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D, rms
from robotid_sim.campaign.trials import Trial, run_trials
from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.joint_terms import select_kinds
from robotid_sim.pipeline.build import Setup, build_sensors, build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.report.page import Page, write_page
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table
from robotid_sim.validation.prediction import exact_problem

ROBOTS = ("irb140", "iiwa", "ur10")

LAWS: Mapping[str, Mapping[str, Any]] = {
    "as the model": {},
    "stribeck": {"law": "stribeck"},
    "asymmetric": {"law": "asymmetric"},
    "load-dependent": {"law": "load-dependent"},
}
"""Friction of the plant."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "1e-3 rad": {"sensors": {**DEFAULT, "encoder-noise": {"revolute": 1e-3}}},
    "lab": {"preset": "lab"},
    "industrial": {"preset": "industrial", "estimation": {"drive_gain_std": 0.02}},
    "harsh": {"preset": "harsh", "estimation": {"drive_gain_std": 0.05}},
}
"""Sensors; the size of gain errors, which no log shows, is stated where there are any."""


class Way(NamedTuple):
    """How a log becomes rows."""

    preprocessor: str
    terms: tuple[str, ...] = ()
    """Kinds of terms of joints that may be chosen."""


DEFAULT_WAY = "adaptive"
WAYS: Mapping[str, Way] = {
    DEFAULT_WAY: Way("adaptive"),
    "adaptive with terms": Way("adaptive", select_kinds(["all"])),
    **{name: Way(name) for name in ("rts", "fourier-fit", "butterworth", "savitzky-golay")},
}
ESTIMATION = (
    *("wls", "ols", "consistent", "robust", "recursive-least-squares"),
    *("instrumental-variables", "total-least-squares"),
)
SIMULATING = ("output-error", "input-error", "extended-kalman")
"""Estimators of samples instead of rows: beside the default way only."""

PAGE = Path("identification-league.html")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one preprocessor and estimator made of one log."""

    robot: str
    law: str
    preset: str
    preprocessor: str
    estimator: str
    seconds: float
    error: tuple[float, ...] | None = None
    """Error of every parameter over the bound; None if there is no estimate."""
    covered: tuple[bool, ...] | None = None
    """Whether its interval holds; None if none is stated."""


def bound(setup: Setup, clean: Log) -> Float1D:
    """Return the Cramér-Rao deviations of the base parameters."""
    noise = NOISE * rms(clean.tau_meas[clean.t >= 0.0])
    exact = exact_problem(clean, setup.nominal, setup.basis, 0.0)
    return np.asarray(np.sqrt(np.diag(cramer_rao(exact, noise))))


def estimators_of(way: str) -> tuple[str, ...]:
    """Return the estimators that are tried on the rows of a way."""
    return (*ESTIMATION, *(SIMULATING if way == DEFAULT_WAY else ()))


def entries(setup: Setup, log: Log, std: Float1D, where: tuple[str, str, str]) -> list[Entry]:
    """Return what all ways to rows and all estimators make of a log."""
    true, result = setup.basis.project(setup.cell.plant.parameters()), []
    for name, way in WAYS.items():
        names = estimators_of(name)
        plan = replace(
            setup.fit,
            preprocessor=PREPROCESSORS.build(way.preprocessor),
            estimators={method: ESTIMATORS.build(method) for method in names},
            chosen="wls",
            joint_terms=way.terms,
            terms_by_need=False,
        )
        began = time.perf_counter()
        try:
            fit = fit_logs(log, setup.nominal, setup.basis, plan, np.random.default_rng(0))
        except RobotIdError:
            result += [Entry(*where, name, method, 0.0) for method in names]
            continue
        shared = time.perf_counter() - began - sum(e.seconds for e in fit.estimates)
        for estimate in fit.estimates:
            seconds = shared + estimate.seconds
            if not estimate.success:
                result.append(Entry(*where, name, estimate.estimator, seconds))
                continue
            error, covered = tuple(((estimate.beta - true) / std).tolist()), None
            if estimate.cov is not None:
                intervals = confidence_intervals(fit.problem, estimate)
                covered = tuple(intervals.covers(true).tolist())
            result.append(Entry(*where, name, estimate.estimator, seconds, error, covered))
    return result


def of_plant(robot: str, law: str, seeds: int) -> dict[str, list[dict[str, Any]]]:
    """Return all entries of a robot under a friction law, as JSON holds them."""
    result: list[Entry] = []
    with threadpool_limits(1):
        changes = {"control": {"enabled": False}, "experiment": {"friction": dict(LAWS[law])}}
        plant = robot_of(robot)
        setup = build_setup(plant, StudyConfig.model_validate(changes))
        clean = engine_run(setup)
        std = bound(setup, clean)
        for preset, options in PRESETS.items():
            config = StudyConfig.model_validate({**changes, **options})
            here, sensors = build_setup(plant, config), build_sensors(config)
            for seed in range(seeds):
                log = measure(clean, sensors, np.random.default_rng(1000 + seed))
                result += entries(here, log, std, (robot, law, preset))
    return {"entries": [asdict(entry) for entry in result]}


def all_entries(seeds: int, folder: Path, workers: int) -> list[Entry]:
    """Return the entries of all robots and laws; what the folder holds is read."""
    function = f"league:{of_plant.__name__}"
    trials = [
        Trial(f"{robot}-{k}", function, {"robot": robot, "law": law, "seeds": seeds})
        for robot, (k, law) in product(ROBOTS, enumerate(LAWS))
    ]
    read = TypeAdapter(list[Entry]).validate_python
    parts = run_trials(trials, folder, workers=workers, progress=tell)
    return [entry for part in parts for entry in read(part["entries"])]


def tell(share: float) -> None:
    """Print the share that is done."""
    print(f"{share:.0%}", end=" ", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: entries of one preprocessor and estimator in one world."""

    median: float
    worst: float
    coverage: float | None
    seconds: float
    failed: int

    @classmethod
    def of(cls, rows: Sequence[Entry]) -> "Row":
        """Return the row of all robots and seeds."""
        errors = []
        for robot in ROBOTS:
            of_robot = [e.error for e in rows if e.robot == robot and e.error is not None]
            errors += list(rms(np.array(of_robot))) if of_robot else []
        stated = [e.covered for e in rows if e.covered is not None]
        return cls(
            float(np.median(errors)) if errors else np.nan,
            float(np.max(errors)) if errors else np.nan,
            float(np.concatenate(stated).mean()) if stated else None,
            float(np.mean([e.seconds for e in rows])),
            sum(e.error is None for e in rows),
        )

    def summary(self) -> str:
        """Return median, worst and coverage in one text."""
        coverage = "" if self.coverage is None else f", {percent(self.coverage, 2)}"
        return f"{number(self.median, 2)} ({number(self.worst, 2)}){coverage}"

    @property
    def texts(self) -> tuple[str, ...]:
        """Median, worst, coverage, seconds and failures as a table shows them."""
        coverage = "-" if self.coverage is None else percent(self.coverage, 3)
        numbers = (number(self.median, 3), number(self.worst, 3))
        return (*numbers, coverage, number(self.seconds, 2), str(self.failed))


def rows_of(found: Sequence[Entry]) -> dict[tuple[str, str, str, str], Row]:
    """Return the rows by law, preset, preprocessor and estimator."""
    groups: dict[tuple[str, str, str, str], list[Entry]] = {
        (*world, way, method): []
        for *world, way in product(LAWS, PRESETS, WAYS)
        for method in estimators_of(way)
    }
    for e in found:
        groups[e.law, e.preset, e.preprocessor, e.estimator].append(e)
    return {key: Row.of(group) for key, group in groups.items()}


def overview(
    rows: Mapping[tuple[str, str, str, str], Row],
    columns: Mapping[str, tuple[str, str]],
    text: Callable[[Row], str],
    title: str = "",
) -> Table:
    """Return every world, a column for some pairs of way and estimator."""
    worlds = list(product(LAWS, PRESETS))
    cells = {"friction": [law for law, _ in worlds], "sensors": [preset for _, preset in worlds]}
    for name, pair in columns.items():
        cells[name] = [text(rows[(*world, *pair)]) for world in worlds]
    return Table.from_columns(cells, title, text_columns=2)


def overviews(
    rows: Mapping[tuple[str, str, str, str], Row], columns: Mapping[str, tuple[str, str]]
) -> tuple[Table, Table]:
    """Return the errors and the coverage of every world, each in a table that a page can hold."""
    return (
        overview(rows, columns, lambda row: row.texts[0], "Error over the bound"),
        overview(rows, columns, lambda row: row.texts[2], "Coverage of 95 % intervals"),
    )


BY_WAY = {way: (way, "wls") for way in WAYS}
BY_ESTIMATOR = {method: (DEFAULT_WAY, method) for method in estimators_of(DEFAULT_WAY)}


def finding(rows: Mapping[tuple[str, str, str, str], Row]) -> str:
    """Return in how many worlds which preprocessor has the smallest median error."""
    worlds = list(product(LAWS, PRESETS))
    best = [min(WAYS, key=lambda name: rows[(*w, name, "wls")].median) for w in worlds]
    counts = {name: best.count(name) for name in WAYS if name in best}
    said = ", ".join(f"{name} in {n}" for name, n in sorted(counts.items(), key=lambda c: -c[1]))
    return (
        f"Smallest median error of weighted least squares, of {len(worlds)} pairs of friction law "
        f"and sensors: {said}."
    )


def page(rows: Mapping[tuple[str, str, str, str], Row], seeds: int, command: str) -> Page:
    """Return the page of the league."""
    columns = ("sensors", "preprocessor", "estimator", "error / bound", "worst", "coverage")
    columns += ("time [s]", "no estimate")
    sections = [
        Section(
            title="Weighted least squares",
            text="Error of the median parameter over the bound, which is that of white torque "
            "noise of 1 % and exact motion; presets whose torque constants are wrong by 2 or 5 % "
            "are far above it, and their intervals hold the stated size of that error. The worst "
            "parameters are in the tables by friction.",
            tables=overviews(rows, BY_WAY),
        ),
        Section(title="Rows of the default", tables=overviews(rows, BY_ESTIMATOR)),
    ]
    for law in LAWS:
        texts = [(*key[1:], *row.texts) for key, row in rows.items() if key[0] == law]
        table = Table(columns=columns, rows=tuple(texts), text_columns=3)
        sections.append(Section(title=f"Friction: {law}", tables=(table,)))
    return Page(
        title="League of identification",
        finding=finding(rows),
        facts=(
            ("robots", ", ".join(ROBOTS)),
            ("seeds", str(seeds)),
            ("ways to rows", str(len(WAYS))),
            ("estimators", str(len(ESTIMATION) + len(SIMULATING))),
        ),
        sections=(*sections, Section(title="Reproduce", code=command)),
    )


def markdown(table: Table) -> str:
    """Return a table as README shows it."""
    rule = ("---",) * len(table.columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in (table.columns, rule, *table.rows))


def main() -> None:
    """Print the tables, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder of the entries, read and added to")
    options = parser.parse_args()
    with TemporaryDirectory() as nowhere:
        folder = options.keep or Path(nowhere)
        rows = rows_of(all_entries(options.seeds, folder, options.workers))
    print(finding(rows), "\n")
    print(markdown(overview(rows, BY_WAY, Row.summary)), "\n")
    print(markdown(overview(rows, BY_ESTIMATOR, Row.summary)))
    write_page(page(rows, options.seeds, shlex.join(["python", *sys.argv])), PAGE)
    print(f"page written to {PAGE}")


if __name__ == "__main__":
    main()
