"""The report of an identification from one log."""

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.report.finding import limits_of_noise
from robotid_sim.report.page import Page
from robotid_sim.report.sections import (
    parameters_section,
    prediction_section,
    preprocessing_section,
)
from robotid_sim.report.trust_section import trust_section
from robotid_sim.report.wording import assumptions, reproduction
from robotid_sim.section import Section, number, percent
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.stages import Identification
from robotid_sim.validation.prediction import predictions, rms


def identification_report(
    nominal: Robot,
    log: Log,
    found: Identification,
    config: StudyConfig,
    command: str,
    versions: dict[str, str],
) -> Page:
    """Return the report of an identification; like the stage, it does not look at any truth.

    Parameters
    ----------
    nominal : Robot
        What was known before.
    log : Log
        The log.
    found : Identification
        What was found in it.
    config, command, versions
        How to do it again.
    """
    chosen, basis = found.chosen, found.basis
    with threadpool_limits(1):
        sections = _sections(nominal, replace(log, truth=None), found)
    sentence = f"The fit failed: {chosen.message}."
    if chosen.success:
        worst = float(np.max(chosen.torque_rms / rms(found.problem.by_joint(found.problem.y))))
        sentence = f"The fit leaves at most {percent(worst)} of the RMS torque of a joint; "
        sentence += f"{limits_of_noise(chosen, basis)}."
    return Page(
        title=f"Identification of {nominal.name} from a log",
        finding=sentence,
        passed=None if chosen.success else False,
        facts=(
            ("rows", str(chosen.rows)),
            ("base parameters", str(len(chosen.names))),
            ("condition number", number(chosen.cond, 3)),
            ("identified robot", "none" if found.lift is None else found.lift.message),
        ),
        sections=(
            *sections,
            assumptions(nominal, nominal.assumptions, "nominal"),
            reproduction(command, config, versions),
        ),
    )


def _sections(nominal: Robot, log: Log, found: Identification) -> list[Section]:
    chosen, basis = found.chosen, found.basis
    sections = [
        preprocessing_section(found.preprocessor, log, nominal),
        parameters_section(
            found.estimates,
            chosen,
            basis,
            basis.of(nominal.parameters()),
            joint_units=nominal.joint_units,
        ),
    ]
    trust = trust_section(found)
    if trust is not None:
        sections.append(trust)
    if chosen.success:
        made = predictions(chosen.beta, log, nominal, basis, found.preprocessor)
        section = prediction_section(*made, chosen.noise_std, "fitted")
        text = "Measured and fitted torque of the log itself; try the estimate on another log "
        sections.append(replace(section, text=text + "with `robotid validate --log`."))
    return sections
