"""Python and the command line answer alike: the same values, and the same refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from short_study import SHORT

import robotid_sim as rid
from robotid_sim.cli.app import main
from robotid_sim.errors import RobotIdError
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.study import plan_study
from robotid_sim.trajectory.trajectory_files import load_trajectory

pytestmark = pytest.mark.slow

ROBOT = "twolink"

TIMES = ("seconds", "time", "timings", "created", "out", "file", "log", "trajectory", "logs")
"""Entries that say when or where, not what."""


def plain(content: object) -> object:
    """Return JSON values without what says when or where."""
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items() if key not in TIMES}
    return [plain(each) for each in content] if isinstance(content, list | tuple) else content


def of_python(content: object) -> object:
    return plain(json.loads(json.dumps(content)))


@pytest.fixture
def printed(capsys):
    """Return a function that runs a command and gives the object that it prints."""

    def run(*words: object) -> tuple[int, object]:
        capsys.readouterr()
        code = main([*map(str, words), "--json"])
        return code, plain(json.loads(capsys.readouterr().out))

    return run


class Chain:
    """A short chain of files, and the values that they hold."""

    def __init__(self, folder: Path) -> None:
        self.path, self.log, self.unseen = (folder / n for n in ("p.json", "log.h5", "new.h5"))
        self.estimate, self.again = folder / "a.json", folder / "b.json"
        self.loaded = folder / "loaded.h5"
        self.short = folder / "short.toml"
        self.short.write_text(SHORT)
        self.config = rid.StudyConfig().quick()
        self.nominal = rid.build_setup(ROBOT, self.config).nominal
        rid.design(ROBOT, self.config).write(self.path)
        seeds = {self.log: 0, self.unseen: 1}
        for file, seed in seeds.items():
            rid.simulate(ROBOT, self.path, rng=seed).write(file)
        heavy = self.config.robot.model_copy(update={"payload": None})
        heavy_robot = rid.build_robot(ROBOT, heavy).with_payload(2.0)
        rid.simulate(heavy_robot, self.path, nominal=self.nominal, rng=2).write(self.loaded)
        for file, source in ((self.estimate, self.log), (self.again, self.unseen)):
            fit = rid.identify(rid.read_logs(source, self.nominal), self.nominal)
            fit.write_files(file, file.with_suffix(".csv"))

    def logs(self, file: Path) -> rid.Logs:
        return rid.read_logs(file, self.nominal)


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Chain:
    return Chain(tmp_path_factory.mktemp("chain"))


def test_check(printed) -> None:
    assert printed("check", ROBOT) == (0, of_python(rid.check(ROBOT).content()))


def test_design(printed, chain, tmp_path) -> None:
    words = ("design", ROBOT, "--quick", "-o", tmp_path / "p.json")
    assert printed(*words) == (0, of_python(rid.design(ROBOT, chain.config).content()))


def test_simulate(printed, chain, tmp_path) -> None:
    words = ("simulate", ROBOT, "--trajectory", chain.path, "-o", tmp_path / "l.h5")
    assert printed(*words) == (0, of_python(rid.simulate(ROBOT, chain.path).content()))


def test_identify_with_data_held_out(printed, chain, tmp_path) -> None:
    words = ("identify", ROBOT, chain.log, "-o", tmp_path / "e.json", "--hold-out", "last:40%")
    fit = rid.identify(chain.logs(chain.log), chain.nominal, hold_out="last:40%")
    assert printed(*words) == (0, of_python({"robot": ROBOT, **fit.content()}))


def test_diagnose(printed, chain) -> None:
    done = rid.diagnose(chain.logs(chain.log), chain.nominal)
    expected = (0 if done.is_healthy else 1, of_python({"robot": ROBOT, **done.content()}))
    assert printed("diagnose", ROBOT, chain.log) == expected


def test_predict_from_a_file_and_from_the_identification(printed, chain) -> None:
    unseen = chain.logs(chain.unseen)
    fit = rid.identify(chain.logs(chain.log), chain.nominal)
    code, content = printed("predict", ROBOT, chain.estimate, chain.unseen)
    for estimate in (chain.estimate, fit):
        assert content == of_python(rid.predict(estimate, unseen, chain.nominal).content())
    assert code == 0


def test_validate(printed, chain) -> None:
    words = ("validate", ROBOT, chain.estimate, "--log", chain.unseen, "--quick", "--workers", 1)
    done = rid.validate(chain.estimate, ROBOT, chain.config, log=chain.unseen)
    assert printed(*words) == (0 if done.passed else 1, of_python(done.content()))


def test_compare(printed, chain) -> None:
    done = rid.compare([chain.estimate, chain.again])
    code, content = printed("compare", chain.estimate, chain.again)
    assert (code, content) == (0 if done.passed else 1, of_python(done.content()))


def test_payload(printed, chain) -> None:
    done = rid.payload(chain.logs(chain.log), chain.logs(chain.loaded), chain.nominal)
    expected = (0 if done.passed else 1, of_python(done.content()))
    assert printed("payload", ROBOT, chain.log, chain.loaded) == expected


def test_a_study_that_is_only_planned(printed, chain, tmp_path) -> None:
    plan = plan_study(ROBOT, tmp_path / "out", chain.config)
    words = ("run", ROBOT, "--quick", "--dry-run", "--out", tmp_path / "out")
    assert printed(*words) == (0, of_python(plan))


def test_run_and_certify(printed, chain, tmp_path) -> None:
    config, common = load_config(chain.short).quick(), ("--config", chain.short, "--quick")
    words = ("run", ROBOT, *common, "--out", tmp_path / "a", "--workers", 1)
    study = rid.run_study(ROBOT, tmp_path / "b", config)
    passed = study.result.verdict.passed
    assert printed(*words) == (0 if passed else 1, of_python(study.result.content()))
    words = ("certify", ROBOT, *common, "--out", tmp_path / "c", "--workers", 1)
    proof = rid.certify(ROBOT, config)
    assert printed(*words) == (0 if proof.verdict.passed else 1, of_python(proof.content()))


def test_a_campaign(printed, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "Two seeds."\nseeds = 2\nrobot = "twolink"\n[study.estimation]\n'
        'estimators = ["wls"]\nchosen = "wls"\n'
    )
    from robotid_sim.campaign.outcome import plan_campaign

    code, content = printed("campaign", "run", plan, "--dry-run", "--out", tmp_path / "c")
    assert code == 0
    forecast = plan_campaign(rid.load_plan(plan), tmp_path / "c", workers=1)
    assert content["trials"] == forecast.content["trials"] == 2


def damaged(chain: Chain, kind: str) -> rid.Log:
    """Return the log with an error that no robot like the nominal one can have recorded."""
    log = replace(rid.load_log(chain.log), truth=None)
    if kind == "sign":
        return replace(log, tau_meas=log.tau_meas * np.array([-1.0, 1.0]), tau_cmd=None)
    return replace(log, q=np.degrees(log.q), dq=None)


@pytest.mark.parametrize("kind", ["sign", "degrees"])
@pytest.mark.parametrize("task", ["identify", "predict", "payload"])
def test_a_wrong_log_is_refused_alike(chain, tmp_path, capsys, kind, task) -> None:
    file = tmp_path / "wrong.h5"
    rid.save_log(damaged(chain, kind), file)
    words = {
        "identify": (file, "-o", tmp_path / "e.json"),
        "predict": (chain.estimate, file),
        "payload": (file, chain.loaded),
    }[task]
    assert main([task, ROBOT, *map(str, words)]) == 2
    said = capsys.readouterr().err.removeprefix("robotid: ").strip()
    logs, nominal = chain.logs(file), chain.nominal
    call = {
        "identify": lambda: rid.identify(logs, nominal),
        "predict": lambda: rid.predict(chain.estimate, logs, nominal),
        "payload": lambda: rid.payload(logs, chain.logs(chain.loaded), nominal),
    }[task]
    with pytest.raises(RobotIdError) as refusal:
        call()
    assert said == " ".join(str(refusal.value).split())


def test_another_robots_estimate_is_refused_alike(chain, capsys) -> None:
    arm = rid.load_robot("irb140")
    calls = {
        ("predict", "irb140", chain.estimate, chain.log): lambda: rid.predict(
            chain.estimate, rid.load_log(chain.log), arm
        ),
        ("validate", "irb140", chain.estimate): lambda: rid.validate(chain.estimate, arm),
    }
    for words, call in calls.items():
        assert main([*map(str, words)]) == 2
        said = capsys.readouterr().err.removeprefix("robotid: ").strip()
        with pytest.raises(RobotIdError) as refusal:
            call()
        assert said == " ".join(str(refusal.value).split())


def test_the_plan_of_a_fit_is_that_of_its_keywords(chain) -> None:
    log = chain.logs(chain.log)
    planned = rid.identify(log, chain.nominal, plan=build_fit(rid.StudyConfig()))
    assert of_python(planned.content()) == of_python(rid.identify(log, chain.nominal).content())
    assert load_trajectory(chain.path, chain.nominal).joint_names == chain.nominal.joint_names
