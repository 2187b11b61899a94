"""Sections on the closed loop: figures by model, tables of all cases.

The module also makes page and text of a validation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.experiment.conditions import NAME_JOINER
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.excitation import contact_notes
from robotid_sim.pipeline.validate import Validation
from robotid_sim.report.figures import closed_loop as figures
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import LOG, Replay, log_motion, loop_motions, tie_to_motion
from robotid_sim.report.sections import Recipe, make_closing_sections, prediction_section
from robotid_sim.report.tables import check_table, prediction_table
from robotid_sim.report.text import Text, report_warning
from robotid_sim.section import Section, fold, number, percent, torque_unit
from robotid_sim.table import Table
from robotid_sim.validation import comparison as summary
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.comparison import IDENTIFIED, NOMINAL, TRUE, UNDISTURBED_NAME
from robotid_sim.validation.control_run import ControlRun

MILLI_FACTOR = 1e3
MAX_DECIMALS = 6
"""Largest number of decimals of an interval without an exponent."""

MAX_PEAK_RATIO = 1.2
"""Ratio of the peak torque with sensors in the loop to that without, above which a note explains
it."""

CASE_KEYS = ("task", "scenario", "controller", "model")


def make_tracking_section(loop: ClosedLoop, units: Sequence[str]) -> Section:
    """Build the section on tracking errors of the tool, by model in the controller."""
    return Section(
        title="Tracking", charts=(figures.tool_errors(loop),), tables=(model_table(loop, units),)
    )


def loop_section(loop: ClosedLoop, plant: Robot) -> Section:
    """Build the section on the closed loop: tasks, errors, torques and energy by model."""
    names, units = plant.joint_names, plant.joint_units
    tables = [tasks_table(loop), errors_table(loop, units), effort_table(loop, units)]
    if any(run.step is not None for run in loop.runs):
        tables.append(steps_table(loop))
    notes = [
        "IAE, ITAE: integral of |error|, and of time x |error|, summed over the joints.",
        "Torque and torque rate: root of the sum over the joints of the mean squares. Chatter: the "
        "share of the energy of the torque rate above 50 Hz that the motion does not require.",
    ]
    if any(task.path is not None for task in loop.tasks):
        notes.append(
            "κ(J): condition number of the Jacobian of the tool, lengths in meters; 1 is best, and "
            "it becomes infinite at a singularity."
        )
    return Section(
        title="Closed loop",
        text=_text(loop),
        charts=(
            figures.joint_errors(loop, names, units),
            *((figures.plot_tool_path(loop),) if loop.laps else ()),
            figures.torque_differences(loop, names, units),
            figures.energy_differences(loop, names),
        ),
        tables=tuple(tables),
        notes=(
            *notes,
            *(f"Ended early: {failure}" for failure in loop.failures),
            *feedback_notes(loop, names),
            *better_nominal_notes(loop, units),
        ),
    )


def _text(loop: ClosedLoop) -> str:
    gains = loop.gains
    bound = ", ".join(f"{MILLI_FACTOR * value:.3g}" for value in gains.error_bound)
    text = (
        f"Controllers in the engine on the true plant, bandwidth {gains.bandwidth:.4g} rad/s; "
        f"error bound under a disturbance of 40 % of the peak torque: {bound} mrad or mm."
    )
    if gains.limited:
        text += f" The bound exceeds the specified error at {', '.join(gains.limited)}."
    runs = 1 + max(run.run for run in loop.runs)
    if runs > 1:
        text += (
            f" Run r of {runs} takes disturbances, sensor noise and the seed of swarm estimators "
            "from stream r of the seed, the same for all models and controllers. Values are means "
            "over the runs with 95 % intervals (Student's t); deterministic cases have one run. "
            "Figures show the first run."
        )
    return text


def better_nominal_notes(loop: ClosedLoop, units: Sequence[str]) -> list[str]:
    """Name and explain cases in which the nominal model tracks better than the true one."""
    better = []
    for task, scenario in product([task.name for task in loop.tasks], loop.scenarios):
        runs = [loop.find(model, scenario, task) for model in (NOMINAL, TRUE)]
        errors = [summary.rms_of_unit(units, units[0])(run) if run else None for run in runs]
        if errors[0] is not None and errors[1] is not None and errors[0] < errors[1]:
            better.append(f"{task} ({scenario})")
    if not better:
        return []
    return [
        f"The nominal model tracks better than the true one on {', '.join(better)}. A step or a "
        "disturbance causes most of the error there, and the feedback determines it: too much "
        "inertia in the model acts as a higher gain. On undisturbed paths the true model is best."
    ]


def model_table(loop: ClosedLoop, units: Sequence[str]) -> Table:
    """Tabulate the tracking error of every task, scenario and controller, by model.

    A single controller has no column.
    """
    quantities = {unit: summary.rms_of_unit(units, unit) for unit in dict.fromkeys(units)}
    values = {row.case: row.values for row in summary.summarize(loop.runs, quantities)}
    controllers = list(dict.fromkeys(run.controller for run in loop.runs))
    several = len(controllers) > 1
    rows, required = [], {TRUE, NOMINAL, IDENTIFIED}
    tasks = [task.name for task in loop.tasks]
    for task, scenario, controller in product(tasks, loop.scenarios, controllers):
        cases = {
            m: values.get(summary.Case(task, scenario, controller, m), {}) for m in loop.models
        }
        for unit in quantities if any(cases.values()) else ():
            means = {m: mean.mean for m, by_unit in cases.items() if (mean := by_unit.get(unit))}
            lead = (task, scenario, *([controller] if several else []), f"m{unit}")
            cells = (f"{MILLI_FACTOR * means[m]:.4g}" if m in means else "-" for m in loop.models)
            is_lap = scenario == UNDISTURBED_NAME and task in loop.laps
            gap = means[NOMINAL] - means[TRUE] if is_lap and required <= means.keys() else 0.0
            closed = percent((means[NOMINAL] - means[IDENTIFIED]) / gap) if gap > 0.0 else "-"
            rows.append((*lead, *cells, closed))
    lead = ("task", "scenario", *(["controller"] if several else []), "unit")
    loops = "closed loop" if several else controllers[0]
    return Table(
        columns=(*lead, *loop.models, "gap closed"),
        rows=tuple(rows),
        title=f"{loops} in the engine: RMS tracking error of all joints, by model used in the "
        f"controller",
        text_columns=len(lead),
    )


def tasks_table(loop: ClosedLoop) -> Table:
    """Tabulate the tasks with duration and singularity index."""
    tasks = loop.tasks
    worst = {
        task.name: max(float(run.peak_ratio.max()) for run in loop.runs if run.task == task.name)
        for task in tasks
    }
    columns = {
        "task": worst,
        "duration [s]": [f"{task.trajectory.duration:.4g}" for task in tasks],
        "largest κ(J) [-]": [
            number(None if task.path is None else task.path.largest_index, 3) for task in tasks
        ],
        "largest torque, any run [% of limit]": [number(100.0 * v, 3) for v in worst.values()],
    }
    return Table.from_columns(columns, "Tasks")


def errors_table(loop: ClosedLoop, units: Sequence[str]) -> Table:
    """Tabulate the tracking errors of every case: joints of one unit together, and the tool."""
    quantities: dict[str, summary.Quantity] = {}
    for unit in dict.fromkeys(units):
        quantities[f"RMS error [m{unit}]"] = _milli(summary.rms_of_unit(units, unit))
        quantities[f"largest [m{unit}]"] = _milli(summary.largest_of_unit(units, unit))
    for unit in dict.fromkeys(units):
        of_unit = np.array([u == unit for u in units])
        quantities[f"IAE [m{unit} s]"] = _milli(_sum_of(of_unit, lambda run: run.iae))
        quantities[f"ITAE [m{unit} s²]"] = _milli(_sum_of(of_unit, lambda run: run.itae))
    quantities |= {
        "tool RMS [mm]": _milli(lambda run: run.tip_rms_error),
        "tool largest [mm]": _milli(lambda run: run.tip_max_error),
        "tool IAE [mm s]": _milli(lambda run: run.tip_iae),
        "tool ITAE [mm s²]": _milli(lambda run: run.tip_itae),
    }
    return _table(loop, quantities, "Tracking errors of all cases")


def effort_table(loop: ClosedLoop, units: Sequence[str]) -> Table:
    """Tabulate torque and energy of every case, joints of one unit together."""
    quantities: dict[str, summary.Quantity] = {}
    for unit in dict.fromkeys(units):
        torque = torque_unit(unit)
        quantities[f"torque, RMS [{torque}]"] = summary.torque_of_unit(units, unit)
        quantities[f"torque rate, RMS [{torque}/s]"] = summary.torque_rate_of_unit(units, unit)
    quantities |= {
        "chattering, worst joint [% of torque-rate energy]": lambda run: (
            100.0 * float(run.chattering_index.max())
        ),
        "energy, absolute [J]": lambda run: float(run.energy.sum()),
        "energy, net [J]": lambda run: float(run.energy_signed.sum()),
        "peak [% of limit]": lambda run: 100.0 * float(run.peak_ratio.max()),
        "clipped [s]": lambda run: run.saturated,
    }
    return _table(loop, quantities, "Torque and energy of all cases")


def steps_table(loop: ClosedLoop) -> Table:
    """Tabulate the step responses from an initial error: worst joint, and the tool."""
    quantities: dict[str, summary.Quantity] = {}
    for side, step in (("", "step"), ("tool ", "tip_step")):
        quantities[f"{side}rise [s]"] = _make_step_quantity(step, "rise_time")
        quantities[f"{side}settling [s]"] = _make_step_quantity(step, "settling_time")
        quantities[f"{side}overshoot [%]"] = _make_step_quantity(step, "overshoot", 100.0)
        quantities[f"{side}steady state [%]"] = _make_step_quantity(
            step, "steady_state_error", 100.0
        )
    return _table(loop, quantities, "Step responses", steps=True)


def feedback_notes(loop: ClosedLoop, joint_names: Sequence[str]) -> list[str]:
    """Explain peak torques that sensors in the loop raise by more than a fifth."""
    notes = []
    for run in loop.runs:
        parts = [part for part in run.scenario.split(NAME_JOINER) if part != "feedback"]
        # The scenario, without sensors in the loop.
        without = NAME_JOINER.join(parts) or UNDISTURBED_NAME
        clean = loop.find(run.model, without, run.task, run.controller)
        if clean is None or clean is run or run.run > 0 or run.model == NOMINAL:
            continue
        ratio = run.peak_torque / np.maximum(clean.peak_torque, np.finfo(float).tiny)
        raised = [
            f"{name} ({r:.2g} x {peak:.3g})"
            for name, r, peak in zip(joint_names, ratio, clean.peak_torque, strict=True)
            if r > MAX_PEAK_RATIO
        ]
        if raised:
            notes.append(
                f"{run.task}, {run.scenario}, {run.controller}, {run.model} model: measurement "
                f"noise fed back by the controller raises the peak torque [N m or N] of "
                f"{', '.join(raised)}. The velocity noise of the observer is multiplied by twice "
                "the bandwidth and the inertia, which is large compared with the small torque of "
                "such a joint."
            )
    return notes


def _make_step_quantity(step: str, metric: str, factor: float = 1.0) -> summary.Quantity:
    def quantity(run: ControlRun) -> float | None:
        value = getattr(getattr(run, step), metric, None)  # a run may have no step
        return None if value is None else factor * value

    return quantity


def _milli(quantity: summary.Quantity) -> summary.Quantity:
    return lambda run: None if (value := quantity(run)) is None else MILLI_FACTOR * value


def _sum_of(joints: Bool1D, value: Callable[[ControlRun], Float1D]) -> summary.Quantity:
    return lambda run: float(value(run)[joints].sum())


def _table(
    loop: ClosedLoop, quantities: Mapping[str, summary.Quantity], title: str, *, steps: bool = False
) -> Table:
    controllers = list(dict.fromkeys(run.controller for run in loop.runs))
    tasks = [task.name for task in loop.tasks]
    # In the order of the comparison.
    order = dict(zip(CASE_KEYS, (tasks, loop.scenarios, controllers, loop.models), strict=True))
    runs = [run for run in loop.runs if run.step is not None or not steps]
    runs.sort(key=lambda run: [names.index(getattr(run, key)) for key, names in order.items()])
    rows = summary.summarize(runs, quantities)
    columns: dict[str, Iterable[str]] = {
        name: [getattr(row.case, name) for row in rows] for name in CASE_KEYS
    }
    if any(row.runs > 1 for row in rows):
        columns["runs"] = [str(row.runs) for row in rows]
    columns |= {name: [_interval(row.values[name]) for row in rows] for name in quantities}
    return Table.from_columns(columns, title, text_columns=len(CASE_KEYS))


def _interval(value: summary.Interval | None) -> str:
    """Format a mean with its interval, to the second significant digit of the interval."""
    if value is None:
        return "-"
    half = value.half_width
    if value.count < 2 or not half > 0.0:
        return number(value.mean)
    decimals = max(0, 1 - int(np.floor(np.log10(half))))
    if decimals > MAX_DECIMALS:
        return f"{number(value.mean)} ± {number(half, 2)}"
    return f"{value.mean:.{decimals}f} ± {half:.{decimals}f}"


def validation_report(validation: Validation, recipe: Recipe) -> Page:
    """Build the report of a validation."""
    plant, loop, predicted = validation.plant, validation.loop, validation.predicted
    log, estimate = validation.unseen, validation.estimate
    sections = [Section(title="Verdict", tables=(check_table(validation.checks),))]
    if predicted is not None:
        section = prediction_section(*predicted, estimate.noise_std, "given")
        sections.append(tie_to_motion(section, LOG))
    sections += [make_tracking_section(loop, plant.joint_units), fold(loop_section(loop, plant))]
    motions = loop_motions(plant, loop)
    if predicted is not None and log is not None:
        motions.append(log_motion(plant, log, LOG, predicted[0], estimate.noise_std))
    gap = loop.gap_left(plant.joint_units)
    finding = (
        f"{len(loop.runs)} closed-loop runs were compared: models {', '.join(loop.models)}; "
        f"scenarios {', '.join(loop.scenarios)}."
    )
    if gap is not None:
        finding = (
            f"In the closed loop the identified model closed {percent(1.0 - gap)} of the tracking "
            "gap between the nominal and the true model."
        )
    return Page(
        title=f"Validation of an estimate of {plant.name}",
        finding=finding,
        passed=validation.passed,
        sections=(
            *sections,
            *map(fold, make_closing_sections(plant, plant.assumptions, "true", recipe)),
        ),
        replay=Replay(plant, tuple(motions)) if motions else None,
    )


def validate_text(validation: Validation) -> Iterator[Text]:
    """Report prediction, loops and checks."""
    loop = validation.loop
    yield f"{validation.plant.name}: {validation.consistent_robot.message}"
    yield (
        f"bandwidth {loop.gains.bandwidth:.4g} rad/s; error bound under the disturbance "
        + " ".join(f"{1e3 * bound:.3g}" for bound in loop.gains.error_bound)
        + " (10^-3 rad or m)"
    )
    if loop.gains.limited:
        joints = ", ".join(loop.gains.limited)
        yield f"the error bound is above the specified error at {joints}"
    if validation.predicted is not None:
        yield ""
        yield "prediction of the log"
        yield prediction_table(*validation.predicted)
    yield ""
    yield model_table(loop, validation.plant.joint_units)
    yield ""
    yield check_table(validation.checks)
    yield from contact_notes(validation.contacts)
    yield from report_warning(validation.warning)
