"""Fazilat, Zioui (2025): PSO against QPSO on an ABB IRB 140."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model import inertia
from robotid_sim.model.cad import inertia_from_geometry
from robotid_sim.model.catalog import load_published_parameters, load_robot
from robotid_sim.model.parameters import INERTIAL_COUNT, inertial_slice
from robotid_sim.papers.irb140 import control, inverse_network, kinematics, model, swarms
from robotid_sim.papers.irb140.control import JOINT_COUNT, MODELS
from robotid_sim.papers.irb140.model import ROBOT_NAME, SETTINGS, parameter_vector
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP, SWARM_NAMES
from robotid_sim.papers.paper import PlannedTrial, ReproductionSetup, TrialPaper
from robotid_sim.papers.statistics import interval_of_mean
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable

WIDE_CASE = "relative, 0.5"
"""Case of the searches: boxes of ± 50 % about the parameters over their reference."""
EQUAL_SHARES = tuple((share, share) for share in (0.5 * QUBIT_CLAMP, QUBIT_CLAMP, 0.1, 0.2, 0.4))
EQUAL_STEPS = tuple((step, step * 2.0 / np.pi) for step in (0.1, 0.2))
CLAMP_PAIRS = (
    ("as in all other searches", (PSO_CLAMP, QUBIT_CLAMP)),
    *(("equal shares of the ranges", pair) for pair in EQUAL_SHARES),
    *(("equal steps in the middle of the box", pair) for pair in EQUAL_STEPS),
)
"""Clamps of PSO and of the qubits. With equal steps, the largest step in the middle of the box is
the same: x = cos(angle)^2 has slope 1 there, and the range of the angle is pi / 2."""
CLAMPS = dict.fromkeys(
    clamp for _, pair in CLAMP_PAIRS for clamp in zip(SWARM_NAMES, pair, strict=True)
)
"""Method and clamp of every search of the sweep."""
RANKED_MODELS = ("PSO", "QPSO", "reference")
"""Models from best to worst, by Table 4."""
ORDER_TEXTS = {
    True: "The order is reversed: a better model tracks better.",
    False: "Paired differences do not confirm the reversed order.",
}
TOTAL_MASS = 98.0
"""Mass of the whole robot, base included, from its data sheet [kg]."""
PRINTED_REDUCTION = 51.35
"""Printed reduction of the mean fitness [%]."""


def add_computed(table: TrialTable) -> TrialTable:
    """Add the values of tables, figures and claims that do not come from runs."""
    rows = group_clamp_runs(table) | compute_print_errors()
    for scenario in control.SCENARIOS:
        rows |= compare_models(table, scenario)
    rows["table 2", "", ""], cad = cad_rows()
    rows["table 3", "", ""] = columns = parameter_columns(table)
    rows |= compute_drawn_estimates(columns)
    curves = {m: table.runs("arms curves", m, "nominal")[0]["energy"] for m in MODELS}
    gap = np.subtract(curves["PSO"], curves["reference"])[:, 1]
    (lap, *_) = table.runs("loop curves", "reference", "nominal")
    facts = {
        "share": np.linspace(0.0, 100.0, 51),
        "gap_end": float(gap[-1]),
        "gap_first": float(gap[len(gap) // 10]),
        "gap_lowest": float(gap.min()),
        "lap": float(np.round(lap["t"][-1])),
    }
    printed = TrialTable.from_printed(SETTINGS["printed"])
    return (
        table
        | TrialTable.from_results(rows.items())
        | printed
        | TrialTable.from_computed(**facts, **cad, **constants())
    )


@cache
def compute_print_errors() -> dict[TrialKey, ResultRow]:
    """Compute the errors of Table 3, and the distance of the printed errors from their ranges."""
    rows: dict[TrialKey, ResultRow] = {}
    reference = parameter_vector("reference")
    for column, swarm in (("QPSO", "qubit"), ("PSO", "pso")):
        estimate = parameter_vector(column)
        stated, ranges = SETTINGS["printed"]["search"][swarm], model.mape_ranges(column)
        kinds = zip(("com", "inertia"), model.mape(estimate, reference), ranges, strict=True)
        for kind, error, ends in kinds:
            rows["sums of print", kind, column] = {
                "cost": float(((estimate - reference) ** 2).sum()),
                "mape": round(error, 4),
                "low": ends[0],
                "high": ends[1],
                "off": model.distance_from_print(stated[f"mape_{kind}"], ends),
            }
    return rows


def compute_drawn_estimates(columns: ResultRow) -> dict[TrialKey, ResultRow]:
    """Arrange bars of printed values, and deviations of all estimates from the reference [%]."""
    rows: dict[TrialKey, ResultRow] = {}
    for kind, chosen in (("com", model.COM_MASK), ("inertia", ~model.COM_MASK)):
        places = np.arange(float(chosen.sum()))
        nan = np.full_like(places, np.nan)
        for column, shift in zip(MODELS, (-0.27, 0.0, 0.27), strict=True):
            values, height = parameter_vector(column)[chosen], places + shift
            ends = np.column_stack([np.zeros_like(values), values, nan]).ravel()
            heights = np.column_stack([height, height, nan]).ravel()
            rows["printed bars", kind, column] = {"value": ends, "place": heights}
        for name, values in columns.items():
            if ", " in name:
                share = np.array(values)[: len(model.PARAMETER_NAMES)] / parameter_vector(
                    "reference"
                )
                deviation = 100.0 * (share - 1.0)[chosen]
                rows["deviations", kind, name] = {"deviation": deviation, "place": places}
    return rows


def group_clamp_runs(table: TrialTable) -> dict[TrialKey, ResultRow]:
    """Group the searches with a pair of clamps, as cases of their kind."""
    return {
        (kind, f"{pso:.3g} and {qubit:.3g}", m): {"runs": table.runs("clamp", m, f"{clamp:.4f}")}
        for kind, (pso, qubit) in CLAMP_PAIRS
        for m, clamp in (("pso", pso), ("qubit", qubit))
    }


def compare_models(table: TrialTable, scenario: str) -> dict[TrialKey, ResultRow]:
    """Compare all models in a scenario.

    The rows have, for every joint, the largest and the smallest torque rate; the share of the
    squared torque differences at the start [%]; whether errors have the reversed order; and the
    number of metrics of Table 4 in which every run has PSO < QPSO < reference.
    """
    rows: dict[TrialKey, ResultRow] = {}
    for study in ("loop", "arms"):
        steps = [table.values(study, model, "step", scenario) for model in RANKED_MODELS]
        ordered = (np.diff(steps, axis=0) > 0.0).all(axis=(0, 1))
        rows["models", scenario, study] = {"ordered": int(ordered.sum())}

    def values(name: str, models: tuple[str, ...]) -> np.ndarray:
        return np.array([table.values("loop", m, name, scenario) for m in models])

    extremes: dict[str, Any] = {"largest": {}, "least": {}}
    for name in ("torque_rate", "torque_rate_settled"):
        rates = values(name, MODELS)[..., :JOINT_COUNT]
        order = rates.mean(axis=1).argsort(axis=0)
        for place, k in (("largest", -1), ("least", 0)):
            extremes[place][name] = rates[order[k], :, np.arange(JOINT_COUNT)].T
    for place, parts in extremes.items():
        runs = [dict(zip(parts, run, strict=True)) for run in zip(*parts.values(), strict=True)]
        rows["extremes", scenario, place] = {"runs": runs}
    whole, settled = (
        values(name, RANKED_MODELS[:2])[..., :JOINT_COUNT].mean(axis=1)
        for name in ("torque_difference", "torque_difference_settled")
    )
    shares = 100.0 * (1.0 - (settled / whole) ** 2)  # the start is a hundredth of the lap
    differences = [a - b for a, b in pairwise(values("tracking_error", RANKED_MODELS))]
    is_reversed = all((interval_of_mean(d) or (d.mean(),))[0] > 0.0 for d in differences)
    start = f"{shares.min():.0f} to {shares.max():.0f}"
    texts = {"start": start, "order": ORDER_TEXTS[is_reversed]}
    rows["models", scenario, "loop"] = {**rows["models", scenario, "loop"], **texts}
    return rows


@cache
def cad_rows() -> tuple[ResultRow, ResultRow]:
    """Compare Table 2 with the catalog's meshes of uniform density; return also the errors [%]."""
    ours = compute_cad_properties()["links"]
    phi = load_published_parameters(ROBOT_NAME).phi
    masses = phi[: len(model.LINK_NAMES) * INERTIAL_COUNT : INERTIAL_COUNT]
    reference = parameter_vector("reference").reshape(len(model.LINK_NAMES), -1)
    printed = np.column_stack([masses, reference])
    share = 100.0 * np.abs(ours / printed - 1.0)
    links, names = range(len(model.LINK_NAMES)), ("m", *model.COM_SYMBOLS, *model.INERTIA_SYMBOLS)
    column = {
        "name": [f"{name}{k + 1}" for k in links for name in names],
        "unit": ["kg", *["m"] * len(model.COM_SYMBOLS), *["kg m²"] * len(model.INERTIA_SYMBOLS)]
        * len(links),
        "printed": printed.ravel().tolist(),
        "ours": (ours.round(9) + 0.0).ravel().tolist(),
    }
    first = 1 + len(model.COM_SYMBOLS)
    return column, {
        "cad_error": float(np.median(share[:, 1:])),
        "cad_masses": float(share[:, 0].max()),
        "bodies": sum(inertia.inconsistency(phi[inertial_slice(k)]) is None for k in links),
        "ixx": float(ours[0, first]),
        "ixx_printed": float(printed[0, first]),
    }


