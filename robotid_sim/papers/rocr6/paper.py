"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6.

All trials, what is computed from them for the claims, and the page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.chart import Chart, Curve, Style
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model.catalog import published_plant
from robotid_sim.optim.minimize import setting
from robotid_sim.optim.stability import Moving, stability
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import convergence_curves, drawing, joint_chart, plotted
from robotid_sim.papers.paper import Lab, PlannedTrial, TrialPaper
from robotid_sim.papers.rocr6 import model
from robotid_sim.papers.rocr6.cell import METHODS as ESTIMATORS
from robotid_sim.papers.rocr6.cell import RECURSION, TORQUE_NOISE, TRACKED
from robotid_sim.papers.rocr6.searches import CLAMP
from robotid_sim.papers.statistics import interval_of_mean
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable
from robotid_sim.section import number
from robotid_sim.table import Table

FUNCTIONS = "robotid_sim.papers.rocr6"
ITERATIONS = (200, 30)
"""Of the design for six joints."""
CONTROLLED = ("LS-PSO", "WLS-PSO", "WLS-RWPSO", "WLS")
"""Estimates that are tried."""
THREE, SIX = "joints 1-3", "six joints"
"""Studies: the searches with the truth of Table 2, and the experiment in the engine."""
DRAWS = 100_000
"""Draws of the inertia weight of eq. (15)."""


def run_all(lab: Lab) -> TrialTable:
    """Run what is not finished of all trials, and compute what needs none."""
    # The bands of joints 1 to 3 were set with the best of 60 random series, not improved.
    function = f"{FUNCTIONS}.model:design"
    planned = [
        lab.cell(("design", str(joints), ""), function, joints=joints, iterations=most)
        for joints, most in ((3, 0), (6, lab.choose(*ITERATIONS)))
    ]
    designs = lab.tabulate("design", planned)
    paths = {
        joints: {name: design[name] for name in ("excitation", "verification")}
        for joints, (design,) in ((k, designs.runs("design", "", k)) for k in ("3", "6"))
    }
    runs = {name: lab.runs_of(*sizes) for name, sizes in model.PRINTED["effort"].items()}

    def cells(name: str, function: str, path: str, **options: Any) -> list[PlannedTrial]:
        function = f"{FUNCTIONS}.{function}"
        return lab.cells((name, "", ""), function, runs[name], **paths[path], **options)

    searched = [*cells("cell", "cell:experiment", "6"), *cells(THREE, "searches:search_run", "3")]
    table = designs | lab.tabulate("search and experiment", searched)
    # These make all runs by themselves.
    comparisons = [
        lab.cell((name, "", ""), f"{FUNCTIONS}.{function}", runs=runs[name], **paths[path])
        for name, function, path in (
            ("draws", "searches:readings", "3"),
            ("filter", "cell:filtered_estimates", "6"),
        )
    ]
    table = table | lab.tabulate("weights and filters", comparisons)
    weighted = cells("weighted", "searches:search_run", "3", searches="weighted_searches")
    table = table | lab.tabulate("weighted cost", weighted)
    tried = _controllers(lab, table, min(runs["control"], runs["cell"]), paths["6"])
    return with_computed(table | lab.tabulate("track with the models", tried))


def _controllers(
    lab: Lab, table: TrialTable, runs: int, paths: Mapping[str, Any]
) -> list[PlannedTrial]:
    """Plan the tracking with the true and the nominal model, and with those of several runs."""
    tried: list[dict[str, Sequence[float]]] = [{"true": [], "nominal": []}]
    estimates = {m: table.runs(SIX, m) for m in CONTROLLED}
    tried += [{m: rows[k]["parameters"] for m, rows in estimates.items()} for k in range(runs)]
    options = {"verification": paths["verification"]}
    cells = []
    for k, of_run in enumerate(tried):
        given = {"estimates": of_run, "run": max(k - 1, 0), **options}
        trial = lab.trial(f"control-{k}", f"{FUNCTIONS}.cell:track", **given)
        cells.append(PlannedTrial(("tracking", "", ""), trial))
    return cells


