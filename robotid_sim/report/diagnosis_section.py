"""What is wrong with a log or with its model: the section of a diagnosis."""

from robotid_sim.diagnostics.cause import NOTHING, Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.errors import LogError
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.section import Section, Table
from robotid_sim.study.stages import Identification


def diagnosis_section(log: Log, fit: Identification) -> tuple[Section, ...]:
    """Return the diagnosis of an identification's log; nothing if the log is too short for one."""
    smoother = smoother_of(fit.preprocessor)
    try:
        diagnosis = diagnose(log, fit.nominal, fit.basis, smoother=smoother)
    except LogError:
        return ()
    return (section_of(diagnosis),)


def section_of(diagnosis: Diagnosis) -> Section:
    """Return a diagnosis as a section."""
    title = "Diagnosis"
    if diagnosis.healthy:
        return Section(title=title, text=NOTHING, notes=diagnosis.unseen)
    causes = diagnosis.causes
    table = Table.of(
        {
            "joint": [", ".join(cause.joints) or "all" for cause in causes],
            "finding": [cause.finding for cause in causes],
            "evidence": [cause.evidence for cause in causes],
            "remedy": [cause.remedy.replace("`", "") for cause in causes],
        },
        text_columns=4,
    )
    return Section(
        title=title,
        text="What explains the log better than the model alone, in the order in which it was "
        "found. A likelihood is that of rows that were left out of the fit, its logarithm with the "
        "standard error over eight blocks.",
        tables=(table,),
        notes=diagnosis.unseen,
    )
