"""Plots of a page in step with the arm of its replay, in a headless browser."""

import pytest
from headless import WAIT
from replay_pages import REPLAY, seek, state, wait
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.browser


def cursors(driver, chart: str) -> list[float | None]:
    """Return where the lines of a chart's panels are from the left of the window [px]."""
    return driver.execute_script(
        "return [...document.querySelectorAll(`#figure-${arguments[0]} .cursors div`)]"
        ".map((line) => line.hidden ? null : line.getBoundingClientRect().left)",
        chart,
    )


@pytest.mark.parametrize("page", ["2r", "static"])
def test_a_click_in_a_plot_brings_the_arm_to_that_time(opened, page) -> None:
    with opened(page) as driver:
        _show_plots(driver, page)
        for number, motion in enumerate(("lap", "sweep")):
            left, top, width, height, low, high = _box(driver, number)
            x, y = left + 0.6 * width, top + 0.5 * height
            action = webdriver.ActionChains(driver)
            action.w3c_actions.pointer_action.move_to_location(round(x), round(y))
            action.w3c_actions.pointer_action.click()
            action.perform()
            expected = low + (round(x) - left) / width * (high - low)
            expected = expected if motion == "lap" else 1.0 + 0.5 * expected
            now = state(driver)
            assert (now["motion"], now["playing"]) == (motion, False)
            assert now["t"] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("page", ["2r", "static"])
def test_a_line_in_the_plots_follows_the_arm(opened, page) -> None:
    with opened(page) as driver:
        _show_plots(driver, page)
        for t in (0.4, 1.5):
            seek(driver, t, "lap")
            wait(driver, "return document.querySelector('.cursors div:not([hidden])')")
            left, _, width, _, low, high = _box(driver, 0)
            expected = left + (t - low) / (high - low) * width
            WebDriverWait(driver, WAIT).until(
                lambda d, x=expected: cursors(d, "both")[0] == pytest.approx(x, abs=1.5)
            )
            assert cursors(driver, "both")[1] is None  # another motion
        seek(driver, 1.5, "sweep")
        WebDriverWait(driver, WAIT).until(lambda d: cursors(d, "both")[0] is None)
        left, _, width, _, low, high = _box(driver, 1)
        expected = left + (1.0 - low) / (high - low) * width  # 1.5 s = 1 s + 0.5 x 1
        assert cursors(driver, "both")[1] == pytest.approx(expected, abs=1.5)
        assert cursors(driver, "others") == []


def test_a_line_follows_when_a_plot_is_zoomed(opened) -> None:
    with opened() as driver:
        _show_plots(driver, "2r")
        seek(driver, 1.0, "lap")
        wait(driver, "return document.querySelector('.cursors div:not([hidden])')")
        before = cursors(driver, "both")[0]
        driver.execute_script(
            "const live = document.querySelector('#figure-both .live');"
            "Plotly.relayout(live, {'xaxis.range': [0.9, 1.9]});"
        )
        left, _, width, *_ = _box(driver, 0)
        WebDriverWait(driver, WAIT).until(
            lambda d: cursors(d, "both")[0] == pytest.approx(left + 0.1 * width, abs=1.5)
        )
        assert cursors(driver, "both")[0] < before


def test_the_small_view_follows_the_reader_to_the_plots(opened) -> None:
    with opened(width=1100) as driver:
        floating = "return Boolean(document.querySelector('#replay .floating'))"
        driver.execute_script("document.body.style.paddingBottom = '2000px'; scrollTo(0, 1500)")
        assert driver.execute_script(floating) is False  # nobody has used it yet
        driver.execute_script(f"{REPLAY}.play(true)")
        wait(driver, floating)
        driver.find_element(By.CSS_SELECTOR, "#replay .close").click()
        wait(driver, floating.replace("return ", "return !"))
        assert state(driver)["playing"] is False


def _show_plots(driver, page: str) -> None:
    driver.execute_script(
        "document.getElementById('figure-both').scrollIntoView({block: 'center'})"
    )
    if page != "static":
        wait(driver, "return document.querySelector('#figure-both .live .main-svg')")
        wait(driver, "return document.querySelector('#figure-both .live')._fullLayout._size")


def _box(driver, number: int) -> list[float]:
    """Return place and range of a panel, as the plot's own axes have it, in the window [px]."""
    return driver.execute_script(
        """
        const live = document.querySelector('#figure-both .live');
        if (live && !live.hidden) {
          const number = arguments[0] ? 2 : '';
          const [x, y] = ['xaxis', 'yaxis'].map((axis) => live._fullLayout[axis + number]);
          const box = live.getBoundingClientRect();
          return [box.left + x._offset, box.top + y._offset, x._length, y._length, ...x.range];
        }
        // Of a picture: between the ticks, which are at known times.
        const svg = document.querySelector('#figure-both .static svg');
        const axes = svg.querySelector(`[id$=axes_${arguments[0] + 1}]`);
        const ticks = [...axes.querySelectorAll('[id*=xtick_]')].map((tick) => [
          parseFloat(tick.querySelector('text').textContent),
          tick.querySelector('use').getBoundingClientRect(),
        ]);
        const [[a, first], [b, last]] = [ticks[0], ticks[ticks.length - 1]];
        const [x0, x1] = [first, last].map((r) => r.left + r.width / 2);
        const all = axes.getBoundingClientRect();
        return [x0, all.top + 10, x1 - x0, all.height / 2, a, b];
        """,
        number,
    )
