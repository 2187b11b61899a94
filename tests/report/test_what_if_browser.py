"""The page fits again: as Python does, by keyboard, in any theme, and without a network."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from headless import WAIT, chromium, complaints, open_page, requests
from measured import measured
from robots import DATA
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from robotid_sim.cli.app import main
from robotid_sim.estimation.estimate import load_chosen
from robotid_sim.estimation.restricted import ESTIMATOR_NAME
from robotid_sim.measurement.files import save_log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_robot import build_basis, build_nominal_of_log
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.refit import refit_of
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.report.page import Page, write_page
from robotid_sim.report.sections import Recipe
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.streams import Streams

pytestmark = pytest.mark.browser

READY = "document.getElementById('live-what-if')?.dataset.ready"
ROOT = "const root = document.getElementById('live-what-if');"
NASTY = ("</script><img src=x onerror=alert(1)>", '<b>"x"\\')
LARGEST = 5e5
"""Most bytes that a page may carry to fit irb140 again."""
RELATIVE = 1e-9


def page_of(fit, folder, settings, command):
    """Write the page of a fit; return its file."""
    recipe = Recipe(command=command, seed=0, settings=settings, versions={})
    sections = what_if_section(refit_of(fit, fit.problem_without_terms), recipe)
    write_page(Page(title="What if", finding="f", sections=sections), folder / "page.html")
    return folder / "page.html"


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """A log and a nominal robot whose joints have odd names, their fit and its page."""
    folder = tmp_path_factory.mktemp("arm")
    urdf = (DATA / "2r.urdf").read_text(encoding="utf-8")
    plant = Robot.from_urdf(DATA / "2r.urdf")
    for name, nasty in zip(plant.joint_names, NASTY, strict=True):
        text = nasty.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        urdf = urdf.replace(f'"{name}"', f'"{text}"')
    (folder / "arm.urdf").write_text(urdf, encoding="utf-8")
    plant = Robot.from_urdf(folder / "arm.urdf")
    run = measured(plant)
    save_log(run.log, folder / "log.h5")
    config = load_config(None, {"estimation": {"drive_gain_std": 0.02}})
    fit = _identified(run.log, plant, config)
    words = f"robotid identify {folder}/arm.urdf {folder}/log.h5 -o {folder}/estimate.json"
    page = page_of(fit, folder, config.changes(), words)
    return SimpleNamespace(folder=folder, fit=fit, page=page)


def _identified(log, robot, config):
    """Return the fit of a log as the command line makes it."""
    nominal = build_nominal_of_log(robot, log, config)
    basis = build_basis(nominal, config)
    return fit_logs(log, nominal, basis, build_fit(config), Streams(config.seed)("identify"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def opened(browser, arm):
    open_page(browser, arm.page, READY)
    return browser


def refit(driver, choices):
    """Return what the page makes of choices by their indices, and the milliseconds it takes."""
    script = f"""{ROOT}
        const chosen = {json.dumps(choices)};
        const given = [];
        for (const [k, value] of Object.entries(chosen.fixed)) given[k] = value;
        const all = {{ ...chosen, fixed: given }};
        const began = performance.now();
        const fit = root.model.fit(all);
        const took = performance.now() - began;
        return {{ ...fit, beta: Array.from(fit.beta), std: Array.from(fit.std),
                 text: root.configuration(all), took }};"""
    return driver.execute_script(script)


def agrees(page, estimate):
    """Require that a fit of the page is an estimate of Python's."""
    small = 1e-3 * RELATIVE * estimate.std  # of values that are nothing but their uncertainty
    for name, own, floor in (
        ("beta", estimate.beta, small),
        ("std", estimate.std, 0.0),
        ("sigma", estimate.noise_std, 0.0),
        ("residual", estimate.torque_rms, 0.0),
        ("condition", estimate.cond, 0.0),
    ):
        off = np.abs(np.array(page[name]) - own) - RELATIVE * np.abs(own) - floor
        assert np.max(off) <= 0.0, name


def random_choices(data, rng, k):
    """Return a what-if: some of everything that a reader can choose."""
    joints, count = len(data["joints"]), len(data["parameters"])
    weights = rng.uniform(0.3, 3.0, joints)
    weights[rng.permutation(joints)[: k % 3]] = 0.0
    fixed = rng.choice(count, size=k % 4, replace=False)
    return {
        "off": np.flatnonzero(rng.random(len(data["windows"])) < 0.3)[:-1].tolist(),
        "weights": weights.tolist() if k % 2 else [1.0] * joints,
        "fixed": {int(i): float(rng.normal(0.1)) for i in fixed},
        "ridge": float(rng.choice([0.0, 1e-4, 1e-2])),
        "prior": [None, 0.1, None, 0.4][k % 4],
    }


