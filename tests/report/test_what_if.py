"""What a page carries to fit again: factors, windows of time, and the configuration."""

import base64
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from lxml import html
from measured import measured
from robots import urdf_path

from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.reduction import Reduction, triangular_factor
from robotid_sim.estimation.restricted import ESTIMATOR_NAME, RestrictedLeastSquares, is_within
from robotid_sim.measurement.joined_motion import JoinedRowFilter
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.refit import pack_factors, refit_data, refit_of, windows_of
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.trust import fit_remarks
from robotid_sim.report.page import Page, write_page
from robotid_sim.report.sections import Recipe
from robotid_sim.report.what_if_section import (
    command_with_config,
    study_text,
    toml_text,
    what_if_section,
)
from robotid_sim.streams import Streams


@pytest.fixture(scope="module")
def run():
    """A measured log of the smallest arm."""
    return measured(Robot.from_urdf(urdf_path("2r")))


@pytest.fixture(scope="module")
def fit(run):
    plan = build_fit(load_config(None))
    return fit_logs(run.log, run.nominal, run.basis, plan, Streams(0)("identify"))


def recipe(config: StudyConfig | None = None, command="robotid run 2r -o out") -> Recipe:
    settings = (config or load_config(None)).changes()
    return Recipe(command=command, seed=0, settings=settings, versions={})


def unpacked(data) -> list[list[np.ndarray]]:
    """Return the factors by window and joint, in all columns."""
    values = np.frombuffer(base64.b64decode(data["factors"]))
    b = len(data["parameters"])
    factors, first = [], 0
    for window in data["windows"]:
        factors.append([])
        for own in data["columns"]:
            shape = (min(window["rows"], len(own) + 1), len(own) + 1)
            places = np.triu_indices(shape[0], 0, shape[1])
            R = np.zeros(shape)
            R[places] = values[first : first + len(places[0])]
            first += len(places[0])
            factors[-1].append(np.zeros((len(R), b + 1)))
            factors[-1][-1][:, [*own, b]] = R
    assert first == len(values)
    return factors


def test_the_factors_of_all_windows_give_the_estimate(fit) -> None:
    whole = WeightedLeastSquares().fit(fit.problem)
    data = refit_data(fit, whole, None)
    joints = zip(*unpacked(data), strict=True)
    factors = np.array([triangular_factor(np.vstack(parts)) for parts in joints])
    samples = sum(window["rows"] for window in data["windows"])
    assert samples == fit.problem.samples
    beta, _ = Reduction(factors, samples).solve(1.0 / whole.noise_std)
    np.testing.assert_allclose(beta, whole.beta, rtol=1e-6)  # weights of the round before
    np.testing.assert_allclose(
        Reduction(factors, samples).compute_squared_residuals(whole.beta) / samples,
        whole.torque_rms**2,
        rtol=1e-9,
    )


def test_a_window_that_is_off_is_rows_that_are_off(fit) -> None:
    windows = windows_of(fit)
    data = refit_data(fit, WeightedLeastSquares().fit(fit.problem), None)
    parts = unpacked(data)
    joints = list(zip(*parts[1:], strict=True))
    factors = np.array([triangular_factor(np.vstack(own)) for own in joints])
    off = [windows[0].low, windows[0].high]
    left = RestrictedLeastSquares(without=[off]).fit(fit.problem)
    samples = sum(window["rows"] for window in data["windows"][1:])
    beta, _ = Reduction(factors, samples).solve(left.weights)
    np.testing.assert_allclose(beta, left.beta, rtol=1e-9)


def test_windows_are_parts_of_periods_and_cover_all_rows(fit) -> None:
    windows = windows_of(fit)
    times = fit.problem.times
    assert [w.group for w in windows] == [f"period {k}" for k in (1, 1, 1, 2, 2, 2, 3, 3, 3)]
    inside = np.array([is_within(times, [[w.low, w.high]]) for w in windows])
    assert (inside.sum(axis=0) == 1).all()
    assert (windows[2].high, windows[3].low) == (8.0, 8.0)


@pytest.mark.parametrize(
    ("periods", "groups"),
    [(None, ["all"] * 10), (2.0, ["periods 1 to 2", "periods 3 to 4"]), (0.5, ["periods 1 to 5"])],
)
def test_windows_are_few_whatever_the_period(fit, periods, groups) -> None:
    windows = windows_of(replace(fit, problem=replace(fit.problem, period=periods)))
    assert [w.group for w in windows][: len(groups)] == groups
    assert len(windows) <= 10