def with_computed(table: TrialTable) -> TrialTable:
    """Compute what needs no run, and what is more than a statistic of runs."""
    ranks = base_ranks()
    rows: dict[TrialKey, list[ResultRow]] = {
        ("ranks", "", name): [{"rank": rank}] for name, rank in ranks.items()
    }
    rows["noise", "", "noise of the torque, given"] = [{"measured_rms": TORQUE_NOISE}]
    for k, (alpha, a, d, offset) in enumerate(model.PRINTED["table_1"]):
        values = {"alpha": alpha, "a": f"{a:g}", "d": f"{d:g}", "offset": offset}
        rows["table 1", "", str(k + 1)] = [values]
    basis = model.FirstThree.from_catalog().basis
    rows["table 2", "", ""] = [
        {
            "name": list(model.TABLE_2),
            "sum": list(basis.groupings),
            "unit": list(basis.units),
            "published": [f"{value:g}" for value in model.TABLE_2.values()],
        }
    ]
    unseen = table.runs("unseen")[0]
    errors = {  # of the Kalman filter, about reversals and where a joint moves
        where: table.values(f"filters {where}", "Kalman", "rms").mean(axis=0)
        for where in ("reversals", "smooth")
    }
    rows[SIX, "", "WLS-RWPSO"] = [
        {**run, "share": 100.0 * float(np.divide(run["measured_rms"], unseen["torque"]).mean())}
        for run in table.runs(SIX, "WLS-RWPSO")
    ]
    printed = {m: {"measured_rms": values} for m, values in model.PRINTED["table_3"].items()}
    return (
        table
        | TrialTable(rows)
        | TrialTable.printed({"table_3": printed})
        | TrialTable.computed(
            **{f"rank {name}": rank for name, rank in ranks.items()},
            minor=second_moment_determinant(),
            limit=CLAMP["velocity_limit"],
            best_start=_best_start(table, ""),
            best_start_weighted=_best_start(table, ", weighted"),
            nominal_share=100.0 * float(np.divide(unseen["nominal"], unseen["torque"]).mean()),
            lag=float((errors["reversals"] / errors["smooth"]).max()),
            **_recursion(table),
            **_norms(),
            **_growth(),
            **_gains(table, "LS-PSO"),
            **_gains(table, "WLS-PSO"),
        )
    )


def base_ranks() -> dict[str, int]:
    """Compute the numbers of base parameters that the paper states or needs."""
    arms = {
        "joints 1-3": model.FirstThree.from_catalog().robot,
        "joints 1-6": published_plant(model.ROBOT),
    }
    return {
        f"{name}{label}": base_parameters(arm, friction).rank
        for name, arm in arms.items()
        for label, friction in (("", ()), (" with friction", model.FRICTION))
    }


def second_moment_determinant() -> float:
    """Compute a minor of the second moments of link 3 that no body can have below zero.

    By Table 2 alone, whatever hangs on the link: the second moments are
    Sxx = (Izz3 - Ixx3) / 2, Syy = (Izz3 + Ixx3) / 2, with the printed Ixx3 - Iyy3 as Ixx3, and
    Sxy = -Ixy3; their matrix must be positive semidefinite [kg^2 m^4].
    """
    zz, xx, xy = (model.TABLE_2[name] for name in ("Izz3", "Ixx3", "Ixy3"))
    return 0.5 * (zz - xx) * 0.5 * (zz + xx) - xy**2


def _best_start(table: TrialTable, criterion: str) -> str:
    """Name the swarm that gains most over least squares if it knows that."""
    gains = {
        swarm: table.values(THREE, f"WLS-{swarm} that knows WLS{criterion}", "gain_over_start")
        for swarm in ("PSO", "RWPSO")
    }
    return max(gains, key=lambda swarm: float(gains[swarm].max()))


def _recursion(table: TrialTable) -> ResultRow:
    """Compare the recursion of the filter with its steady gain [%]."""

    def total(name: str) -> Float2D:
        return np.asarray(np.sqrt((table.values("filtered", name, "errors") ** 2).mean(axis=1)))

    recursive = total(RECURSION)
    change = 100.0 * np.abs(recursive / total("Kalman")[: recursive.size] - 1.0).max()
    samples = int(np.max(table.runs("unseen")[0]["transients"]))
    return {"recursion": float(change), "transient": samples}


def _norms() -> ResultRow:
    """Compute the share of draws in which the matrix C of eq. (17) has a norm below one [%].

    As printed, and with the row that the update has; pulls of the paper, weights of eq. (15).
    """
    rng = np.random.default_rng(0)
    theta = 1.5 * rng.random(DRAWS) + 3.0 * rng.random(DRAWS)
    w = 0.5 + 0.4 * rng.random(DRAWS) + 0.2 * rng.standard_normal(DRAWS)
    printed = np.stack([np.stack([w, -theta], -1), np.stack([w, -theta], -1)], -2)
    right = np.stack([np.stack([w, -theta], -1), np.stack([w, 1.0 - theta], -1)], -2)
    shares = [
        100.0 * float((np.linalg.norm(C, 2, axis=(1, 2)) < 1.0).mean()) for C in (printed, right)
    ]
    return {"norm": shares[0], "corrected_norm": shares[1]}


