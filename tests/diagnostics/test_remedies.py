"""A remedy that is followed is the end of its cause."""

import re
from dataclasses import replace

import numpy as np
import pytest
from damages import damages
from measured import measured
from robots import urdf_path

from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.model.robot import Robot


@pytest.fixture(scope="module")
def ur10():
    return measured(Robot.from_urdf(urdf_path("ur10")))


def number_in(text: str) -> float:
    return float(re.findall(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", text)[-1])


def followed(cause, log):
    """Return the log as the remedy of a cause says."""
    j = [log.joint_names.index(name) for name in cause.joints] or list(range(log.dof))
    q, tau = log.q.copy(), log.tau_meas.copy()
    match cause.kind:
        case "position-units":
            q *= number_in(cause.remedy)
        case "position-sign":
            q[:, j] *= -1.0
        case "position-zero":
            q[:, j] += float(re.findall(r"add (\S+) rad", cause.remedy)[0])
        case "torque-sign":
            tau[:, j] *= -1.0
        case "torque-scale":
            tau[:, j] *= number_in(cause.remedy)
        case "torque-columns":
            tau[:, j] = tau[:, j[::-1]]
        case "position-columns":
            q[:, j] = q[:, j[::-1]]
        case "clock-rate":
            return replace(log, t=number_in(cause.remedy) * log.t)
        case "torque-delay":
            return replace(log, torque_time_offset=number_in(cause.remedy))
    return replace(log, q=q, tau_meas=tau)


NAMES = [d.name for d in damages(6, 2, (1, 2)) if d.kind != "coupled-joints"]  # a map's remedy


@pytest.mark.parametrize("name", NAMES)
def test_a_cause_whose_remedy_is_followed_is_not_named_again(cell, name) -> None:
    damage = next(d for d in damages(6, 2, (1, 2)) if d.name == name)
    log = damage.change(cell.log)
    for cause in diagnose(log, cell.nominal, cell.basis).causes:
        after = diagnose(followed(cause, log), cell.nominal, cell.basis).causes
        # One that was about right may leave a few percent.
        assert cause.sentence not in {each.sentence for each in after}
        assert {each.kind for each in after} <= {"torque-scale"}


@pytest.mark.slow
@pytest.mark.parametrize("joint", range(6))
def test_no_sign_is_named_again_once_it_is_turned(ur10, joint) -> None:
    """The last joints of this model have torques of a few mN m, below any noise."""
    signs = np.where(np.arange(6) == joint, -1.0, 1.0)
    log = replace(ur10.log, tau_meas=signs * ur10.log.tau_meas)
    for cause in diagnose(log, ur10.nominal, ur10.basis).causes:
        if cause.kind == "torque-sign":
            after = diagnose(followed(cause, log), ur10.nominal, ur10.basis).causes
            assert "torque-sign" not in {each.kind for each in after}
