"""Parts of a user's own: in Python as objects, on the command line by a plugin, checked alike."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from measured import measured
from robots import urdf_path

from robotid_sim import plugins, testing
from robotid_sim.control import CONTROLLERS
from robotid_sim.errors import LogError, OptionError, PluginError, RobotIdError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.plan import SwarmSearch
from robotid_sim.experiment.conditions import CONDITIONS
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure, replicate_measurement
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import FitPlan, PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.study import run_study
from robotid_sim.plugins import _import_file, fault_of_plugin, load_plugins
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.tasks import TASKS
from robotid_sim.validation.comparison import Comparison

PARTS = Path(__file__).parents[1] / "data" / "own_parts.py"
REGISTRIES = (
    *(SENSORS, PREPROCESSORS, ESTIMATORS, OPTIMIZERS, CRITERIA, FAMILIES),
    *(CONTROLLERS, TASKS, CONDITIONS, FRICTION_LAWS),
)

STUDY = """
plugins = ["own_parts.py"]
[sensors.encoder-noise]
[sensors.torque-noise]
[sensors.own-bias]
[experiment]
friction = { law = "own-friction" }
[design]
family = "own-series"
criterion = "own-optimality"
solver = "own-search"
population = 10
generations = 6
period = 5.0
harmonics = 3
[preprocess]
name = "own-smoother"
[estimation]
estimators = ["wls", "own-ridge"]
chosen = "own-ridge"
[control]
controllers = ["own-law"]
baselines = []
scenarios = ["own-push"]
[control.tasks.own-move]
seconds = 15.0
"""
"""Every family has a part of the user's own."""


@pytest.fixture
def clean_registries(monkeypatch):
    """Give every registry back as it was."""
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        monkeypatch.setattr(registry, "_origins", dict(registry._origins))


@pytest.fixture
def own(clean_registries):
    """The module of a user's own parts, registered for the time of a test."""
    return _import_file(PARTS)


def test_the_checks_pass_for_every_part(own):
    testing.check_sensor(own.TorqueBias())
    testing.check_preprocessor(own.OwnSmoother())
    testing.check_estimator(own.Shrunken())
    testing.check_optimizer(own.ShrinkingSearch())
    testing.check_criterion(own.OwnOptimality())
    testing.check_family(own.ShortSeries())
    testing.check_controller(own.OwnLaw.from_gains)
    testing.check_task(own.OwnMove())
    testing.check_condition(own.OwnPush())
    testing.check_friction_law(own.OwnFriction())


def with_own_parts(own, folder):
    """Return a study of the small arm with one object of the user's own a family."""
    setup = build_setup(urdf_path("2r"), load_config(None, {"control": {"enabled": False}}).quick())
    return replace(
        setup,
        cell=replace(
            setup.cell,
            sensors=(EncoderNoise(), TorqueNoise(), own.TorqueBias()),
            friction=own.OwnFriction(),
        ),
        excitation=replace(
            setup.excitation,
            family=own.ShortSeries(period=5.0, periods=2),
            criterion=own.OwnOptimality(),
            search=SwarmSearch(method=own.ShrinkingSearch(), population=10, generations=6),
        ),
        fit=FitPlan(
            preprocessor=own.OwnSmoother(),
            estimators={"wls": WeightedLeastSquares(), "own-ridge": own.Shrunken()},
            chosen="own-ridge",
        ),
        comparison=Comparison(
            controllers={"own-law": own.OwnLaw.from_gains},
            baselines={},
            tasks={"own-move": own.OwnMove(seconds=15.0)},
            scenarios={"own-push": (own.OwnPush(),)},
            slow_lap=None,
        ),
    )


