"""Sections of reports, in the order of the pipeline.

The closing sections state the assumptions and how to reproduce the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import list_urdf_losses
from robotid_sim.model.inertia import unpack
from robotid_sim.model.perturb import unlikely_masses
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import versions
from robotid_sim.report.figures.excitation import excitation, tool_path
from robotid_sim.report.figures.parameters import base_parameters, correlation, friction
from robotid_sim.report.figures.torques import LogRole, prediction, residuals, torque_filters
from robotid_sim.report.tables import (
    limits_table,
    noise_table,
    number_within,
    parameter_table,
    prediction_table,
    terms_table,
)
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.validation.prediction import Prediction

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis
    from robotid_sim.diagnostics.intervals import Intervals
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.excitation.design import ExcitationQuality
    from robotid_sim.pipeline.assess import Assessment, FittedLog
    from robotid_sim.pipeline.identification import Identification

IDENTIFIABILITY_TEXT = (
    "Joint torques determine only linear combinations of parameters, the base parameters (see "
    "Identification). The remaining parameters come from the nominal model, with an assumed "
    "uncertainty of 20 %; the intervals include this and the uncertainty of the estimate. "
    "`identified.urdf` is one robot with these base parameters. Its torques are correct, but "
    "single parameters that are not identifiable alone may be wrong."
)
"""Note on the table of link parameters."""


def excitation_section(
    trajectory: Trajectory,
    nominal: Robot,
    quality: ExcitationQuality,
    extra_rows: Sequence[tuple[str, str]],
    notes: Sequence[str],
    convergence: Chart | None,
) -> Section:
    """Build the section on the excitation: limits, tool path, condition numbers, notes.

    `extra_rows` are further quantities with their values, the first of the table.
    """
    charts = [excitation(trajectory, nominal), tool_path(trajectory, nominal)]
    charts += [] if convergence is None else [convergence]
    ratios = ("position", "velocity", "acceleration", "torque")
    rows = [
        *extra_rows,
        ("condition number of the base regressor", number(quality.cond_raw, 3)),
        ("the same with columns of unit length", number(quality.cond_normalized, 3)),
        ("log det of the information per sample", number(quality.log_det)),
        *(
            (f"largest share of the {name} limits", percent(getattr(quality, f"{name}_ratio")))
            for name in ratios
        ),
    ]
    return Section(
        title="Excitation",
        text="The excitation trajectory, designed with the nominal model.",
        charts=tuple(charts),
        tables=(Table(columns=("quantity", "value"), rows=tuple(rows)),),
        notes=tuple(notes),
    )


def make_preprocessing_section(part: FittedLog, log: Log, *compared: Table) -> Section:
    """Build the section on measurement, preprocessing and comparison of filters.

    The truth is taken from `log`, if it has one.
    """
    decision = f" ({part.preprocessor.message})" if part.preprocessor.message else ""
    files = ", ".join(log.provenance.get("imported", ()))
    file_text = f"{files}: " if files else ""
    engine = log.provenance.get("engine")
    notes = [f"Engine of the plant: {engine}."] if engine else []
    for key, name, text in (
        ("friction", "law", "Friction of the plant: the law"),
        ("drive", "kind", "Between rotors and links of the plant:"),
    ):
        if key in log.provenance:
            options = dict(log.provenance[key])
            numbers = ", ".join(f"{k} {v}" for k, v in options.items() if k != name)
            notes.append(f"{text} {options[name]}{f' ({numbers})' if numbers else ''}.")
    return Section(
        title="Preprocessing",
        text=f"{file_text}{log.t.size} samples at {1.0 / log.dt:g} Hz, {log.t[-1] - log.t[0]:.4g} "
        f"s; preprocessor '{part.method}'{decision}. Torque and regressor pass the same filter.",
        charts=(torque_filters(log, part.motion, part.torques_by_filter),),
        tables=(noise_table(log), *compared),
        notes=(*notes, *log.provenance.get("notes", ())),
    )


def parameters_section(
    chosen: Estimate,
    basis: BaseParameters,
    estimator_tables: Sequence[Table],
    nominal: Float1D,
    true: Float1D | None = None,
    bound: Float1D | None = None,
    intervals: Intervals | None = None,
) -> Section:
    """Build the section on estimators and base parameters with intervals and groupings."""
    charts = []
    if chosen.cov is not None:
        charts = [base_parameters(chosen, nominal, true, bound), correlation(chosen)]
    table = parameter_table(chosen, basis, nominal, true, bound, intervals)
    return Section(
        title="Identification",
        text=f"{chosen.rows} rows for {len(chosen.names)} base parameters; the identified robot is "
        f"made from the estimate of '{chosen.estimator}'.",
        charts=tuple(charts),
        tables=(*estimator_tables, table),
    )


def friction_section(assessment: Assessment) -> Section:
    """Build the section on the measured and the fitted friction of the joints."""
    chart, structure = friction(assessment.friction), assessment.fit.structure
    if not structure.terms:
        return Section(title="Friction", charts=(chart,))
    return Section(
        title="Friction",
        text="Joint terms selected from the log. Gain: increase of the log-likelihood of held-out "
        "blocks by the term.",
        charts=(chart,),
        tables=(terms_table(structure, assessment.nominal),),
    )


def next_steps_section(assessment: Assessment) -> Section:
    """Build the section on next steps and weakly identifiable parameters."""
    least = assessment.least_known.items()
    text = ""
    if least:
        names = ", ".join(f"{name} ({number(effect, 2)})" for name, effect in least)
        text = (
            f"Weakly identifiable parameters: {names}; in brackets, effect of one standard "
            "deviation on the torques, as a multiple of the noise. The commands below design "
            "a complementary excitation."
        )
    return Section(
        title="What to do next",
        text=text,
        notes=tuple(cause.advice for cause in assessment.causes),
        code="robotid import LOG -o log.h5 --robot ROBOT\n"
        "robotid design ROBOT --prior log.h5 -o next.json --csv next.csv --explain",
    )


def prediction_section(
    identified: Prediction,
    nominal: Prediction,
    noise_std: Float1D,
    role: LogRole,
    period: float | None = None,
) -> Section:
    """Build the section on measured and predicted torque of a log.

    `period` [s] is the period of the motion, None if it is not periodic.
    """
    charts = [prediction(identified, nominal, noise_std, role)]
    if role == "fitted":
        charts.append(residuals(identified, period))
    return Section(
        title="Fit" if role == "fitted" else "Prediction",
        charts=tuple(charts),
        tables=(prediction_table(identified, nominal),),
    )


QUANTITY_GROUPS = (
    ("mass", "kg", 1.0, 1),
    ("center of mass", "mm", 1e3, 3),
    ("inertia about the center of mass", "kg m²", 1.0, 3),
)
"""Name, unit, factor and number of values of each quantity of a body, as in `BodyQuantity`."""


def bodies_section(fit: Identification, true: Robot | None = None) -> Section:
    """Compare the link parameters of the log with the nominal model and the truth."""
    bodies, true_column = iter(fit.bodies()), () if true is None else ("true",)
    rows = []
    for k, link in enumerate(fit.nominal.links):
        if true is not None:
            mass, center, central = unpack(true.links[k].phi)
            values = ([mass], center.tolist(), np.diag(central).tolist())
            true_values = dict(zip((name for name, *_ in QUANTITY_GROUPS), values, strict=True))
        for name, unit, factor, count in QUANTITY_GROUPS:
            part = list(islice(bodies, count))
            if not part:
                break
            models = [[body.nominal for body in part], [body.identified for body in part]]
            if true is not None:
                models.append(true_values[name])
            cells = [
                ", ".join(number_within(factor * x, factor * body.std) for x, body in pairs)
                for pairs in (list(zip(values, part, strict=True)) for values in models)
            ]
            intervals = []
            for axis, body in zip("xyz" if count > 1 else ("",), part, strict=True):
                ends = (number_within(factor * end, factor * body.std) for end in body.interval)
                if body.identifiable:
                    intervals.append(f"{axis} {' … '.join(ends)}".strip())
            interval_text = ", ".join(intervals) or "not identifiable alone"
            first = link.name if name == QUANTITY_GROUPS[0][0] else ""
            rows.append((first, f"{name} [{unit}]", interval_text, *cells))
    columns = ("link", "quantity", "95 % interval", "nominal", "identified.urdf", *true_column)
    unlikely = (
        []
        if fit.consistent_robot is None
        else unlikely_masses(fit.consistent_robot.robot, fit.nominal)
    )
    return Section(
        title="Identified robot",
        text=IDENTIFIABILITY_TEXT,
        tables=(Table(columns, tuple(rows), text_columns=3),) if rows else (),
        notes=tuple(f"Unlikely: {text}." for text in unlikely),
    )


def diagnosis_section(diagnosis: Diagnosis | None) -> tuple[Section, ...]:
    """Build the section on a diagnosis; empty if there is none."""
    if diagnosis is None:
        return ()
    title = "Diagnosis"
    if diagnosis.is_healthy:
        finding, small_causes, *notes = diagnosis.sentences()
        return (Section(title=title, text=f"{finding} {small_causes}", notes=tuple(notes)),)
    causes = diagnosis.causes
    table = Table.from_columns(
        {
            "joint": [", ".join(cause.joints) or "all" for cause in causes],
            "finding": [cause.finding for cause in causes],
            "evidence": [cause.evidence for cause in causes],
            "remedy": [cause.remedy.replace("`", "") for cause in causes],
        },
        text_columns=4,
    )
    return (
        Section(
            title=title,
            text="Faults that explain the log better than the model alone, in order of detection. "
            "The log-likelihood is that of held-out rows, with its standard error over eight "
            "blocks.",
            tables=(table,),
            notes=diagnosis.not_detectable,
        ),
    )


if TYPE_CHECKING:
    from robotid_sim.estimation.consistent import ConsistentRobot


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Instructions to reproduce a page."""

    command: str
    seed: int
    settings: str
    """Settings that differ from the defaults, as JSON."""
    versions: Mapping[str, str]
    """Versions of Python and the packages."""

    @classmethod
    def from_python(cls, call: str, seed: int = 0) -> Recipe:
        """Create the instructions for a page that a Python call made."""
        return cls(command=f"# Python\n{call}", seed=seed, settings="{}", versions=versions())


