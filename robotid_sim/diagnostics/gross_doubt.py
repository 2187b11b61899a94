"""Whether a fit is in doubt because of a gross error of its log, which the fit does not show."""

import numpy as np

from robotid_sim.diagnostics.cause import Amendment, Wording
from robotid_sim.diagnostics.coupling_causes import COUPLED, coupling_causes
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.gross_causes import gross_cause
from robotid_sim.diagnostics.search import MARGIN
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot


def gross_doubt(motion: Motion, nominal: Robot, basis: BaseParameters) -> str:
    """Return joint, error and remedy of a gross error of a log, without a full stop.

    Empty if there is none, or if the log is too short for a comparison.
    """
    if motion.row_filter is None:
        return ""
    try:
        evidence = Evidence.of(motion, nominal, basis)
    except LogError:
        return ""
    gross = gross_cause(evidence, MARGIN)
    if gross is None:
        return _coupling(evidence)
    candidate: Amendment = gross[0]
    words = candidate.words
    text = words if isinstance(words, Wording) else words(candidate.correction)
    return _sentence(evidence, candidate.joints, text)


def _coupling(evidence: Evidence) -> str:
    """Return the joints whose coupling explains most of a residual; empty if there are none."""
    plain = np.arange(evidence.plain)
    fit = evidence.held_out().fit(plain)
    best, words = MARGIN, ""
    for candidate in coupling_causes(evidence, fit):
        held = evidence.held_out(candidate.columns)
        columns = np.arange(evidence.plain + candidate.columns.shape[2])
        coupled = held.fit(columns)
        value = coupled.beta[evidence.plain :]
        if (fit.sigma / coupled.sigma).max() < COUPLED or not candidate.allows(value):
            continue
        gains = held.score(columns) - held.score(plain)
        if gains.sum() - gains.max() > best:
            best = float(gains.sum() - gains.max())
            words = _sentence(evidence, candidate.joints, candidate.words(value))
    return words


def _sentence(evidence: Evidence, joints: tuple[int, ...], words: Wording) -> str:
    names = ", ".join(evidence.nominal.joint_names[j] for j in joints)
    return f"{f'{names}: ' if names else ''}{words.finding}; {words.remedy}"