@pytest.mark.slow
def test_a_study_runs_with_objects_and_by_names_of_the_users_own_parts(own, tmp_path):
    result = run_study(with_own_parts(own, tmp_path), tmp_path / "here", workers=2).result
    assert (result.trajectory.family, result.trajectory.criterion) == (
        "own-series",
        "own-optimality",
    )
    assert result.preprocessing.chosen == "own-smoother"
    assert [e.estimator for e in result.estimates] == ["wls", "own-ridge"]
    runs = {(run.controller, run.task, run.scenario, run.model) for run in result.control}
    assert ("own-law", "own-move", "own-push", "identified") in runs
    assert max(result.estimates[1].validation.model_error_relative) < 0.01

    (tmp_path / "own_parts.py").write_text(PARTS.read_text())
    (tmp_path / "study.toml").write_text(STUDY)
    command = [
        *(sys.executable, "-m", "robotid_sim", "run", str(urdf_path("2r"))),
        *("--quick", "--config", "study.toml", "--trust-plugins", "--workers", "2", "--out", "out"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    content = json.loads((tmp_path / "out" / "result.json").read_text())
    theirs = [[p["value"] for p in e["base_parameters"]] for e in content["estimates"]]
    assert theirs == [[p.value for p in e.base_parameters] for e in result.estimates]
    assert [run["rms_error"] for run in content["control"]] == [
        r.rms_error.tolist() for r in result.control
    ]
    assert content["preprocessing"]["chosen"] == "own-smoother"


@pytest.mark.slow
def test_list_shows_a_plugin_with_its_origin(tmp_path):
    command = [sys.executable, "-m", "robotid_sim", "list", "sensors", "--json"]
    done = subprocess.run(
        [*command, "--plugin", str(PARTS)], capture_output=True, text=True, timeout=120, check=True
    )
    row = next(row for row in json.loads(done.stdout) if row["name"] == "own-bias")
    assert row["source"] == "plugin robotid_plugin_own_parts"
    assert row["summary"] == "A torque sensor whose zero is off."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("syntax error", "SyntaxError"),
        (
            "from robotid_sim.measurement import SENSORS\n"
            "SENSORS.register('encoder-noise', SENSORS['torque-noise'])",
            "would shadow",
        ),
        (
            "from robotid_sim.estimation import ESTIMATORS\nclass Bare: pass\n"
            "ESTIMATORS.register('bare', Bare)",
            "is not a dataclass",
        ),
        (
            "from dataclasses import dataclass\nfrom robotid_sim.tasks import TASKS\n"
            "@TASKS.register('idle')\n@dataclass\nclass Idle: pass",
            "it does not have runs",
        ),
        (
            "from robotid_sim.control import CONTROLLERS\n"
            "CONTROLLERS.register('My Law', CONTROLLERS['pid'])",
            "lower-case words",
        ),
        ("import sys\nsys.exit(3)", "ends the program while it is imported; remove its call of"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_line(clean_registries, tmp_path, text, words):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(PluginError, match=words) as caught:
        load_plugins([str(path)])
    assert str(caught.value).startswith(f"plugin {path}: ")
    assert "\n" not in str(caught.value)


def test_a_plugin_that_is_missing_is_named():
    with pytest.raises(PluginError, match=r"plugin nowhere\.py: no such file"):
        load_plugins(["nowhere.py"])
    with pytest.raises(PluginError, match="plugin no_module_at_all: ModuleNotFoundError"):
        load_plugins(["no_module_at_all"])


SLIPS = """
import joblib
import numpy as np

def slip():
    return np.zeros(3).shapes

def below():
    return np.linalg.inv(np.zeros(3))
"""


@pytest.mark.parametrize(("name", "line"), [("slip", 6), ("below", 9)])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_slip_of_a_plugin_is_no_bug_of_ours(monkeypatch, tmp_path, name, line, workers):
    path = tmp_path / f"slips_{name}_{workers}.py"
    path.write_text(SLIPS)
    monkeypatch.setattr(plugins, "_loaded", {})
    load_plugins([str(path)])
    slip = getattr(sys.modules[f"robotid_plugin_{path.stem}"], name)
    with pytest.raises((AttributeError, np.linalg.LinAlgError)) as caught:
        joblib.Parallel(n_jobs=workers)(joblib.delayed(slip)() for _ in range(2))
    kind = "AttributeError" if name == "slip" else "numpy.linalg.LinAlgError"
    fault = fault_of_plugin(caught.value)
    assert fault.startswith(f"plugin {path}, line {line}, in {name}: {kind}: ")
    assert "\n" not in fault
    with pytest.raises(KeyError) as ours:
        {}["no such"]
    assert fault_of_plugin(ours.value) is None


def test_a_plugin_that_ends_the_program_is_named(monkeypatch, tmp_path):
    path = tmp_path / "ends.py"
    path.write_text("import sys\n\ndef end():\n    sys.exit(3)\n")
    monkeypatch.setattr(plugins, "_loaded", {})
    load_plugins([str(path)])
    with pytest.raises(SystemExit) as caught:
        sys.modules["robotid_plugin_ends"].end()
    assert fault_of_plugin(caught.value) == f"plugin {path}, line 4, in end: SystemExit: 3"


class Nothing(WeightedLeastSquares):
    """An estimator that forgets to return."""

    def fit(self, problem, rng=None):
        """Return nothing."""


class OthersNames(WeightedLeastSquares):
    """An estimator whose parameters have names of their own."""

    def fit(self, problem, rng=None):
        """Return an estimate of other parameters."""
        estimate = super().fit(problem, rng)
        return replace(estimate, names=tuple(f"x{k}" for k in range(len(estimate.names))))


class TheLog(RtsSmoother):
    """A preprocessor that returns its log."""

    def __call__(self, log, nominal):
        """Return the log."""
        return log


class Cut(EncoderNoise):
    """A sensor that loses samples."""

    def __call__(self, log, rng):
        """Return the first half of a log."""
        half = slice(log.t.size // 2)
        none = dict.fromkeys(("truth", "tau_cmd", "dq"))
        return replace(log, t=log.t[half], q=log.q[half], tau_meas=log.tau_meas[half], **none)


def test_a_sensor_leaves_the_samples_as_they_are():
    log = measured(load_robot("twolink")).log
    with pytest.raises(RobotIdError, match="the result of Cut has different samples or joints"):
        measure(log, Cut(), np.random.default_rng(0))


class Short(WeightedLeastSquares):
    """An estimator that loses a parameter."""

    def fit(self, problem, rng=None):
        """Return an estimate with a short beta."""
        estimate = super().fit(problem, rng)
        return replace(estimate, beta=estimate.beta[:-1])


class Unfit(WeightedLeastSquares):
    """An estimator that divides by zero."""

    def fit(self, problem, rng=None):
        """Return an estimate without numbers."""
        estimate = super().fit(problem, rng)
        return replace(estimate, beta=np.nan * estimate.beta)


class Unfiltered(RtsSmoother):
    """A preprocessor that keeps every sample as a row."""

    def __call__(self, log, nominal):
        """Return a motion without a row filter."""
        return replace(super().__call__(log, nominal), row_filter=None)


class Unsmooth(RtsSmoother):
    """A preprocessor that divides by zero."""

    def __call__(self, log, nominal):
        """Return a motion without numbers."""
        motion = super().__call__(log, nominal)
        return replace(motion, tau=np.nan * motion.tau)


class Halved(RtsSmoother):
    """A preprocessor that loses samples."""

    def __call__(self, log, nominal):
        """Return the first half of a motion."""
        motion, half = super().__call__(log, nominal), slice(log.t.size // 2)
        channels = {name: getattr(motion, name)[half] for name in ("t", "q", "dq", "ddq", "tau")}
        return replace(motion, **channels)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            Short(),
            r"estimator 'mine' returns an invalid Estimate: beta has shape .*; correct its fit",
        ),
        (
            Unfit(),
            r"estimator 'mine' returns an invalid Estimate: beta is not finite .*correct its",
        ),
        (Nothing(), "the result of estimator 'mine' is of type NoneType, expected Estimate"),
        (OthersNames(), "the result of estimator 'mine' has other parameters or joints"),
        (TheLog(), "the result of TheLog is of type Log, expected Motion"),
        (Unfiltered(), r"the result of Unfiltered has no row_filter; set row_filter="),
        (Unsmooth(), r"preprocessor Unsmooth: tau is not finite .*; correct its __call__"),
        (Halved(), r"the result of Halved has different samples or joints"),
    ],
)
def test_what_a_part_returns_is_checked_and_names_the_part(part, said):
    case = measured(load_robot("twolink"))
    estimates = isinstance(part, WeightedLeastSquares)
    plan = FitPlan(
        preprocessor=RtsSmoother() if estimates else part,
        estimators={"mine": part if estimates else WeightedLeastSquares()},
        chosen="mine",
    )
    with pytest.raises(RobotIdError, match=said):
        fit_logs(case.log, case.nominal, case.basis, plan, np.random.default_rng(0))


@pytest.mark.parametrize("part", [Unfiltered(), Unsmooth(), Halved()])
def test_the_check_of_a_preprocessor_refuses_what_a_study_refuses(part):
    with pytest.raises(AssertionError, match=type(part).__name__):
        testing.check_preprocessor(part)


class Blind(EncoderNoise):
    """A sensor that divides by zero."""

    def __call__(self, log, rng):
        """Return a log without torques."""
        return replace(log, tau_meas=np.nan * log.tau_meas)


class OneJoint(EncoderNoise):
    """A sensor that sees the first joint only."""

    def __call__(self, log, rng):
        """Return the torque of a joint."""
        return replace(log, tau_meas=log.tau_meas[:, :1])


@pytest.mark.parametrize(
    ("sensor", "reason"),
    [(Blind(), "tau_meas is not finite at"), (OneJoint(), "tau_meas has shape")],
)
def test_a_wrong_array_of_a_sensor_names_the_sensor(sensor, reason):
    log, rng = measured(load_robot("twolink")).log, np.random.default_rng(0)
    said = rf"^sensor {type(sensor).__name__} makes an invalid log: {reason} .*its __call__$"
    for sense in (
        lambda: measure(log, sensor, rng),
        lambda: replicate_measurement(log, (sensor,), rng, 0.5),
    ):
        with pytest.raises(LogError, match=said) as caught:
            sense()
        assert "repair" not in str(caught.value)


@dataclass(frozen=True, kw_only=True)
class WithoutRows(Preprocessor):
    """A preprocessor that chooses the rows itself."""

    def __call__(self, log, nominal):
        """Return the motion of the smoother."""
        return RtsSmoother()(log, nominal)


@pytest.fixture
def registered(clean_registries):
    """The preprocessor without rows has a name for the time of a test."""
    PREPROCESSORS.register("without-rows", WithoutRows)


@pytest.mark.usefixtures("registered")
def test_a_preprocessor_without_a_field_for_rows_is_built_and_fits():
    part = build_preprocessor(PreprocessConfig(name="without-rows"))
    testing.check_preprocessor(part)
    case = measured(load_robot("twolink"))
    plan = FitPlan(preprocessor=part, estimators={"wls": WeightedLeastSquares()}, chosen="wls")
    fit = fit_logs(case.log, case.nominal, case.basis, plan, np.random.default_rng(0))
    assert fit.estimates[0].success


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("section", [{"rows": {"cutoff": 4.0}}, {"cutoffs": (4.0, 4.0)}])
def test_rows_for_a_preprocessor_that_chooses_them_are_refused(section):
    with pytest.raises(OptionError, match="'without-rows' chooses its rows itself; remove"):
        build_preprocessor(PreprocessConfig(name="without-rows", **section))
