"""The replay and its plots in a headless browser: poses, keys, ghosts, offline, times."""

import json
from dataclasses import replace

import numpy as np
import pytest
from headless import WAIT, complaints
from replay_pages import REPLAY, ROBOTS, page_of, seek, state, wait
from robots import urdf_path
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from robotid_sim.kinematics.forward import link_poses, tip_position
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import Page, write_page
from robotid_sim.report.replay.motions import Replay, ReplayMotion
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.robot_visuals import inertia_ellipsoid

pytestmark = pytest.mark.browser

TENTH = 1e-4
"""A tenth of a millimeter [m]."""


@pytest.mark.parametrize("name", ROBOTS)
def test_poses_of_the_page_are_those_of_the_kinematics(opened, name) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    lap = page_of(robot).replay.motions[1]
    shown, corner = lap.animation, np.array([0.1, 0.2, 0.3, 1.0])
    with opened(name) as driver:
        factor = driver.execute_script(
            f"return {REPLAY}.seek(0, 'lap'), {REPLAY}.state.magnification"
        )
        assert factor == lap.magnification
        for k in (0, 17, 60, shown.t.size - 1):
            seek(driver, float(shown.t[k]), "lap")
            arms = driver.execute_script(f"return {REPLAY}.poses()")
            positions = [shown.q[k], *(shown.q[k] + factor * a.difference[k] for a in lap.ghosts)]
            assert len(arms) == len(positions) == 4
            for q, poses in zip(positions, arms, strict=True):
                T = np.array(poses).reshape(-1, 4, 4).transpose(0, 2, 1)
                np.testing.assert_array_equal(T[0], np.eye(4))
                np.testing.assert_allclose(
                    T[1:] @ corner, link_poses(robot, q) @ corner, atol=TENTH
                )


def test_the_arm_is_drawn_where_its_tool_is(opened) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    lap = page_of(robot).replay.motions[1]
    with opened("irb140") as driver:
        seek(driver, 1.0, "lap")
        k = int(np.argmin(np.abs(lap.animation.t - 1.0)))
        tip = tip_position(robot, lap.animation.q[[k]])[0]
        T = np.array(driver.execute_script(f"return [...{REPLAY}.camera.matrix]")).reshape(4, 4).T
        at = T @ np.append(tip, 1.0)
        assert (np.abs(at[:2] / at[3]) < 1.0).all()  # in the picture
        assert _painted(driver) > 0.02


def _painted(driver) -> float:
    """Return the share of the picture that is drawn over."""
    return driver.execute_async_script(
        "const done = arguments[0], source = document.querySelector('#replay canvas');"
        f"{REPLAY}.seek({REPLAY}.state.t);"
        "requestAnimationFrame(() => requestAnimationFrame(() => {"
        "  const copy = document.createElement('canvas');"
        "  [copy.width, copy.height] = [100, 60];"
        "  const context = copy.getContext('2d');"
        f"  {REPLAY}.draw();"
        "  context.drawImage(source, 0, 0, 100, 60);"
        "  const data = context.getImageData(0, 0, 100, 60).data;"
        "  done(data.filter((value, k) => k % 4 === 3 && value > 200).length / 6000);"
        "}));"
    )


def test_the_page_stays_offline_and_quiet(opened) -> None:
    with opened("irb140") as driver:
        wait(driver, "return document.documentElement.dataset.ready === 'yes'")
        driver.execute_script(f"{REPLAY}.play(true)")
        wait(driver, f"return {REPLAY}.frames > 3")
        assert complaints(driver) == []
        sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        urls = [
            event["params"]["request"]["url"]
            for event in sent
            if event["method"] == "Network.requestWillBeSent"
        ]
        assert urls
        assert all(url.startswith(("file:", "data:", "blob:")) for url in urls), urls


def test_play_goes_on_and_around_and_pauses(opened) -> None:
    with opened() as driver:
        button = driver.find_element(By.CSS_SELECTOR, "#replay .play")
        assert button.get_attribute("aria-label") == "Play"
        seek(driver, 1.8, "lap")
        button.click()
        assert (button.get_attribute("aria-label"), button.get_attribute("aria-pressed")) == (
            *("Pause", "true"),
        )
        wait(driver, f"return {REPLAY}.state.t < 1.5")  # it began again
        button.click()
        assert state(driver)["playing"] is False
        paused = state(driver)["t"]
        frames = driver.execute_script(f"return {REPLAY}.frames")
        assert state(driver)["t"] == paused
        assert frames > 1