def parameter_columns(table: TrialTable) -> ResultRow:
    """List Table 3 and the estimates of the runs with the median cost; last their errors [%]."""
    reference = parameter_vector("reference")
    columns = {"reference": reference}
    for column, swarm in (("QPSO", "qubit"), ("PSO", "pso")):
        runs = sorted(table.runs("search", swarm, WIDE_CASE), key=lambda row: float(row["cost"]))
        columns[f"{column}, printed"] = parameter_vector(column)
        columns[f"{column}, ours"] = np.array(runs[(len(runs) - 1) // 2]["estimate"])
    units = ["m" if name[:-1] in model.COM_SYMBOLS else "kg m²" for name in model.PARAMETER_NAMES]
    return {
        "name": [*model.PARAMETER_NAMES, "MAPE, centers of mass", "MAPE, inertia"],
        "unit": [*units, "%", "%"],
        **{name: [*values, *model.mape(values, reference)] for name, values in columns.items()},
    }


@cache
def constants() -> ResultRow:
    """Compute the facts that follow only from the printed values and the robot."""
    rank, count = visible_directions()
    lower, upper = kinematics.region_of(None, load_robot(ROBOT_NAME))
    far, near = (swarms.inertia_errors(parameter_vector(m)) for m in ("PSO", "QPSO"))
    products, moments = np.divide(far, near)
    best, worst = (SETTINGS["printed"]["search"][swarm]["cost"] for swarm in ("qubit", "pso"))
    b, w = map(model.compute_rounding, (best, worst))
    low, reduction, high = (
        100.0 * (1.0 - (best + sign * b) / (worst - sign * w)) for sign in (1.0, 0.0, -1.0)
    )
    return {
        "pso_clamp": PSO_CLAMP,
        "qubit_clamp": QUBIT_CLAMP,
        "rank": rank,
        "count": count,
        "wide_share": 100 * kinematics.WIDE_SHARE,
        "ranges": ", ".join(f"{w:g}" for w in np.degrees(0.5 * (upper - lower)).round(1)),
        "printed_imbalance": float(products / moments),
        "reduction": reduction,
        "reduction_low": low,
        "reduction_high": high,
        "reduction_off": model.distance_from_print(PRINTED_REDUCTION, (low, high)),
    }


def visible_directions() -> tuple[int, int]:
    """Count the combinations of parameters that affect joint torques, and the parameters, 27.

    Masses are known, as in the paper. The first count is the rank of the derivative of the base
    parameters of three links with respect to centers of mass and central inertia.
    """
    basis = base_parameters(
        load_robot(ROBOT_NAME, tip=load_published_parameters(ROBOT_NAME).tip), ()
    )
    steps = 0.5 * np.eye(len(model.PARAMETER_NAMES))
    ends = (
        model.link_parameters(parameter_vector("reference") + side * steps) for side in (1.0, -1.0)
    )
    change = np.subtract(*ends)  # exact: quadratic in the centers of mass
    visible = basis.B[:, : change.shape[1]] @ change.T
    return int(np.linalg.matrix_rank(visible)), len(model.PARAMETER_NAMES)


def compute_cad_properties() -> dict[str, Any]:
    """Compute mass properties of the links from their meshes, in the paper's frames (sec. 2.6).

    The ``links`` have shape (3, 10): mass [kg], center of mass [m], inertia about it (Ixx, Ixy,
    Ixz, Iyy, Iyz, Izz [kg m^2]); volumes are in [l], shape (3,), the density is in [kg/m^3].
    """
    solids = {s.name: s for s in inertia_from_geometry(load_robot(ROBOT_NAME), TOTAL_MASS).links}
    rows = []
    for name, frame in zip(
        model.LINK_NAMES, load_published_parameters(ROBOT_NAME).frames, strict=True
    ):
        phi = inertia.transform(solids[name].phi, np.linalg.inv(frame))
        mass, com, central = inertia.unpack(phi)
        rows.append([mass, *com, *central[np.triu_indices(3)]])
    return {
        "links": np.array(rows),
        "volumes": 1e3 * np.array([solids[name].volume for name in model.LINK_NAMES]),
        "density": TOTAL_MASS / sum(solid.volume for solid in solids.values()),
    }


BOX, SMALL_BOX = 0.5, 0.1
_SMALL_BOX_METHODS = (
    "pso",
    "pso-literal",
    "pso-decreasing",
    "qubit",
    "qubit-decreasing",
    "delta-well",
)
SEARCH_METHODS: Mapping[tuple[str, float], tuple[str, ...]] = {
    ("relative", BOX): tuple(swarms.METHOD_SETTINGS),
    ("relative", SMALL_BOX): _SMALL_BOX_METHODS,
    ("raw", BOX): ("pso", "pso-decreasing", "qubit-decreasing", "delta-well"),
}
"""Methods by scaling and half width of the box."""
COUNTED_METHODS = ("pso", "qubit")
"""Methods with additional runs in the small box, in which iterations are counted."""


class QuantumSwarms(TrialPaper):
    """PSO against QPSO on an ABB IRB 140, with neural kinematics and sliding-mode control."""

    name: ClassVar[str] = model.PAPER_NAME

    def require(self) -> None:
        """Raise unless scikit-learn is installed; see `Paper.require`."""
        kinematics.require_sklearn()

    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run unfinished trials; see `Paper`."""
        effort = {name: lab.runs_of(*sizes) for name, sizes in SETTINGS["effort"].items()}
        limited = SETTINGS["limited"].items()
        effort |= {name: min(most, lab.runs_of(most, few)) for name, (most, few) in limited}
        # Long trials come first, so that processes finish together: networks (the paper's own is
        # trained several times), loops in the engine, and searches.
        cells: list[PlannedTrial] = []
        for name, network in kinematics.NETWORK_SETTINGS.items():
            count, share = (effort["network"], 8) if name == kinematics.TASK_NAME else (1, 16)
            options = {
                "network": name,
                "samples": lab.choose(kinematics.SAMPLE_COUNT, kinematics.SAMPLE_COUNT // share),
                "iterations": lab.choose(*network["iterations"]),
            }
            key = ("network", network["region"], network["label"])
            cells += lab.plan_trials(key, kinematics.train, count, **options)
        for study, scenario in product(("loop", "arms"), ("nominal", "disturbed")):
            runs = effort[study] if scenario == "disturbed" else 1  # the other is deterministic
            options = {"scenario": scenario, "lap": lab.choose(*SETTINGS["lap"][study])}
            key = (study, scenario, "")
            cells += lab.plan_trials(key, control.track, runs, arms=study == "arms", **options)
        train, most = inverse_network.train_inverse, lab.choose(*SETTINGS["inverse_iterations"])
        for name in inverse_network.TREATMENTS:
            options = {"treatment": name, "iterations": most}
            cells += lab.plan_trials(("inverse", "", name), train, effort["inverse"], **options)
        function = control.identify_from_torque
        cells += lab.plan_trials(("torque", "", ""), function, effort["torque"])
        cells += _plan_searches(lab, effort)
        poses = SETTINGS["poses"]
        cells.append(
            lab.plan_trial(("kinematics", "", ""), kinematics.compare_with_urdf, poses=poses)
        )
        return add_computed(lab.tabulate("irb140", cells))


def _plan_searches(lab: ReproductionSetup, effort: Mapping[str, int]) -> Iterator[PlannedTrial]:
    """Plan the searches by eq. (20), searches with other clamps, and searches by performance."""
    for (scaling, width), methods in SEARCH_METHODS.items():
        options: dict[str, Any] = {"scaling": scaling, "half_width": width}
        for method in methods:
            more = (
                lab.choose(*SETTINGS["more"])
                if method in COUNTED_METHODS and width == SMALL_BOX
                else 1
            )
            key, options["runs"] = (
                ("search", f"{scaling}, {width:g}", method),
                more * effort["search"],
            )
            yield lab.plan_trial(key, swarms.search, method=method, **options)
    same: dict[str, Any] = {"scaling": "relative", "half_width": BOX, "runs": effort["search"]}
    for method, clamp in CLAMPS:
        key = ("clamp", f"{clamp:.4f}", method)
        yield lab.plan_trial(key, swarms.search, method=method, clamp=clamp, **same)
    function = swarms.search_by_performance
    for objective, swarm in product(swarms.OBJECTIVES, SWARM_NAMES):
        key, chosen = ("performance", swarm, objective), {"swarm": swarm, "objective": objective}
        yield from lab.plan_trials(key, function, effort["performance"], **chosen)