@pytest.mark.slow
def test_windows_of_several_logs_are_parts_of_them(run) -> None:
    plan = build_fit(load_config(None))
    known = (run.nominal, run.basis, plan, Streams(0)("identify"))
    both = fit_logs([run.log, run.of(run.log.tau_meas)], *known)
    assert isinstance(both.motion.row_filter, JoinedRowFilter)
    windows = windows_of(both)
    assert [w.group for w in windows] == ["log 1"] * 5 + ["log 2"] * 5
    first = is_within(both.problem.times, [[windows[0].low, windows[4].high]])
    assert (first == (both.motion.row_filter.log_indices == 0)).all()


def test_factors_of_few_rows_are_trapezoids(fit) -> None:
    use = np.zeros(fit.problem.samples, dtype=bool)
    use[:3] = True
    columns, text = pack_factors(fit.problem, [use])
    entries = sum(sum(len(own) + 1 - row for row in range(3)) for own in columns)
    assert len(np.frombuffer(base64.b64decode(text))) == entries


def test_a_page_says_what_it_starts_from_and_may_run_its_scripts(fit, tmp_path) -> None:
    (section,) = what_if_section(refit_of(fit), recipe())
    assert "start is weighted least squares" in section.text
    assert "(consistent)" in section.text
    write_page(Page(title="T", finding="f", sections=(section,)), tmp_path / "page.html")
    tree = html.fromstring((tmp_path / "page.html").read_bytes())
    policy = tree.cssselect("meta[http-equiv]")[0].get("content")
    assert policy.count("'sha256-") == 3  # the page's own, and two of this section
    assert tree.cssselect("section.on-screen #live-what-if")


def test_a_fit_that_fails_has_no_section(fit) -> None:
    W = fit.problem.W.copy()
    W[:, 0] = 0.0
    assert (
        what_if_section(refit_of(replace(fit, problem=replace(fit.problem, W=W))), recipe()) == ()
    )


def test_pages_tell_what_the_rows_left_do_not_show(fit) -> None:
    alone = RestrictedLeastSquares(joint_weights={"elbow": 0.0}).fit(fit.problem)
    (sentence,) = (s for s in fit_remarks(replace(fit, chosen=alone)) if "do not determine" in s)
    assert sentence.startswith("The rows do not determine")
    assert "Fv2" in sentence


def restored(text: str, tmp_path, options: str = "") -> StudyConfig:
    (tmp_path / "study.toml").write_text(text + options, encoding="utf-8")
    return load_config(tmp_path / "study.toml")


def test_a_configuration_comes_back_with_the_further_estimator(fit, tmp_path) -> None:
    before = load_config(
        None,
        {
            "seed": 3,
            "design": {
                "constraints": {
                    "boxes": [{"lower": [0.0, 0.0, float("-inf")], "upper": [1.0, 1.0, 1.0]}]
                }
            },
            "sensors": {"encoder-noise": {}, "torque-noise": {"relative": 0.02}},
            "estimation": {
                "estimators": ["wls", "robust"],
                "chosen": "robust",
                "options": {"robust": {"loss": "student"}},
            },
        },
    )
    options = f"\n[estimation.options.{ESTIMATOR_NAME}]\nwithout = [[0.0, 8.0]]\nprior = 0.1\n"
    after = restored(study_text(recipe(before), ESTIMATOR_NAME), tmp_path, options)
    assert after.estimation.estimators == ("wls", "robust", ESTIMATOR_NAME)
    assert after.estimation.chosen == ESTIMATOR_NAME
    estimator = build_fit(after).estimators[ESTIMATOR_NAME]
    assert estimator == RestrictedLeastSquares(without=[[0.0, 8.0]], prior=0.1)
    kept = {"estimation"}
    assert before.model_dump(exclude=kept) == after.model_dump(exclude=kept)
    assert isinstance(estimator.fit(fit.problem), Estimate)


def test_toml_holds_what_json_does() -> None:
    content = {
        "a": 1,
        "b": [1.5, -2e-9, float("inf")],
        'name with "quotes" \\ and \n </script> \x7f é': {"x": True, "nested": {"y": "z"}},
        "tables": [{"k": 1, "l": [0, 1]}],
        "empty": {},
    }
    assert tomllib.loads(toml_text({**content, "nothing": None})) == content


@pytest.mark.parametrize(
    ("command", "again"),
    [
        ("robotid run irb140 --quick --out out", "run irb140 --config study.toml --out what-if"),
        (
            "robotid identify a.urdf log.h5 --config=old.toml -o e.json --estimator wls"
            " --posterior-samples 3 d --nominal 'b c.urdf' --report p.html",
            "identify a.urdf log.h5 --nominal 'b c.urdf' --config study.toml --out what-if.json"
            " --parameters what-if.csv",
        ),
    ],
)
def test_the_command_is_repeated_beside_its_files(command, again) -> None:
    assert command_with_config(command) == f"robotid {again}"