def test_ten_what_ifs_of_irb140_are_those_of_python(browser, quick_study, tmp_path) -> None:
    study, _ = quick_study
    fit, settings = study.fit, study.setup.settings
    page = page_of(fit, tmp_path, settings, "robotid run irb140 --quick --out out")
    open_page(browser, page, READY)
    data = browser.execute_script(f"{ROOT} return root.model.data")
    assert len(data["parameters"]) == 52
    carried = browser.execute_script(
        "return document.getElementById('data-what-if').textContent.length"
    )
    assert carried < LARGEST
    rng = np.random.default_rng(5)
    for k in range(10):
        made = refit(browser, random_choices(data, rng, k))
        (tmp_path / "study.toml").write_text(made["text"], encoding="utf-8")
        estimator = build_fit(load_config(tmp_path / "study.toml")).estimators[ESTIMATOR_NAME]
        estimate = estimator.fit(fit.problem)
        assert estimate.success, estimate.message
        agrees(made, estimate)
    assert complaints(browser) == []


def test_unchanged_it_is_weighted_least_squares_of_the_result(browser, quick_study, tmp_path):
    study, folder = quick_study
    page = page_of(study.fit, tmp_path, study.setup.settings, "robotid run irb140 --out out")
    open_page(browser, page, READY)
    start = browser.execute_script(
        f"{ROOT} const s = root.model.start; return [Array.from(s.beta), Array.from(s.std)]"
    )
    stored = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    wls = next(e for e in stored["estimates"] if e["estimator"] == "wls")
    values = [parameter["value"] for parameter in wls["base_parameters"]]
    np.testing.assert_allclose(start[0], values, rtol=RELATIVE)
    estimate = next(e for e in study.fit.estimates if e.estimator == "wls")
    np.testing.assert_allclose(start[1], study.fit.intervals(estimate).std, rtol=RELATIVE)


def test_the_configuration_gives_the_same_numbers_by_the_command_line(opened, arm) -> None:
    boxes = opened.find_elements(By.CSS_SELECTOR, "#live-what-if input[type=checkbox]")
    boxes[1].click()  # the second joint
    boxes[4].click()  # the second part of the first period
    prior = opened.find_elements(By.CSS_SELECTOR, ".choices input[type=number]")[-2]
    prior.send_keys("20")
    field = opened.find_element(By.CSS_SELECTOR, "input[aria-label='fix Fv1 at']")
    field.send_keys("0.75")
    changed(opened, "prior = 0.2")
    text = changed(opened, '"Fv1" = 0.75')
    file, out = arm.folder / "study.toml", arm.folder / "again.json"
    file.write_text(text, encoding="utf-8")
    words = ("identify", arm.folder / "arm.urdf", arm.folder / "log.h5", "--config", file)
    assert main([str(word) for word in (*words, "-o", out)]) in (0, 1)  # in doubt by one joint
    _, chosen, _ = load_chosen(out)
    assert chosen.estimator == ESTIMATOR_NAME
    assert chosen.options["fixed"] == {"Fv1": 0.75}
    assert chosen.options["joint_weights"] == {NASTY[1]: 0}
    shown = opened.execute_script(
        f"{ROOT} const f = root.model.fit(root.choices());"
        "return {...f, beta: Array.from(f.beta), std: Array.from(f.std)}"
    )
    agrees(shown, chosen)


def changed(driver, part: str) -> str:
    """Return the configuration that is shown once it holds a text."""
    value = "return document.getElementById('what-if-file').value"
    WebDriverWait(driver, WAIT).until(lambda d: part in d.execute_script(value))
    return driver.execute_script(value)


def status(driver) -> str:
    return driver.find_element(By.CSS_SELECTOR, "#live-what-if .outcome").text


def test_names_are_letters(opened) -> None:
    assert opened.find_elements(By.CSS_SELECTOR, "img, #live-what-if b") == []
    shown = opened.find_element(By.ID, "live-what-if").text
    assert all(name in shown for name in NASTY)
    assert complaints(opened) == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests(opened))


