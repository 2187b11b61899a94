"""A study in words and tables: what was done, how good, the verdict."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.pipeline.contacts import contact_notes
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.study import Study
from robotid_sim.report.loop_section import model_table
from robotid_sim.report.tables import (
    check_table,
    filter_table,
    joint_table,
    nees_band,
    nees_of,
    scored_table,
)
from robotid_sim.report.text.parts import Text


def study_text(done: Study, folder: Path, seconds: float) -> Iterator[Text]:
    """Return a study as a person reads it: what was done, how good, the verdict."""
    result, chosen = done.result, done.result.chosen_estimate
    yield from _setting_text(result)
    yield ""
    yield joint_table(result)
    yield ""
    ratios = [
        abs(p.value - p.true) / p.std
        for p in chosen.base_parameters
        if p.std is not None and p.true is not None
    ]
    if ratios:
        nees = nees_of(result)
        text = "" if nees is None else f"; NEES of WLS {nees:.3g}, {nees_band(result)}"
        yield (
            f"base parameters: |error| / std median {np.median(ratios):.2f}, worst "
            f"{max(ratios):.2f}{text}"
        )
        yield ""
    tables = [scored_table(result)]
    if result.preprocessing.compared:
        noise = result.measurement.torque_noise_std
        tables.append(filter_table(result.preprocessing.compared, noise))
    if done.loop is not None and done.loop.runs:
        tables.append(model_table(done.loop, result.robot.joint_units))
    tables.append(check_table(result.verdict.checks))
    for table in tables:
        yield table
        yield ""
    verdict = "PASSED" if result.verdict.passed else "FAILED"
    yield f"verdict: {verdict} in {seconds:.1f} s; see {folder / 'report.html'}"


def _setting_text(result: StudyResult) -> Iterator[Text]:
    """Return robot, excitation and preprocessing."""
    robot, path = result.robot, result.trajectory
    yield (
        f"{robot.name}: {robot.dof} joints, {len(result.chosen_estimate.base_parameters)} base "
        f"parameters, seed {result.seed}"
    )
    for note in result.assumptions:
        yield f"  assumed: {note}"
    yield (
        f"excitation: {path.family}, {path.criterion}, {path.duration_s:g} s of motion; "
        f"condition number {path.cond_raw:.3g} raw, {path.cond_normalized:.3g} normalized; uses "
        f"{path.max_position_ratio:.0%} of position, {path.max_velocity_ratio:.0%} of velocity, "
        f"{path.max_torque_ratio_nominal:.0%} of torque limits"
    )
    if (path.max_torque_ratio_true or 0.0) > 1.0:
        yield (
            f"  the true model needs {path.max_torque_ratio_true:.0%} of a torque limit, which the "
            "nominal model did not foresee; lower torque_ratio or state an uncertainty"
        )
    for note in contact_notes(result.contacts):
        yield f"  {note}"
    if result.preprocessing.message:
        yield "preprocessing:"
        for decision in result.preprocessing.message.split("; "):
            yield f"  {decision}"


def plan_text(plan: Mapping[str, Any]) -> Iterator[Text]:
    """Return what a study would do."""
    for key, value in plan.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{key:16} {text}"