def test_scrubbing_moves_the_arm(opened) -> None:
    with opened() as driver:
        seek(driver, 0.0, "lap")
        before = driver.execute_script(f"return {REPLAY}.poses()")
        driver.execute_script(
            "const time = document.querySelector('#replay .time'); time.value = 1.25;"
            "time.dispatchEvent(new Event('input'));"
        )
        assert state(driver)["t"] == 1.25
        assert driver.execute_script(f"return {REPLAY}.poses()") != before
        wait(
            driver,
            "return document.querySelector('#replay output').textContent.startsWith('1.25 s')",
        )


def test_keys_play_step_and_turn(opened) -> None:
    with opened() as driver:
        seek(driver, 1.0, "lap")
        canvas = driver.find_element(By.CSS_SELECTOR, "#replay canvas")
        driver.execute_script("arguments[0].focus()", canvas)
        assert driver.execute_script("return document.activeElement.tagName") == "CANVAS"
        keys = webdriver.ActionChains(driver)
        keys.send_keys(Keys.ARROW_RIGHT).perform()
        assert state(driver)["t"] == pytest.approx(1.05)
        webdriver.ActionChains(driver).key_down(Keys.SHIFT).send_keys(Keys.ARROW_LEFT).key_up(
            Keys.SHIFT
        ).perform()
        assert state(driver)["t"] == pytest.approx(0.05)
        webdriver.ActionChains(driver).send_keys(Keys.END).perform()
        assert state(driver)["t"] == pytest.approx(2.0)
        webdriver.ActionChains(driver).send_keys(" ").perform()
        assert state(driver)["playing"] is True
        webdriver.ActionChains(driver).send_keys(" ").perform()
        assert state(driver)["playing"] is False
        yaw = driver.execute_script(f"return {REPLAY}.camera.yaw")
        webdriver.ActionChains(driver).send_keys("d").perform()
        assert driver.execute_script(f"return {REPLAY}.camera.yaw") != yaw
        webdriver.ActionChains(driver).send_keys("r").perform()
        assert driver.execute_script(f"return {REPLAY}.camera.yaw") == yaw


def test_dragging_turns_the_view(opened) -> None:
    with opened() as driver:
        canvas = driver.find_element(By.CSS_SELECTOR, "#replay canvas")
        before = driver.execute_script(f"return {REPLAY}.camera.eye")
        webdriver.ActionChains(driver).drag_and_drop_by_offset(canvas, 80, 20).perform()
        assert driver.execute_script(f"return {REPLAY}.camera.eye") != before


def test_links_are_colored_by_the_use_of_limits(opened) -> None:
    with opened() as driver:
        seek(driver, 1.0, "lap")
        choose = "const s = document.querySelector('#replay .color'); s.value = arguments[0];"
        driver.execute_script(f"{choose} s.dispatchEvent(new Event('change'))", "position")
        wait(driver, "return document.querySelector('#replay .bar span').style.width")
        widths = driver.execute_script(
            "const bars = [...document.querySelectorAll('#replay .joints .bar span')];"
            "return bars.map((bar) => parseFloat(bar.style.width))"
        )
        robot = Robot.from_urdf(urdf_path("2r"))
        shown = page_of(robot).replay.motions[1].animation
        q = np.array([np.interp(1.0, shown.t, column) for column in shown.q.T])
        share = np.abs((q - robot.limits.middle) / robot.limits.half_range)
        WebDriverWait(driver, WAIT).until(lambda d: len(widths) == 2)
        np.testing.assert_allclose(widths, 100.0 * share, atol=0.2)


def test_ghosts_are_named_and_can_be_hidden(opened) -> None:
    with opened() as driver:
        seek(driver, 1.0, "lap")
        wait(driver, "return document.querySelectorAll('#replay .arms li').length === 4")
        labels = [node.text for node in driver.find_elements(By.CSS_SELECTOR, "#replay .arms li")]
        assert labels == ["reference", "true", "nominal", "identified"]
        driver.find_elements(By.CSS_SELECTOR, "#replay .arms input")[2].click()
        checked = (
            "return [...document.querySelectorAll('#replay .arms input')].map((b) => b.checked)"
        )
        assert driver.execute_script(checked) == [True, True, False, True]
        seek(driver, 1.0, "sweep")
        assert not driver.find_element(By.CSS_SELECTOR, "#replay .arms").is_displayed()