def _growth() -> ResultRow:
    """Compute the growth of the spread of a particle a step, its mean's, and that of the PSO."""
    swarms = [setting(f"tang-2023-{name}").build() for name in ("rwpso", "pso")]
    ours, pso = (stability(swarm) for swarm in swarms if isinstance(swarm, Moving))
    values = {"growth": ours.order2, "mean_growth": ours.order1, "pso_growth": pso.order2}
    return {name: float(value.max()) for name, value in values.items()}


def _gains(table: TrialTable, method: str) -> ResultRow:
    """Divide the gains in RMS by joint by those of Table 3, and list them."""

    def gains(other: str) -> Float2D:
        ours, theirs = (table.values(SIX, m, "measured_rms") for m in ("WLS-RWPSO", other))
        return np.asarray(100.0 * (1.0 - ours / theirs))

    of_method, printed = (
        gains(method),
        np.array([model.GAINS[j][method] for j in sorted(model.GAINS)]),
    )
    ends = [interval_of_mean(of_joint) for of_joint in of_method.T]
    positive = sum(of is not None and of[0] > 0.0 for of in ends)
    values = {
        "share": float(np.median(of_method.mean(axis=0) / printed)),
        "order": f"the order is significant on {positive} joints",
        "gains": ", ".join(f"{gain:.2g}" for gain in of_method.mean(axis=0)),
        "printed": ", ".join(f"{gain:.2g}" for gain in printed),
        "wls": ", ".join(f"{gain:.2g}" for gain in gains("WLS").mean(axis=0)),
    }
    return {f"{name} {method}": value for name, value in values.items()}


COLORS = {"LS-PSO": "joint-2", "WLS-PSO": "joint-1", "WLS-RWPSO": "joint-0"}
CURVES: dict[str, tuple[str, Style]] = {
    "WLS-PSO": ("joint-1", "solid"),
    "WLS-RWPSO": ("joint-0", "solid"),
    "WLS-RWPSO, eq. (15) as printed": ("joint-3", "dashed"),
    "WLS-PSO, w = 0.7, c = 1.5": ("joint-2", "dashed"),
    "WLS-PSO without clamp and walls": ("muted", "dotted"),
}
FILTERED = (
    ("raw", "joint-5", 0.6, "measured"),
    ("five-point", "filter-2", 0.8, "five-point smoothing"),
    ("Kalman", "warning", 1.4, "Kalman filter"),
)
"""Filtered torques: key, color, width, label; blue, green and red as in the paper."""
TRACKING: tuple[tuple[str, str, Style], ...] = (
    ("nominal", "muted", "solid"),
    ("WLS-PSO", "joint-1", "solid"),
    ("WLS-RWPSO", "joint-0", "solid"),
    ("WLS", "true", "dashed"),
)
"""Models whose tracking errors are drawn."""
PREDICTED: tuple[tuple[str, Style, float], ...] = (
    ("LS-PSO", "solid", 1.8),
    ("WLS-PSO", "dashed", 1.4),
    ("WLS-RWPSO", "dotted", 1.2),
)
"""Predicted torques, which lie on each other: style and width."""
LEAST = 1e-4
"""Tracking errors below are drawn here [mrad]."""