def make_closing_sections(
    robot: Robot, notes: Sequence[str], limits_of: str, recipe: Recipe, *more: Section
) -> tuple[Section, ...]:
    """Build the closing sections: assumptions, `more`, and how to reproduce the page.

    `limits_of` names the model whose limits and drives were used.
    """
    frames = (
        f"Gravity ({', '.join(f'{g:g}' for g in robot.gravity)}) m/s² in the frame of "
        f"'{robot.base}'; the tool is '{robot.tip}'.",
        "Link parameters are about the link frames of the URDF; friction is Fv dq + Fc tanh(dq / "
        "eps) + Fo with one eps for all models; Ia is the rotor inertia at the joint.",
    )
    assumptions = Section(
        title="Assumptions",
        notes=(*notes, *frames, f"Limits and drives below are those of the {limits_of} model."),
        tables=(limits_table(robot),),
    )
    packages = ", ".join(f"{name} {version}" for name, version in recipe.versions.items())
    reproduction = Section(
        title="Reproduce",
        text=f"Seed {recipe.seed}. The same command, versions and kind of machine give the same "
        f"numbers to the bit: {packages}.",
        code=f"{recipe.command}\n\n# configuration, where it differs from the defaults (JSON)\n"
        f"{recipe.settings}",
    )
    return assumptions, *more, reproduction


def make_export_sections(consistent: ConsistentRobot | None) -> tuple[Section, ...]:
    """Build the section on parameters that a URDF cannot represent; empty if there are none."""
    notes = () if consistent is None else list_urdf_losses(consistent.robot)
    text = "`identified.urdf` loads in other tools; keep its meshes in the same folder."
    return (Section(title="In other tools", text=text, notes=notes),) if notes else ()
