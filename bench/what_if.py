"""Random what-ifs of a quick study of irb140: the page beside Python, milliseconds, size.

    python bench/what_if.py [--robot NAME] [--count N]

Needs Chromium and its driver, and selenium (extra ``test``).
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver

from robotid_sim.estimation.restricted import RestrictedLeastSquares
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.refit import refit_of
from robotid_sim.pipeline.study import Study, run_study
from robotid_sim.report.page import Page, write_page
from robotid_sim.report.sections import Recipe
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.threads import one_blas_thread

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
READY = "return document.getElementById('live-what-if')?.dataset.ready === 'yes'"
REFIT = """
    const model = document.getElementById("live-what-if").model;
    const began = performance.now();
    const fit = model.fit(arguments[0]);
    return [performance.now() - began, Array.from(fit.beta)];
"""


def written(study: Study, folder: Path) -> tuple[Path, dict]:
    """Return the page of a study with this section alone, and what it carries."""
    recipe = Recipe(command="", seed=0, settings=study.setup.settings, versions={})
    sections = what_if_section(refit_of(study.fit, study.fit.problem_without_terms), recipe)
    write_page(Page(title="What if", finding="", sections=sections), folder / "page.html")
    assert sections[0].live is not None
    return folder / "page.html", json.loads(sections[0].live.data)


def opened(page: Path) -> webdriver.Chrome:
    """Return a browser with a page, once it is ready."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get(page.as_uri())
    while not driver.execute_script(READY):
        time.sleep(0.1)
    return driver


def main() -> None:
    """Print the largest difference of the parameters, and the time of a fit in both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="irb140")
    parser.add_argument("--count", type=int, default=30)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        config = load_config(None, {"control": {"enabled": False}}).quick()
        study = run_study(build_setup(given.robot, config), Path(name) / "out")
        page, data = written(study, Path(name))
        windows, joints = data["windows"], [joint for joint, _ in data["joints"]]
        driver = opened(page)
        off, ours, python = [], [], []
        for _ in range(given.count):
            left = np.flatnonzero(rng.random(len(windows)) < 0.3)[:-1].tolist()
            weights = rng.uniform(0.3, 3.0, len(joints)).tolist()
            prior = rng.choice([None, 0.2])
            choices = {"off": left, "weights": weights, "ridge": 1e-4, "prior": prior}
            took, beta = driver.execute_script(REFIT, choices)
            estimator = RestrictedLeastSquares(
                joint_weights=dict(zip(joints, weights, strict=True)),
                without=[[windows[w]["low"], windows[w]["high"]] for w in left],
                ridge=1e-4,
                prior=prior,
            )
            began = time.perf_counter()
            with one_blas_thread():
                estimate = estimator.fit(study.fit.problem)
            python.append(1e3 * (time.perf_counter() - began))
            ours.append(took)
            small = 1e-6 * estimate.std
            off.append(
                (np.abs(np.array(beta) - estimate.beta) / (abs(estimate.beta) + small)).max()
            )
        driver.quit()
    print(f"{given.robot}: {len(data['parameters'])} parameters, {len(windows)} windows")
    print(
        f"carried: {len(json.dumps(data)) / 1e3:.0f} kB, factors {len(data['factors']) / 1e3:.0f}"
    )
    print(f"largest relative difference of a parameter: {max(off):.1e}")
    print(f"page: median {np.median(ours):.0f} ms, first {ours[0]:.0f} ms, most {max(ours):.0f} ms")
    print(f"Python, from the rows: median {np.median(python):.0f} ms")


if __name__ == "__main__":
    main()
