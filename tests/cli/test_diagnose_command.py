"""``robotid diagnose``: a cause by name or nothing, and the exit code that goes with it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import DATA

from robotid_sim.measurement.files import save_log

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def logs(arm, tmp_path_factory):
    """A sound log of a machine, and one with an offset of a torque."""
    folder = tmp_path_factory.mktemp("diagnose")
    sound = measured(arm).log
    tau = sound.tau_meas + np.array([0.0, 0.2 * sound.tau_meas[:, 1].std()])
    for name, log in (("sound.h5", sound), ("offset.h5", replace(sound, tau_meas=tau))):
        save_log(log, folder / name)
    return folder / "sound.h5", folder / "offset.h5"


def test_a_sound_log_is_passed_with_one_line(robotid, logs):
    done = robotid("diagnose", ARM, logs[0])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Nothing speaks against the model.\n")
    assert "identify names and allows for" in " ".join(done.out.split())
    content = json.loads(robotid("diagnose", ARM, logs[0], "--json").out)
    assert (content["robot"], content["healthy"], content["causes"]) == ("2r", True, [])


def test_a_cause_is_named_with_joint_evidence_and_remedy(robotid, logs):
    done = robotid("diagnose", ARM, logs[1])
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0].startswith("1. torque-offset: elbow: the measured torque has an offset of +")
    assert "   Evidence: the likelihood of rows left out of the fit rises by" in done.out
    assert "   Remedy: zero the torque sensor" in done.out
    done = robotid("diagnose", ARM, logs[1], "--json")
    assert done.code == 1
    (cause,) = json.loads(done.out, parse_constant=pytest.fail)["causes"]
    assert (cause["kind"], cause["joints"]) == ("torque-offset", ["elbow"])
    assert cause["gain"] > 10.0 * cause["gain_std"] > 0.0


@pytest.mark.slow
def test_the_page_of_an_identification_has_the_diagnosis(robotid, logs, tmp_path):
    for log, text in zip(
        logs, ("Nothing speaks against the model", "zero the torque"), strict=True
    ):
        page = tmp_path / f"{log.stem}.html"
        words = ("-o", tmp_path / f"{log.stem}.json", "--report", page)
        done = robotid("identify", ARM, log, *words)
        assert done.code == 0
        told = "`robotid diagnose` looks for their cause" in " ".join(done.out.split())
        assert told == (log == logs[1])
        html = page.read_text(encoding="utf-8")
        assert ">Diagnosis<" in html
        assert text in html
        finding = html[: html.index(">Diagnosis<")]
        wrong = "Something is wrong, see Diagnosis. elbow: the measured torque has an offset of"
        assert (wrong in finding) == (log == logs[1])


def test_a_log_of_another_robot_is_one_line(refused, logs):
    assert "the log is of another robot" in refused("diagnose", "irb140", logs[0])