class Rocr6WlsRwpso(TrialPaper):
    """Weighted least squares and a swarm with random inertia around it, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"

    def run(self, lab: Lab) -> TrialTable:
        """Run what is not finished of all trials; see `Paper`."""
        return run_all(lab)

    def charts(self, table: TrialTable) -> Iterator[Chart]:
        """Draw Figures 2, 4, 5, 6 and 8 of the paper, and the errors behind them."""
        yield _trajectories(table)
        curves = {what: _series(table, what) for what in ("filters", "excitation", "verification")}
        yield _filtered(curves["filters"], "figure-2")
        yield _filtered(curves["filters"], "filter-errors")
        least = float(np.median(table.values(THREE, "WLS", "fitness")))
        generations = np.arange(1.0, 1.0 + table.values(THREE, "WLS-PSO", "curve").shape[1])
        lines = list(convergence_curves(table, THREE, CURVES, x=generations, width=1.5))
        ranges = {"whole range": (0.25, 0.8), "near the optimum": (0.307, 0.325)}
        axes, marked = ("generation [-]", "fitness [N m]"), (least,)
        panels = (
            plotted(lines, *axes, title=title, levels=marked, y_range=ends)
            for title, ends in ranges.items()
        )
        yield drawing("figure-4", *panels, columns=2, height=2.4)
        for what, place in (("excitation", 6), ("verification", 8)):
            marks = _torques(curves[what])
            yield joint_chart(f"figure-{place}", marks, "torque [N m]", 1.5, letters="abcdef")
        unseen, colors = curves["verification"], {**COLORS, "WLS": "true"}

        def residuals(j: int) -> list[Curve]:
            return [
                Curve(unseen["t"], unseen["measured"][j] - unseen[m][j], m, color, width=0.9)
                for m, color in colors.items()
            ]

        yield joint_chart("residuals", residuals, "residual [N m]", 1.4)
        yield _tracking(table)

    def tables(self, table: TrialTable) -> Iterator[Table]:
        """List the parameters of a run, and every run with full precision."""
        (first,) = table.runs("first run")
        listed = (table.runs(SIX, m)[0]["parameters"] for m in ("WLS", "consistent", "WLS-RWPSO"))
        cells = zip(first["names"], first["units"], first["true"], *listed, strict=True)
        rows = [(name, unit, *(number(value, 5) for value in row)) for name, unit, *row in cells]
        yield Table((), tuple(rows), name="six-joints")
        rows = []
        for method in ("LS", "WLS", *model.PRINTED["searches"]):
            for k, run in enumerate(table.runs(THREE, method)):
                errors = map(repr, run["unseen_rms"])
                rows.append((THREE, method, str(k), repr(run["fitness"]), *errors, "", "", ""))
        for method in ESTIMATORS:
            for k, run in enumerate(table.runs(SIX, method)):
                rows.append((SIX, method, str(k), "", *map(repr, run["measured_rms"])))
        yield Table((), tuple(rows), name="runs")


def _filtered(curves: dict[str, np.ndarray], name: str) -> Chart:
    """Draw Figure 2, the torque as measured and after both filters; or their errors."""
    errors = name == "filter-errors"

    def lines(j: int) -> list[Curve]:
        less = curves["true"][j] if errors else 0.0
        return [
            Curve(curves["t"], curves[key][j] - less, label, color, width=width)
            for key, color, width, label in FILTERED
        ]

    if errors:
        return joint_chart(name, lines, "error [N m]", 1.3)
    return joint_chart(name, lines, "torque [N m]", 1.5, letters="abcdef")


def _trajectories(table: TrialTable) -> Chart:
    """Draw Figure 5: the excitation of all joints."""
    t = np.linspace(0.0, model.OPTIONS.period, 400)
    (design,) = table.runs("design", "", "6")
    q = model.trajectory_of(design["excitation"])(t).q
    panels = (
        plotted(
            (Curve(t, q[:, j], f"joint {j + 1}", joint_role(j)) for j in joints),
            "time [s]",
            "position [rad]",
            title=title,
        )
        for joints, title in ((range(3), "(a) joints 1 to 3"), (range(3, 6), "(b) joints 4 to 6"))
    )
    return drawing("figure-5", *panels, columns=2, height=2.0)


def _torques(curves: dict[str, np.ndarray]) -> Callable[[int], list[Curve]]:
    """Draw Figure 6 or 8 of a joint: measured and predicted torques."""

    def lines(j: int) -> list[Curve]:
        measured = Curve(curves["t"], curves["measured"][j], "measured", "raw", width=3.5)
        predicted = (
            Curve(curves["t"], curves[m][j], m, COLORS[m], style, width=width)
            for m, style, width in PREDICTED
        )
        return [measured, *predicted]

    return lines


def _tracking(table: TrialTable) -> Chart:
    """Draw the tracking errors with the nominal and identified models in the controller."""
    curves = {m: np.array(table.runs("tracking", m)[0]["curve"]) for m, _, _ in TRACKING}
    t = np.linspace(0.0, TRACKED, curves["WLS"].shape[1])

    def lines(j: int) -> list[Curve]:
        return [
            Curve(t, np.maximum(np.abs(curves[m][j]), LEAST), m, color, style, width=1.2)
            for m, color, style in TRACKING
        ]

    return joint_chart("tracking", lines, "|error| [mrad]", 1.5, y_scale="log")


def _series(table: TrialTable, what: str) -> dict[str, np.ndarray]:
    """Read the time series of the first run, joints by rows, and their times `t` [s]."""
    curves = table.runs("first run")[0]["figures"][what]
    series = {key: np.array(rows) for key, rows in curves.items()}
    if "t" not in series:
        samples = series["measured"].shape[1]
        series["t"] = np.linspace(0.0, model.OPTIONS.period, samples, endpoint=False)
    return series
