"""The report in a headless browser: quiet, offline, dark and narrow, a click hides a joint."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from headless import WAIT, chromium, complaints, open_page, set_media
from robots import DATA
from sampling import sampled
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from short_study import SHORT

from robotid_sim.chart import csv_text
from robotid_sim.cli.app import main
from robotid_sim.report.page import write_page
from robotid_sim.report.study_report import study_report

pytestmark = pytest.mark.browser

READY = "document.documentElement.dataset.ready === 'yes'"


@pytest.fixture(scope="module")
def report(quick_study, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(study_report(quick_study[0], "robotid run irb140 --quick --out x"), path)
    return path


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory) -> Iterator[Callable[..., object]]:
    """Return a context manager that opens the report at a width, light or dark."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.downloads = tmp_path_factory.mktemp("downloads")

        @contextmanager
        def opened(width: int = 1100, scheme: str = "light", page: Path = report):
            open_page(driver, page, READY, width, prefers_color_scheme=scheme)
            yield driver

        yield opened


def scroll_through(driver) -> None:
    """Show every figure once: they are drawn when they come near the window."""
    driver.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for figure in driver.find_elements(By.CSS_SELECTOR, "figure[data-chart]"):
        driver.execute_script("arguments[0].scrollIntoView()", figure)
        WebDriverWait(driver, WAIT).until(
            lambda _, figure=figure: figure.find_elements(By.CSS_SELECTOR, ".live .main-svg")
        )


def test_page_is_quiet_and_offline(browser) -> None:
    with browser() as driver:
        scroll_through(driver)
        assert complaints(driver) == []
        sent = [json.loads(e["message"])["message"] for e in driver.get_log("performance")]
        urls = [
            e["params"]["request"]["url"]
            for e in sent
            if e["method"] == "Network.requestWillBeSent"
        ]
        assert urls
        assert all(url.startswith(("file:", "data:", "blob:")) for url in urls), urls


def test_names_of_joints_are_letters(browser, tmp_path, monkeypatch) -> None:
    names = {"shoulder": "</script><img src=x onerror=alert(1)>", "elbow": "<b>x"}
    urdf = (DATA / "2r.urdf").read_text()
    for name, nasty in names.items():
        urdf = urdf.replace(f'"{name}"', f'"{escape(nasty)}"')
    (tmp_path / "arm.urdf").write_text(urdf)
    (tmp_path / "short.toml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "arm.urdf", "--config", "short.toml", "--quick", "--out", "out"]) in (0, 1)
    with browser(page=tmp_path / "out" / "report.html") as driver:
        scroll_through(driver)
        assert driver.find_elements(By.CSS_SELECTOR, "img[src=x]") == []
        assert driver.find_elements(By.CSS_SELECTOR, ".live b") == []
        legend = [node.text for node in driver.find_elements(By.CSS_SELECTOR, ".legendtext")]
        assert set(names.values()) <= set(legend)
        assert complaints(driver) == []


def test_page_refuses_scripts_of_others(browser) -> None:
    with browser() as driver:
        driver.execute_script(
            "const box = document.createElement('div');"
            "box.innerHTML = '<img src=x onerror=\"window.ran = 1\">';"
            "document.body.append(box);"
            "const script = document.createElement('script');"
            "script.textContent = 'window.ran = 2'; document.body.append(script);"
        )
        time.sleep(0.5)
        assert driver.execute_script("return window.ran") is None
        assert complaints(driver)


@pytest.mark.parametrize(
    ("width", "scheme"),
    sampled(product((400, 1100), ("light", "dark")), (400, "dark"), (1100, "light")),
)
def test_page_fits_its_width_in_both_themes(browser, width, scheme) -> None:
    with browser(width, scheme) as driver:
        scroll_through(driver)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        beyond = "map((box) => box.scrollWidth - box.clientWidth)"
        boxes = driver.execute_script(f"return [...document.querySelectorAll('.scroll')].{beyond}")
        assert max(boxes) <= 1  # no table is cut
        stacked = driver.execute_script("return document.querySelectorAll('.stacked').length")
        assert (stacked > len(boxes) // 2) == (width == 400)
        paper, ink = (
            driver.execute_script(f"return getComputedStyle(document.body).{name}")
            for name in ("backgroundColor", "color")
        )
        assert (_brightness(paper) > _brightness(ink)) == (scheme == "light")
        label = driver.find_element(By.CSS_SELECTOR, ".live .xtick text")
        text = label.value_of_css_property("fill")
        assert abs(_brightness(text) - _brightness(paper)) > 120.0
        assert complaints(driver) == []


def _brightness(color: str) -> float:
    parts = color[color.index("(") + 1 : -1].split(",")
    return sum(float(part) for part in parts[:3]) / 3.0


def test_theme_may_change_while_the_page_is_open(browser) -> None:
    with browser(1100, "light") as driver:
        scroll_through(driver)
        shown = "return getComputedStyle(document.querySelector('.live .xtick text')).fill"
        light = driver.execute_script(shown)
        set_media(driver, prefers_color_scheme="dark")
        WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(shown) != light)


def test_click_hides_a_joint_in_every_panel(browser) -> None:
    with browser() as driver:
        scroll_through(driver)
        driver.execute_script("document.getElementById('figure-excitation').scrollIntoView()")
        visible = (
            "return document.querySelector('#figure-excitation .live').data"
            ".filter((t) => t.name === 'joint_3' && t.visible !== 'legendonly').length"
        )
        assert driver.execute_script(visible) == 4
        entries = driver.find_elements(By.CSS_SELECTOR, "#figure-excitation .legendtoggle")
        node = entries[2]
        webdriver.ActionChains(driver).move_to_element(node).click().perform()
        WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(visible) == 0)


