"""The closed loop in a terminal."""

from collections.abc import Mapping, Sequence
from itertools import product

from robotid_sim.cli import output
from robotid_sim.validation.closed_loop import IDENTIFIED, NOMINAL, TRUE, UNDISTURBED, ClosedLoop
from robotid_sim.validation.summary import Case, rms_of_unit, summarize


def print_loop(units: Sequence[str], loop: ClosedLoop) -> None:
    """Print the tracking error of every task, scenario and controller that ran, by model.

    Parameters
    ----------
    units : sequence of str
        Of the joints: rad or m.
    loop : ClosedLoop
        The runs.
    """
    names = ("task", "scenario", "controller", "unit")
    rows = _loop_rows(units, loop)
    one = len({row[2] for row in rows}) == 1
    title = f"{rows[0][2]} in the engine" if one else "closed loop in the engine"
    kept = [k for k in range(len(rows[0])) if k != 2 or not one]
    columns = [*names, *loop.models, "gap closed"]
    output.print_line()
    output.print_table(
        f"{title}: RMS tracking error of all joints, by the model in the loop",
        [columns[k] for k in kept],
        [[row[k] for k in kept] for row in rows],
        text_columns=len(names) - one,
    )
    output.print_line()


def _loop_rows(units: Sequence[str], loop: ClosedLoop) -> list[list[str]]:
    """Return task, scenario, controller, unit, errors by model and gap closed of all runs."""
    quantities = {unit: rms_of_unit(units, unit) for unit in dict.fromkeys(units)}
    found = {row.case: row.values for row in summarize(loop.runs, quantities)}
    tasks = [task.name for task in loop.tasks]
    controllers = dict.fromkeys(run.controller for run in loop.runs)
    rows = []
    for task, scenario, controller in product(tasks, loop.scenarios, controllers):
        cases = {model: Case(task, scenario, controller, model) for model in loop.models}
        for unit in quantities if any(case in found for case in cases.values()) else ():
            errors = {
                model: mean.mean
                for model, case in cases.items()
                if case in found and (mean := found[case][unit]) is not None
            }
            cells = [f"{1e3 * errors[m]:.4g}" if m in errors else "-" for m in loop.models]
            lap = scenario == UNDISTURBED and task in loop.laps
            gap = _gap_closed(errors) if lap else "-"
            rows.append([task, scenario, controller, f"m{unit}", *cells, gap])
    return rows


def _gap_closed(errors: Mapping[str, float]) -> str:
    """Return how much of the gap between nominal and true model the identified one closes."""
    if not {TRUE, NOMINAL, IDENTIFIED} <= errors.keys():
        return "-"
    gap = errors[NOMINAL] - errors[TRUE]
    return output.percent((errors[NOMINAL] - errors[IDENTIFIED]) / gap) if gap > 0.0 else "-"
