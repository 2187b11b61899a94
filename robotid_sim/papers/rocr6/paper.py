"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6.

The module has the trials of the paper, and the values of its claims.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model.catalog import make_published_plant
from robotid_sim.optim.minimize import load_setting
from robotid_sim.optim.stability import MovingOptimizer, stability
from robotid_sim.papers.paper import PlannedTrial, ReproductionSetup, TrialFunction, TrialPaper
from robotid_sim.papers.rocr6 import cell, model
from robotid_sim.papers.statistics import interval_of_mean
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable

ITERATIONS = (200, 30)
"""Iterations of the design for six joints, full and quick."""
CONTROLLED_METHODS = ("LS-PSO", "WLS-PSO", "WLS-RWPSO", "WLS")
"""Estimates that are used in the controller."""
SEARCH_STUDY, EXPERIMENT_STUDY = "joints 1-3", "six joints"
"""Studies: searches with Table 2 as the truth, and the experiment in the engine."""
DRAW_COUNT = 100_000
"""Number of samples of the inertia weight of eq. (15)."""


class Rocr6WlsRwpso(TrialPaper):
    """Weighted least squares, refined by a swarm with random inertia weight, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"

    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run the unfinished trials; see `Paper`."""
        # Expected ranges of joints 1 to 3 assume the best of 60 random series, without iterations.
        designs = lab.tabulate(
            "design",
            [
                lab.plan_trial(
                    ("design", str(joints), ""), model.design, joints=joints, iterations=count
                )
                for joints, count in ((3, 0), (6, lab.choose(*ITERATIONS)))
            ],
        )
        paths = {
            joints: {name: design[name] for name in ("excitation", "verification")}
            for joints, (design,) in ((k, designs.runs("design", "", k)) for k in ("3", "6"))
        }
        runs = {name: lab.runs_of(*sizes) for name, sizes in model.PRINTED_VALUES["effort"].items()}

        def cells(
            name: str, function: TrialFunction, path: str, **options: Any
        ) -> list[PlannedTrial]:
            return lab.plan_trials((name, "", ""), function, runs[name], **paths[path], **options)

        searched = [
            *cells("cell", cell.experiment, "6"),
            *cells(SEARCH_STUDY, model.search_run, "3"),
        ]
        table = designs | lab.tabulate("search and experiment", searched)
        # These functions perform all runs.
        comparisons = [
            lab.plan_trial((name, "", ""), function, runs=runs[name], **paths[path])
            for name, function, path in (
                ("draws", model.readings, "3"),
                ("filter", cell.estimate_by_filter, "6"),
            )
        ]
        table = table | lab.tabulate("weights and filters", comparisons)
        weighted = cells("weighted", model.search_run, "3", searches="weighted_searches")
        table = table | lab.tabulate("weighted cost", weighted)
        # The first trial has the true and nominal models, every other trial the models of one run.
        models: list[dict[str, Sequence[float]]] = [{"true": [], "nominal": []}]
        for k in range(min(runs["control"], runs["cell"])):
            models.append(
                {m: table.runs(EXPERIMENT_STUDY, m)[k]["parameters"] for m in CONTROLLED_METHODS}
            )
        path = {"verification": paths["6"]["verification"]}
        tracked = [
            lab.plan_trial(("tracking", "", ""), cell.track, run=k, estimates=estimates, **path)
            for k, estimates in enumerate(models)
        ]
        return add_computed(table | lab.tabulate("track with the models", tracked))


def add_computed(table: TrialTable) -> TrialTable:
    """Compute values without runs, and values that are not statistics of runs."""
    # Growth factors per step of spread and mean of a particle, and of the spread with the PSO.
    swarms = [load_setting(f"tang-2023-{name}").build() for name in ("rwpso", "pso")]
    ours, pso = (stability(swarm) for swarm in swarms if isinstance(swarm, MovingOptimizer))
    rows: dict[TrialKey, ResultRow] = {
        ("ranks", "", name): {"rank": rank} for name, rank in base_ranks().items()
    }
    rows["noise", "", "noise of the torque, given"] = {"measured_rms": cell.TORQUE_NOISE}
    for k, (alpha, a, d, offset) in enumerate(model.PRINTED_VALUES["table_1"]):
        values = {"alpha": alpha, "a": f"{a:g}", "d": f"{d:g}", "offset": offset}
        rows["table 1", "", str(k + 1)] = values
    basis = model.FirstThreeJoints().basis
    rows["table 2", "", ""] = {
        "name": list(model.TABLE_2),
        "sum": list(basis.groupings),
        "unit": list(basis.units),
        "published": [f"{value:g}" for value in model.TABLE_2.values()],
    }
    t = np.linspace(0.0, model.FOURIER_OPTIONS.period, 400)
    (design,) = table.runs("design", "", "6")
    position = model.trajectory_of(design["excitation"])(t).q.T
    rows["motion", "", ""] = {"t": t, "position": position}
    tracked = len(table.runs("tracking", "WLS")[0]["curve"][0])
    unseen = table.runs("unseen")[0]
    errors = {  # of the Kalman filter, near reversals and in motion
        where: table.values(f"filters {where}", "Kalman", "rms").mean(axis=0)
        for where in ("reversals", "smooth")
    }
    shared = [
        {**run, "share": 100.0 * float(np.divide(run["measured_rms"], unseen["torque"]).mean())}
        for run in table.runs(EXPERIMENT_STUDY, "WLS-RWPSO")
    ]
    rows[EXPERIMENT_STUDY, "", "WLS-RWPSO"] = {"runs": shared}
    printed = {m: {"measured_rms": values} for m, values in model.TABLE_3.items()}
    gains = {m: {"gain": values} for m, values in model.PRINTED_GAINS.items()}
    return (
        table
        | TrialTable.from_results(rows.items())
        | TrialTable.from_printed({"table_3": printed, "gains": gains})
        | TrialTable.from_computed(
            tracked=np.linspace(0.0, cell.TRACKED_TIME, tracked),
            minor=second_moment_determinant(),
            limit=model.CLAMP_OPTIONS["velocity_limit"],
            growth=float(ours.order2.max()),
            mean_growth=float(ours.order1.max()),
            pso_growth=float(pso.order2.max()),
            best_start=_find_best_start(table, ""),
            best_start_weighted=_find_best_start(table, ", weighted"),
            nominal_share=100.0 * float(np.divide(unseen["nominal"], unseen["torque"]).mean()),
            lag=float((errors["reversals"] / errors["smooth"]).max()),
            **_recursion(table),
            **_compute_norm_shares(),
            **_compare_gains(table),
        )
    )