def test_table_sorts_by_value(browser) -> None:
    with browser() as driver:
        script = """
            const table = Array.from(document.querySelectorAll('table'))
              .find((t) => t.textContent.includes('grouping'));
            const head = Array.from(table.tHead.rows[0].cells);
            const k = head.findIndex((cell) => cell.textContent === 'std');
            head[k].querySelector('button').click();
            return Array.from(table.tBodies[0].rows).map((r) => parseFloat(r.cells[k].textContent));
        """
        values = driver.execute_script(script)
        assert values == sorted(values)
        assert len(values) == 52


def test_data_of_a_figure_downloads(browser, quick_study) -> None:
    with browser() as driver:
        folder = {"behavior": "allow", "downloadPath": str(driver.downloads)}
        driver.execute_cdp_cmd("Page.setDownloadBehavior", folder)
        driver.execute_script("document.querySelector('#figure-excitation button.data').click()")
        path = driver.downloads / "excitation.csv"
        WebDriverWait(driver, WAIT).until(lambda d: path.exists() and path.stat().st_size > 0)
        rows = [line.split(",") for line in path.read_text().splitlines()]
    page = study_report(quick_study[0], "robotid run irb140 --quick --out x")
    (chart,) = [c for section in page.sections for c in section.charts if c.name == "excitation"]
    expected = [line.split(",") for line in csv_text(chart).splitlines()]
    assert rows[0] == expected[0] == ["panel", "series", "quantity", "time [s]", "value"]
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    numbers, told = (np.array([row[3:] for row in part[1:]], float) for part in (rows, expected))
    np.testing.assert_allclose(numbers, told, rtol=1.1e-6, atol=1e-30)


def test_printed_page_has_its_figures_in_the_colors_of_paper(browser) -> None:
    with browser(1400, "dark") as driver:
        driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        shown = """
            const lives = [...document.querySelectorAll('figure[data-chart] .live')];
            const seen = lives.filter((live) => live.checkVisibility());
            return seen.map((live) => [
                live.querySelector('.main-svg')?.clientWidth ?? null,
                getComputedStyle(live.querySelector('.xtick text')).fill,
            ]);
        """
        widths, inks = zip(*driver.execute_script(shown), strict=True)
        assert len(widths) == 2  # prediction and tracking; the others are folded
        assert max(widths) <= 700
        assert max(map(_brightness, inks)) < 100.0
        driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
        assert min(_brightness(ink) for _, ink in driver.execute_script(shown)) > 100.0


def test_a_link_opens_a_folded_section(browser) -> None:
    with browser() as driver:
        folded = "return document.querySelector('#excitation details').open"
        assert driver.execute_script(folded) is False
        driver.find_element(By.CSS_SELECTOR, "nav a[href='#excitation']").click()
        WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(folded))


def test_no_table_is_cut_and_no_number_broken_in_print(browser) -> None:
    with browser(718) as driver:  # A4 without margins, at 96 dpi
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        width, cut, broken = driver.execute_script(
            """
            const width = document.documentElement.clientWidth;
            const tables = [...document.querySelectorAll("table")];
            const cells = [...document.querySelectorAll("td:not(.text)")];
            const line = (cell) => 1.5 * parseFloat(getComputedStyle(cell).lineHeight);
            const height = (cell) => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                return range.getBoundingClientRect().height;
            };
            return [
                width,
                tables.filter((t) => t.getBoundingClientRect().right > width + 1).length,
                cells.filter((c) => !c.textContent.includes(" ") && height(c) > line(c)).length,
            ];
            """
        )
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert (cut, broken) == (0, 0), width