def test_a_reader_needs_no_mouse_and_every_control_has_a_name(opened) -> None:
    controls = opened.find_elements(
        By.CSS_SELECTOR, "#live-what-if :is(input, button, textarea):not(:disabled)"
    )
    assert len(controls) > 20
    assert all(control.accessible_name for control in controls)
    opened.execute_script("document.querySelector('#live-what-if input').focus()")
    reached = set()
    for _ in controls:
        reached.add(opened.switch_to.active_element.id)
        opened.switch_to.active_element.send_keys(Keys.TAB)
    assert reached == {control.id for control in controls}
    controls[0].send_keys(Keys.SPACE)
    WebDriverWait(opened, WAIT).until(lambda d: "Not identifiable" in status(d))


def test_what_cannot_be_fitted_is_said_and_undone(opened) -> None:
    joints = opened.find_elements(By.CSS_SELECTOR, ".choice input[type=checkbox]")
    for joint in joints:
        joint.click()
    WebDriverWait(opened, WAIT).until(lambda d: status(d) == "Select at least one joint.")
    copy = opened.find_elements(By.CSS_SELECTOR, "#live-what-if button")[-1]
    assert not copy.is_enabled()
    opened.find_element(By.CSS_SELECTOR, "#live-what-if button").click()  # start again
    WebDriverWait(opened, WAIT).until(
        lambda d: status(d) == "All parameters are within their intervals."
    )
    assert copy.is_enabled()
    ridge = opened.find_elements(By.CSS_SELECTOR, ".choices input[type=number]")[-1]
    ridge.clear()
    ridge.send_keys("-1")
    WebDriverWait(opened, WAIT).until(lambda d: "a number of 0 or more" in status(d))


def test_a_period_switches_its_parts(opened) -> None:
    group = opened.find_element(By.CSS_SELECTOR, ".times[aria-label='period 2']")
    whole, *parts = group.find_elements(By.CSS_SELECTOR, "input")
    whole.click()
    assert left_out(opened).startswith("without = [[8, ")
    assert not any(part.is_selected() for part in parts)
    parts[0].click()
    mixed = "return document.querySelectorAll('.times input')[4].indeterminate"
    WebDriverWait(opened, WAIT).until(lambda d: d.execute_script(mixed))


def left_out(driver) -> str:
    """Return the line of the times that are left out, once there is one."""
    value = "return document.getElementById('what-if-file').value"
    WebDriverWait(driver, WAIT).until(lambda d: "\nwithout = " in d.execute_script(value))
    lines = driver.execute_script(value).splitlines()
    return next(line for line in lines if line.startswith("without = "))


def test_parameters_that_moved_are_marked(opened) -> None:
    field = opened.find_element(By.CSS_SELECTOR, "input[aria-label='fix Fc2 at']")
    field.send_keys("5")
    marked = "return [...document.querySelectorAll('tr.moved')].map((r) => r.cells[0].textContent)"
    WebDriverWait(opened, WAIT).until(
        lambda d: any(text.startswith("Fc2") for text in d.execute_script(marked))
    )
    assert "5 fixed" in opened.find_element(By.ID, "live-what-if").text


def test_the_configuration_is_copied(opened) -> None:
    opened.set_permissions("clipboard-write", "granted")
    opened.find_elements(By.CSS_SELECTOR, "#live-what-if button")[-1].click()
    WebDriverWait(opened, WAIT).until(
        lambda d: "Copied." in d.find_element(By.ID, "live-what-if").text
    )
    assert f'chosen = "{ESTIMATOR_NAME}"' in opened.execute_script(
        "return document.getElementById('what-if-file').value"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_its_width_in_both_themes(browser, arm, width, scheme) -> None:
    open_page(browser, arm.page, READY, width, prefers_color_scheme=scheme)
    wide = "return document.documentElement.scrollWidth"
    assert browser.execute_script(wide) <= width
    beyond = "map((box) => box.scrollWidth - box.clientWidth)"
    boxes = browser.execute_script(f"return [...document.querySelectorAll('.scroll')].{beyond}")
    assert max(boxes) <= 1
    field = browser.find_element(By.CSS_SELECTOR, "#live-what-if input[type=number]")
    ink, paper = map(field.value_of_css_property, ("color", "background-color"))
    assert (_brightness(ink) < _brightness(paper)) == (scheme == "light")


def _brightness(color: str) -> float:
    return sum(map(float, color[color.index("(") + 1 : -1].split(",")[:3]))


def test_it_is_not_printed(opened) -> None:
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = opened.execute_script("return document.getElementById('live-what-if').offsetHeight")
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == 0
