"""Numbers as a report prints them, and the tables that several pages share."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.model.robot import Robot
from robotid_sim.report.recipe import Recipe
from robotid_sim.section import Section, Table, number
from robotid_sim.study.result import CheckResult

CHECKS = {
    "limits_respected": "largest use of position, velocity or acceleration limits",
    "rank_full": "directions of the parameter space visible above the noise",
    "consistent_urdf_reloaded": "torque difference after reloading the written URDF, relative",
    "model_error_unseen": "model error on the unseen motion, share of the RMS torque",
    "residual_over_expected_noise": "residual over what the sensor noise explains",
    "no_saturation": "samples with a clipped torque",
    "nees_in_band": "error of weighted least squares over its stated accuracy (NEES; its inverse, "
    "if that is larger)",
    "consistent_fit_over_least_squares": "squared error of the consistent fit over least squares",
    "tracking_gap_left": "share of the tracking gap to the true model that is left",
    "torque_mismatch_left": "torque error along the laps over the nominal model's",
    "failed_loops": "closed-loop runs that diverged or ended in a bad command",
}


def unit_text(unit: str) -> str:
    """Return a unit as a page prints it."""
    return unit.replace("^2", "²")


def check_table(checks: Sequence[CheckResult]) -> Table:
    """Return the checks of a verdict."""
    rows = []
    for check in checks:
        what = " ".join(filter(None, (CHECKS.get(check.name, ""), check.message)))
        rows.append((check.name, what, number(check.value), _limit(check)))
    return Table(
        columns=("check", "what", "value", "limit"),
        rows=tuple(rows),
        text_columns=2,
        marks=tuple(check.passed for check in checks),
    )


def _limit(check: CheckResult) -> str:
    """Return the limit of a check, with both ends where it has two."""
    if check.name == "nees_in_band" and check.limit:
        return f"{number(1.0 / check.limit)} … {number(check.limit)}"
    return f"{'=' if check.name == 'rank_full' else '≤'} {number(check.limit)}"


def relative_text(std: float, value: float) -> str:
    """Return a standard deviation in percent of its value; beyond 100 there is nothing to tell."""
    return "> 100" if std >= abs(value) else number(100.0 * std / abs(value), 2)


def units_of(joint_units: Sequence[str], revolute: str, prismatic: str) -> str:
    """Return the units of a column of joints: both where both kinds of joint are there."""
    kinds = dict.fromkeys(prismatic if unit == "m" else revolute for unit in joint_units)
    return ", ".join(kinds)


def limits_table(robot: Robot) -> Table:
    """Return the limits and the friction of the joints."""
    rows = []
    for joint in robot.joints:
        unit = "m" if joint.prismatic else "rad"
        law = joint.friction
        rows.append(
            (
                joint.name,
                f"{joint.lower:.4g} … {joint.upper:.4g} {unit}",
                f"{joint.velocity:.4g} {unit}/s",
                f"{joint.acceleration:.4g} {unit}/s²",
                number(joint.effort) if np.isfinite(joint.effort) else "none",
                *(number(v) for v in (law.Fv, law.Fc, law.Fo, law.eps, joint.rotor_inertia)),
            )
        )
    torque = units_of(robot.joint_units, "N m", "N")
    columns = ("joint", "position", "velocity", "acceleration", f"torque [{torque}]")
    friction = (
        f"Fv [{units_of(robot.joint_units, 'N m s/rad', 'N s/m')}]",
        f"Fc [{torque}]",
        f"Fo [{torque}]",
        f"eps [{units_of(robot.joint_units, 'rad/s', 'm/s')}]",
        f"Ia [{units_of(robot.joint_units, 'kg m²', 'kg')}]",
    )
    return Table(columns=columns + friction, rows=tuple(rows), title="Limits and drives")


def assumptions(robot: Robot, notes: Sequence[str], limits_of: str) -> Section:
    """Return what was assumed about a robot, and the limits and drives that were used."""
    frames = (
        f"Gravity ({', '.join(f'{g:g}' for g in robot.gravity)}) m/s² in the frame of "
        f"'{robot.base}'; the tool is '{robot.tip}'.",
        "Link parameters are about the link frames of the URDF; friction is "
        "Fv dq + Fc tanh(dq / eps) + Fo, eps a constant that the models share; Ia is the "
        "inertia of a drive's rotor, seen at the joint.",
    )
    return Section(
        title="Assumptions",
        notes=(*notes, *frames, f"Limits and drives below are those of the {limits_of} model."),
        tables=(limits_table(robot),),
    )


def reproduction(recipe: Recipe) -> Section:
    """Return how a reader gets the same page: command, versions, seed, configuration."""
    packages = ", ".join(f"{name} {version}" for name, version in recipe.versions.items())
    return Section(
        title="Reproduce",
        text=f"Seed {recipe.seed}. The same command with the same versions on the same kind of "
        f"machine gives the same numbers, bit for bit: {packages}.",
        code=f"{recipe.command}\n\n# configuration, where it differs from the defaults (JSON)\n"
        f"{recipe.settings}",
    )
