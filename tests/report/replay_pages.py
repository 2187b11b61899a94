"""Pages with a replay, and how tests speak to it in a browser."""

import numpy as np
from headless import WAIT
from selenium.webdriver.support.ui import WebDriverWait

from robotid_sim.chart import Chart, Clock, Curve, Panel
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, ReplayMotion, make_tracking_motion
from robotid_sim.section import Section
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.viewer.animation import Animation

REPLAY = "document.getElementById('replay').replay"
ROBOTS = ("irb140", "scara", "rp", "2r")


def plot(name: str, *clocks: Clock | None) -> Chart:
    """Return a chart of a panel for every clock, over two seconds."""
    t = np.linspace(0.0, 2.0, 41)
    marks = (Curve(t, np.sin(3.0 * t), "a", "true"),)
    panels = tuple(Panel(marks=marks, x_label="time [s]", clock=clock) for clock in clocks)
    return Chart(name=name, title=name, caption="c", panels=panels, columns=len(clocks))


def page_of(robot: Robot) -> Page:
    """Return a page with a sweep, the arm with three models, and plots over both."""
    middle, half = robot.limits.middle, robot.limits.half_range
    path = PointToPoint(robot.joint_names, middle - 0.2 * half, middle + 0.2 * half, 0.0, 2.0)
    t = np.linspace(0.0, 2.0, 101)
    errors = {
        model: (model, t, np.outer(t, np.full(robot.dof, k * 1e-3)))
        for k, model in enumerate(("true", "nominal", "identified"))
    }
    lap = make_tracking_motion(robot, "lap", path, errors)
    sweep = ReplayMotion("sweep", Animation.sweep(robot))
    sections = (
        Section(title="Plots", charts=(plot("both", Clock("lap"), Clock("sweep", 1.0, 0.5)),)),
        Section(title="Others", charts=(plot("others", None, Clock("none")),)),
    )
    return Page(title="T", finding="f", sections=sections, replay=Replay(robot, (sweep, lap)))


def wait(driver, script: str) -> None:
    WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(script))


def seek(driver, t: float, motion: str) -> None:
    driver.execute_script(f"{REPLAY}.seek(arguments[0], arguments[1])", t, motion)


def state(driver) -> dict:
    return driver.execute_script(
        f"const s = {REPLAY}.state; return {{ t: s.t, motion: s.motion.name, playing: s.playing }}"
    )
