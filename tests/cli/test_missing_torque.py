"""A joint whose torque was not recorded: its rows are left out, all else is identified."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import LogError
from robotid_sim.estimation.estimate import load_estimates
from robotid_sim.importing.importer import import_log
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.pipeline.study import Study


@pytest.fixture(scope="module")
def whole(quick_study) -> Study:
    """Return a study whose logs have every torque."""
    return quick_study[0]


def without(log: Log, *joints: int) -> Log:
    """Return the log as of a machine that has not recorded some torques."""
    recorded = ~np.isin(np.arange(log.dof), joints)
    return replace(log, truth=None, origin="machine", tau_meas=log.tau_meas * recorded)


def written(log: Log, path, absent: int, value: float | None) -> None:
    """Write positions and torques, those of a joint as a constant or not at all."""
    names = [name for j, name in enumerate(log.joint_names) if value is not None or j != absent]
    tau = np.array(log.tau_meas)
    tau[:, absent] = np.nan if value is None else value
    kept = [j for j, name in enumerate(log.joint_names) if name in names]
    head = ["time", *(f"{n}_pos" for n in log.joint_names), *(f"{n}_torque" for n in names)]
    table = np.column_stack([log.t, log.q, tau[:, kept]])
    np.savetxt(path, table, delimiter=",", header=",".join(head), comments="", fmt="%.9g")


@pytest.mark.slow
@pytest.mark.parametrize("absent", sampled((1, 2, 5), 2))
def test_the_others_are_identified_as_with_it(robotid, whole, tmp_path, absent) -> None:
    log, robot = without(whole.log, absent), load_robot("irb140")
    save_log(log, tmp_path / "log.h5")
    nominal = tmp_path / "nominal.urdf"
    write_urdf(whole.nominal, nominal)
    done = robotid("identify", nominal, tmp_path / "log.h5", "-o", tmp_path / "e.json")
    assert done.code == 0, done.out
    told = " ".join(done.out.split())
    assert f"No torque of joint_{absent + 1} was recorded: its rows are left out" in told
    (*_, estimate), context = load_estimates(tmp_path / "e.json")
    assert context["torque_measured"] == log.torque_measured.tolist()
    basis = base_parameters(robot, measured=log.torque_measured)
    assert estimate.names == basis.names
    ratio = (estimate.beta - basis.of(robot.parameters())) / estimate.std
    assert np.abs(ratio).max() < 4.5
    assert np.mean(np.abs(ratio) < 1.96) > 0.85
    done = robotid("diagnose", nominal, tmp_path / "log.h5")
    assert done.code == 0, done.out
    assert "Nothing speaks against the model" in done.out
    save_log(replace(whole.unseen, truth=None), tmp_path / "unseen.h5")
    done = robotid("predict", nominal, tmp_path / "e.json", tmp_path / "unseen.h5", "--json")
    assert done.code == 0, done.err


@pytest.mark.parametrize("value", [None, np.nan, 0.0], ids=["no column", "no numbers", "zeros"])
def test_an_import_says_so(whole, tmp_path, value) -> None:
    written(whole.log, tmp_path / "log.csv", 3, value)
    imported = import_log([tmp_path / "log.csv"], whole.nominal)
    assert "no torque of joint_4 is recorded; a fit leaves its rows out" in imported.notes
    assert imported.log.torque_measured.tolist() == [True, True, True, False, True, True]


def test_no_torque_at_all_is_refused(whole) -> None:
    with pytest.raises(LogError, match=r"measured torque of joint_1, joint_2, .* is the same"):
        without(whole.log, *range(6)).require_torques()


@pytest.mark.slow
def test_a_load_is_found_by_the_other_joints(robotid, refused, whole, tmp_path) -> None:
    config, path = tmp_path / "quick.toml", tmp_path / "path.json"
    config.write_text(
        "[design]\ncandidates = 8\niterations = 5\nperiods = 2\n[experiment]\nrate = 250.0\n"
    )
    assert robotid("design", "irb140", "-o", path, "--config", config).code == 0
    both = [tmp_path / "bare.h5", tmp_path / "loaded.h5"]
    for file, words in zip(both, ((), ("--payload", "1.0", "--seed", 1)), strict=True):
        words = ("--trajectory", path, "-o", file, "--config", config, *words)
        done = robotid("simulate", "irb140", *words)
        assert done.code == 0
        save_log(without(load_log(file), 3), file)
    done = robotid("payload", "irb140", *both, "--json")
    assert done.code == 0
    content = json.loads(done.out)
    off = np.array([content["parameters"]["mL"] - 1.0, content["parameters"]["mzL"]])
    std = np.array([content["parameters_std"][name] for name in ("mL", "mzL")])
    assert (np.abs(off) < 4.0 * std).all()
    assert (std < 0.01).all()
    assert "the torque of joint_4 is not in both logs" in refused(
        "payload", "irb140", *both, "--load", "1.0"
    )