def base_ranks() -> dict[str, int]:
    """Compute the numbers of base parameters that the paper states or needs."""
    arms = {
        "joints 1-3": model.FirstThreeJoints().robot,
        "joints 1-6": make_published_plant(model.ROBOT_NAME),
    }
    return {
        f"{name}{label}": base_parameters(arm, friction).rank
        for name, arm in arms.items()
        for label, friction in (("", ()), (" with friction", model.FRICTION_SYMBOLS))
    }


def second_moment_determinant() -> float:
    """Compute a minor of the second moments of link 3, which is not negative for a rigid body.

    It follows from Table 2 for any load of the link: the second moments are
    Sxx = (Izz3 - Ixx3) / 2, Syy = (Izz3 + Ixx3) / 2, with the printed Ixx3 - Iyy3 as Ixx3, and
    Sxy = -Ixy3; their matrix must be positive semidefinite [kg^2 m^4].
    """
    zz, xx, xy = (model.TABLE_2[name] for name in ("Izz3", "Ixx3", "Ixy3"))
    return 0.5 * (zz - xx) * 0.5 * (zz + xx) - xy**2


def _find_best_start(table: TrialTable, criterion: str) -> str:
    """Name the swarm with the largest gain over least squares from which it starts."""
    gains = {
        swarm: table.values(
            SEARCH_STUDY, f"WLS-{swarm} that knows WLS{criterion}", "gain_over_start"
        )
        for swarm in ("PSO", "RWPSO")
    }
    return max(gains, key=lambda swarm: float(gains[swarm].max()))


def _recursion(table: TrialTable) -> ResultRow:
    """Compute the error change from steady gain to recursion [%]."""

    def total(name: str) -> Float2D:
        return np.asarray(np.sqrt((table.values("filtered", name, "errors") ** 2).mean(axis=1)))

    recursive = total(cell.RECURSION_NAME)
    change = 100.0 * np.abs(recursive / total("Kalman")[: recursive.size] - 1.0).max()
    samples = int(np.max(table.runs("unseen")[0]["transients"]))
    return {"recursion": float(change), "transient": samples}


def _compute_norm_shares() -> ResultRow:
    """Compute the share of samples in which the matrix C of eq. (17) has a norm below one [%].

    The shares are for C as printed, and for C with the row of the position update corrected.
    """
    rng = np.random.default_rng(0)
    theta = 1.5 * rng.random(DRAW_COUNT) + 3.0 * rng.random(DRAW_COUNT)
    w = 0.5 + 0.4 * rng.random(DRAW_COUNT) + 0.2 * rng.standard_normal(DRAW_COUNT)
    printed = np.stack([np.stack([w, -theta], -1), np.stack([w, -theta], -1)], -2)
    fixed = np.stack([np.stack([w, -theta], -1), np.stack([w, 1.0 - theta], -1)], -2)
    shares = [
        100.0 * float((np.linalg.norm(C, 2, axis=(1, 2)) < 1.0).mean()) for C in (printed, fixed)
    ]
    return {"norm": shares[0], "corrected_norm": shares[1]}


def _compare_gains(table: TrialTable) -> ResultRow:
    """Divide the RMS reductions by those of Table 3, and count the significant joints."""
    values: dict[str, Any] = {}
    for method, printed in model.PRINTED_GAINS.items():
        ours, theirs = (
            table.values(EXPERIMENT_STUDY, m, "measured_rms") for m in ("WLS-RWPSO", method)
        )
        gains = 100.0 * (1.0 - ours / theirs)
        ends = [interval_of_mean(of_joint) for of_joint in gains.T]
        positive = sum(end is not None and end[0] > 0.0 for end in ends)
        values[f"share {method}"] = float(np.median(gains.mean(axis=0) / np.array(printed)))
        values[f"order {method}"] = f"the order is significant on {positive} joints"
    return values