def test_names_are_letters(opened, tmp_path) -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    arm = Robot.from_urdf(urdf_path("2r"))
    robot = replace(arm, name=nasty, joints=(replace(arm.joints[0], name=nasty), arm.joints[1]))
    sweep = ReplayMotion(nasty, Animation.sweep(robot))
    replay = Replay(robot, (sweep,))
    write_page(Page(title=nasty, finding=nasty, sections=(), replay=replay), tmp_path / "p.html")
    with opened(tmp_path / "p.html") as driver:
        assert driver.find_elements(By.CSS_SELECTOR, "img[src=x]") == []
        assert driver.find_element(By.CSS_SELECTOR, "#replay .joints .name").text == nasty
        option = driver.find_element(By.CSS_SELECTOR, "#replay select.motion option")
        assert option.get_property("textContent") == nasty
        assert complaints(driver) == []


@pytest.mark.parametrize("width", [400, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_replay_fits_the_page(opened, width, scheme) -> None:
    with opened("irb140", width, prefers_color_scheme=scheme) as driver:
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        box = driver.execute_script(
            "const r = document.querySelector('#replay canvas').getBoundingClientRect();"
            "return [r.left, r.right, r.height]"
        )
        assert 0 <= box[0] < box[1] <= width
        assert box[2] > 200


def test_a_slider_moves_a_joint_by_hand(opened) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    lap = page_of(robot).replay.motions[1]
    with opened("irb140") as driver:
        seek(driver, 1.0, "lap")
        slider = driver.find_elements(By.CSS_SELECTOR, "#replay .slider")[1]
        driver.execute_script(
            "arguments[0].value = 0.75; arguments[0].dispatchEvent(new Event('input'));", slider
        )
        (poses,) = driver.execute_script(f"return {REPLAY}.poses()")  # the ghosts wait
        q = lap.animation.q[np.argmin(np.abs(lap.animation.t - 1.0))].copy()
        q[1] = 0.75
        T = np.array(poses).reshape(-1, 4, 4).transpose(0, 2, 1)
        np.testing.assert_allclose(T[1:], link_poses(robot, q), atol=1e-6)
        seek(driver, 1.0, "lap")
        assert len(driver.execute_script(f"return {REPLAY}.poses()")) == 4


def test_the_curve_of_a_joint_leads_to_its_times(opened) -> None:
    with opened("irb140") as driver:
        seek(driver, 0.5, "lap")
        driver.find_elements(By.CSS_SELECTOR, "#replay .joints .name")[2].click()
        curve = driver.find_element(By.CSS_SELECTOR, "#replay .curve svg")
        assert "position" in curve.get_attribute("aria-label")
        assert len(curve.find_elements(By.TAG_NAME, "polyline")) == 2  # and its torque
        wait(
            driver, "return document.querySelector('#replay .curve line').getAttribute('x1') == 25"
        )
        ActionChains(driver).move_to_element(curve).click().perform()
        assert state(driver)["t"] == pytest.approx(1.0, abs=0.05)
        driver.find_elements(By.CSS_SELECTOR, "#replay .joints .name")[2].click()
        assert not curve.is_displayed()


def test_frames_and_ellipsoids_are_those_of_the_robot(opened) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    lap = page_of(robot).replay.motions[1]
    poses = link_poses(robot, lap.animation.q[0])
    with opened("irb140") as driver:
        seek(driver, float(lap.animation.t[0]), "lap")
        assert driver.execute_script(f"return {REPLAY}.marks()") == []
        driver.find_element(By.CSS_SELECTOR, "#replay .frames").click()
        lines = np.array(driver.execute_script(f"return {REPLAY}.marks()")).reshape(3, -1, 2, 3)
        poses = np.array([*poses, poses[-1] @ robot.T_last_tip])
        axes = lines[:, :, 1] - lines[:, :, 0]
        np.testing.assert_allclose(lines[0, :, 0], poses[:, :3, 3], atol=TENTH)
        axes /= np.linalg.norm(axes, axis=2, keepdims=True)
        np.testing.assert_allclose(axes, poses[:, :3, :3].transpose(2, 0, 1), atol=1e-4)
        driver.find_element(By.CSS_SELECTOR, "#replay .frames").click()
        driver.find_element(By.CSS_SELECTOR, "#replay .ellipsoids").click()
        chains = np.array(driver.execute_script(f"return {REPLAY}.marks()")).reshape(-1, 3, 41, 3)
        for link, T, sections in zip(robot.links, poses, chains, strict=False):
            shape = inertia_ellipsoid(link.phi)
            points = (sections - T[:3, 3]) @ T[:3, :3] - shape.center
            sizes = np.linalg.norm(points @ shape.rotation / shape.semi_axes, axis=-1)
            np.testing.assert_allclose(sizes, 1.0, atol=1e-3)


def test_another_log_is_opened_and_a_wrong_one_refused(opened, tmp_path) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    names = [f"{kind}.{name}" for kind in ("q", "tau") for name in robot.joint_names]
    t = np.linspace(0.0, 1.0, 11)
    table = np.column_stack([t, *(0.1 * k * t for k in range(12))])
    good, bad = tmp_path / "another.csv", tmp_path / "bad.csv"
    np.savetxt(good, table, delimiter=",", header=",".join(["t", *names]), comments="# a log\n")
    bad.write_text("t,q.nobody\n0,1\n1,2\n")
    with opened("irb140") as driver:
        field = driver.find_element(By.CSS_SELECTOR, "#replay .file")
        field.send_keys(str(bad))
        wait(driver, "return document.querySelector('#replay .notice').textContent !== ''")
        assert (
            f"no column q.{robot.joint_names[0]}"
            in driver.find_element(By.CSS_SELECTOR, "#replay .notice").text
        )
        field.send_keys(str(good))
        wait(driver, f"return {REPLAY}.state.motion.name === 'another.csv'")
        seek(driver, 0.55, "another.csv")
        (poses,) = driver.execute_script(f"return {REPLAY}.poses()")
        T = np.array(poses).reshape(-1, 4, 4).transpose(0, 2, 1)
        q = 0.1 * np.arange(6) * 0.55
        np.testing.assert_allclose(T[1:], link_poses(robot, q), atol=1e-6)
        shares = driver.execute_script(f"return {REPLAY}.state.motion.shares('torque', 1.0)")
        effort = robot.limits.effort
        np.testing.assert_allclose(shares, 0.1 * np.arange(6, 12) / effort, atol=2 / 255)


def test_print_leaves_the_replay_out(opened) -> None:
    with opened() as driver:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        shown = [
            driver.find_element(By.CSS_SELECTOR, selector).is_displayed()
            for selector in ("#replay", "#figure-both .live")
        ]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert shown == [False, True]


def test_everything_has_a_name_for_screen_readers(opened) -> None:
    with opened() as driver:
        nameless = driver.execute_script(
            """
            return [...document.querySelectorAll("#replay :is(button, input, select, canvas)")]
              .filter((node) => !node.getAttribute("aria-label") && !node.labels?.length)
              .map((node) => node.outerHTML);
            """
        )
        assert nameless == []
        seek(driver, 1.25, "lap")
        wait(driver, "return document.querySelector('#replay .time').ariaValueText === '1.25 s'")


def test_nothing_moves_by_itself(opened) -> None:
    with opened("2r", prefers_reduced_motion="reduce") as driver:
        assert state(driver)["playing"] is False
        frames = driver.execute_script(f"return {REPLAY}.frames")
        driver.execute_async_script("setTimeout(arguments[0], 700)")
        later = driver.execute_script(f"return {REPLAY}.frames")
        assert later - frames <= 2  # once coarse, once fine


def cursors(driver, chart: str) -> list[float | None]:
    """Return where the lines of a chart's panels are from the left of the window [px]."""
    return driver.execute_script(
        "return [...document.querySelectorAll(`#figure-${arguments[0]} .cursors div`)]"
        ".map((line) => line.hidden ? null : line.getBoundingClientRect().left)",
        chart,
    )


def test_a_click_in_a_plot_brings_the_arm_to_that_time(opened) -> None:
    with opened() as driver:
        _show_plots(driver)
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


def test_a_line_in_the_plots_follows_the_arm(opened) -> None:
    with opened() as driver:
        _show_plots(driver)
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
        _show_plots(driver)
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


def _show_plots(driver) -> None:
    driver.execute_script(
        "document.getElementById('figure-both').scrollIntoView({block: 'center'})"
    )
    wait(driver, "return document.querySelector('#figure-both .live .main-svg')")
    wait(driver, "return document.querySelector('#figure-both .live')._fullLayout._size")


def _box(driver, number: int) -> list[float]:
    """Return place and range of a panel, as the plot's own axes have it, in the window [px]."""
    return driver.execute_script(
        """
        const live = document.querySelector('#figure-both .live');
        const number = arguments[0] ? 2 : '';
        const [x, y] = ['xaxis', 'yaxis'].map((axis) => live._fullLayout[axis + number]);
        const box = live.getBoundingClientRect();
        return [box.left + x._offset, box.top + y._offset, x._length, y._length, ...x.range];
        """,
        number,
    )
