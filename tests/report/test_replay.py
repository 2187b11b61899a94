"""The replay of a page: what it holds, how large it is, and that it is left out when asked."""

import base64
import gzip
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from lxml import html
from robots import urdf_path
from test_draw import lines

from robotid_sim.chart import Chart, Clock, Curve, Panel
from robotid_sim.measurement.log import Log
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import Solid
from robotid_sim.report.page import Page, page_text, write_page
from robotid_sim.report.replay.data import (
    ARM_TRIANGLES,
    GHOST_TRIANGLES,
    MAX_SAMPLES,
    body_meshes,
    replay_data,
    simplify,
)
from robotid_sim.report.replay.motions import (
    MAX_RESIDUAL_RATIO,
    GhostArm,
    Replay,
    ReplayMotion,
    log_motion,
    logs_motion,
    loop_motions,
    make_tracking_motion,
    tie_to_motion,
    trajectory_motion,
)
from robotid_sim.report.study_report import study_report
from robotid_sim.section import Section
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.prediction import Prediction
from robotid_sim.viewer.animation import Animation

LARGEST = 0.45e6
"""Most bytes of the replay of a robot with large meshes, of a sweep of its joints."""


def sweep(robot: Robot, name: str = "sweep") -> ReplayMotion:
    return ReplayMotion(name, Animation.sweep(robot))


def page_of(robot: Robot, *motions: ReplayMotion, charts: tuple[Chart, ...] = ()) -> Page:
    replay = Replay(robot, motions or (sweep(robot),))
    sections = (Section(title="Plots", charts=charts),) if charts else ()
    return Page(title="T", finding="f", sections=sections, replay=replay)


def held(text: str) -> dict:
    """Return what a page holds of its replay."""
    packed = html.fromstring(text).get_element_by_id("replay-data").text
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def numbers(text: str, kind: str, columns: int = 0) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(text), kind)
    return values.reshape(-1, columns) if columns else values


def log_of(robot: Robot, t: np.ndarray, factor: float = 1.0) -> Log:
    q = factor * 0.3 * np.sin(t)[:, None] * np.ones(robot.dof)
    return Log(
        t=t, q=q, tau_meas=5.0 * q, joint_names=robot.joint_names, joint_units=robot.joint_units
    )


@pytest.mark.parametrize("name", ["irb140", pytest.param("panda", marks=pytest.mark.slow)])
def test_a_replay_is_a_small_part_of_a_page(name) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    page = page_of(robot)
    more = len(page_text(page)) - len(page_text(replace(page, replay=None)))
    assert more < LARGEST
    for meshes, most in zip(body_meshes(robot), (ARM_TRIANGLES, GHOST_TRIANGLES), strict=True):
        assert sum(len(mesh.faces) for mesh in meshes) <= most
        assert {mesh.body for mesh in meshes} == set(range(-1, robot.dof))


def test_many_triangles_become_few_on_the_same_surface() -> None:
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.2)
    box = trimesh.creation.box([0.5, 0.3, 0.2])
    for _ in range(5):
        box = box.subdivide()
    solids = [Solid(m.vertices, m.faces) for m in (ball, box)]
    few_ball, few_box = simplify(solids, 3000)
    assert 1500 < len(few_ball.faces) + len(few_box.faces) <= 3000
    np.testing.assert_allclose(np.linalg.norm(few_ball.vertices, axis=1), 0.2, atol=1e-3)
    assert few_ball.volume == pytest.approx(solids[0].volume, rel=0.01)
    assert few_box.volume == pytest.approx(0.03, rel=1e-3)  # corners and edges stay
    assert few_ball.open_edges == few_box.open_edges == 0


def test_few_triangles_stay_as_they_are() -> None:
    box = trimesh.creation.box([1.0, 1.0, 1.0])
    solid = Solid(box.vertices, box.faces)
    assert simplify([solid], 12) == [solid]


def test_a_robot_without_shapes_shows_its_inertia(arm) -> None:
    fine, _ = body_meshes(arm)
    for body, link in enumerate(arm.links):
        ellipsoids = [m for m in fine if m.body == body and m.rgba[3] < 1.0]
        assert len(ellipsoids) == 1
        middle = 0.5 * (ellipsoids[0].vertices.min(axis=0) + ellipsoids[0].vertices.max(axis=0))
        np.testing.assert_allclose(middle, link.phi[1:4] / link.phi[0], atol=1e-3)
    assert any(m.body == -1 for m in fine)  # a foot


def test_a_mesh_that_cannot_be_read_has_a_stand_in(irb140, tmp_path, caplog) -> None:
    broken = tmp_path / "broken.stl"
    broken.write_text("solid a\nfacet normal 0 0 1\nouter loop\nvertex x\n")
    shape = GeometryShape("mesh", (1.0, 1.0, 1.0), np.eye(4), broken)
    box = GeometryShape("box", (0.1, 0.2, 0.3), np.eye(4), collision=True)
    links = (replace(irb140.links[0], shapes=(shape, box)), *irb140.links[1:])
    with caplog.at_level(logging.WARNING):
        fine, _ = body_meshes(replace(irb140, links=links))
    first = [mesh for mesh in fine if mesh.body == 0]
    assert len(first) == 1
    np.testing.assert_allclose(np.ptp(first[0].vertices, axis=0), box.size, atol=1e-9)
    assert "broken.stl" in caplog.text


def test_the_page_holds_the_motion_and_the_meshes(irb140) -> None:
    motion = sweep(irb140)
    data = held(page_text(page_of(irb140, motion)))
    (shown,) = data["motions"]
    np.testing.assert_array_equal(numbers(shown["t"], "<f8"), motion.animation.t)
    np.testing.assert_allclose(numbers(shown["q"], "<f4", 6), motion.animation.q, atol=1e-6)
    share = numbers(shown["torque"], "u1", 6) / 255.0
    expected = np.abs(motion.animation.tau) / irb140.limits.effort
    np.testing.assert_allclose(share, np.minimum(expected, 1.0), atol=2.1e-3)
    fine, _ = body_meshes(irb140)
    for mesh, sent in zip(fine, data["meshes"], strict=True):
        places = sent["low"] + numbers(sent["vertices"], "<u2", 3) * np.array(sent["step"])
        np.testing.assert_allclose(places, mesh.vertices, atol=2e-5)
        np.testing.assert_array_equal(numbers(sent["faces"], "<u2", 3), mesh.faces)


def test_torques_without_a_limit_are_over_their_peak(arm) -> None:
    joints = tuple(replace(joint, effort=np.inf) for joint in arm.joints)
    data = replay_data(Replay(replace(arm, joints=joints), (sweep(replace(arm, joints=joints)),)))
    assert not any(joint["effort"] for joint in data["joints"])
    assert (numbers(data["motions"][0]["torque"], "u1", 2).max(axis=0) == 255).all()


def test_long_motions_are_thinned_to_share_a_page(arm) -> None:
    t = np.arange(0.0, 2000.0, 0.05)
    motions = [log_motion(arm, log_of(arm, t), f"log {k}") for k in (1, 2)]
    data = replay_data(Replay(arm, tuple(motions)))
    counts = [numbers(motion["t"], "<f8").size for motion in data["motions"]]
    assert all(0.4 * MAX_SAMPLES < count <= MAX_SAMPLES / 2 for count in counts)


def test_the_residual_is_over_three_standard_deviations(arm) -> None:
    t = np.linspace(0.0, 2.0, 21)
    left = np.outer(t, (0.3, 6.0))
    units, zero = ("N m", "N m"), np.zeros(2)
    predicted = Prediction(arm.joint_names, units, t, left, 0.0 * left, zero, zero, None)
    log = log_of(arm, np.linspace(0.0, 2.0, 101))
    motion = log_motion(arm, log, "log", predicted, np.array([0.1, 2.0]))
    shares = np.outer(log.t, (0.3, 6.0)) / (MAX_RESIDUAL_RATIO * np.array([0.1, 2.0]))
    np.testing.assert_allclose(motion.residual, np.minimum(shares, 1.0), atol=1e-12)


def test_further_logs_are_ghosts_at_their_own_times(arm) -> None:
    t = np.linspace(0.0, 3.0, 151)
    animations = [
        Animation.from_log(arm, log_of(arm, t), "a"),
        Animation.from_log(arm, log_of(arm, t[:100], 2.0), "b"),
    ]
    motion = logs_motion(animations)
    assert motion.label == animations[0].name
    (ghost,) = motion.ghosts
    assert (motion.name, ghost.name, motion.magnification) == ("a", "b", 1.0)
    np.testing.assert_allclose(ghost.difference[:100], animations[0].q[:100], atol=1e-12)


def test_errors_of_models_are_magnified_until_they_are_seen(arm) -> None:
    start, end = np.zeros(2), np.array([0.5, 0.4])
    path = PointToPoint(arm.joint_names, start, end, 0.0, 2.0)
    t = np.linspace(0.0, 2.0, 401)
    errors = {"nominal": ("nominal", t, np.outer(t, (1e-3, 5e-4)))}
    motion = make_tracking_motion(arm, "lap", path, errors)
    np.testing.assert_allclose(motion.animation.q, path(motion.animation.t).q)
    assert motion.magnification == 100.0
    assert motion.ghosts[0].difference[-1] == pytest.approx([2e-3, 1e-3])
    assert make_tracking_motion(arm, "lap", path, errors, 7.0).magnification == 7.0


def test_a_periodic_trajectory_is_shown_once(arm) -> None:
    wave = FourierTrajectory(
        joint_names=arm.joint_names,
        q0=np.zeros(2),
        a=np.full((2, 1), 0.4),
        b=np.zeros((2, 1)),
        base_period=2.0,
        periods=5,
    )
    motion = trajectory_motion(arm, wave)
    assert motion.animation.start == wave.start
    assert motion.animation.end == pytest.approx(2.0, abs=0.03)
    assert wave.duration > 9.0


def timed(name: str, clock: Clock | None) -> Chart:
    t = np.linspace(0.0, 2.0, 5)
    panel = Panel(marks=(Curve(t, t, "a", "true"),), x_label="time [s]", clock=clock)
    return Chart(name=name, title=name, caption="c", panels=(panel,))


@pytest.mark.slow
def test_time_axes_are_tied_to_the_motions_of_the_page(arm, tmp_path) -> None:
    charts = (timed("one", Clock("sweep", 3.0, 1e-3)), timed("two", Clock("other")), lines())
    path = tmp_path / "page.html"
    write_page(page_of(arm, charts=(*charts, timed("three", None))), path)
    (panel,) = held(path.read_text())["panels"]
    named = ("chart", "panel", "motion", "origin", "unit")
    assert [panel[key] for key in named] == ["one", 0, "sweep", 3.0, 1e-3]


def test_a_section_is_put_into_a_motion() -> None:
    section = tie_to_motion(
        Section(title="S", charts=(timed("one", Clock(unit=1e-3)), lines())), "log"
    )
    assert section.charts[0].panels[0].clock == Clock("log", unit=1e-3)
    assert all(panel.clock is None for panel in section.charts[1].panels)


@pytest.mark.slow
def test_without_replay_the_page_has_nothing_of_it(arm, tmp_path) -> None:
    page = page_of(arm, charts=(timed("one", Clock("sweep")),))
    for name, words in (("with", {}), ("without", {"replay": False})):
        write_page(page, tmp_path / name, **words)
    assert 'id="replay"' in (tmp_path / "with").read_text()
    write_page(replace(page, replay=None), tmp_path / "never")
    never, without = (html.fromstring((tmp_path / n).read_text()) for n in ("never", "without"))
    (footer,) = without.cssselect("footer")
    assert "--no-replay" in footer.text_content()
    footer.drop_tree()
    assert html.tostring(without).split() == html.tostring(never).split()
    assert "replay" not in without.text_content()


def test_names_of_robots_and_logs_cannot_break_the_page(arm) -> None:
    nasty = "</script><script>alert(1)</script>"
    joints = (replace(arm.joints[0], name=nasty), arm.joints[1])
    robot = replace(arm, name=nasty, joints=joints)
    motion = replace(
        sweep(robot, nasty), ghosts=(GhostArm(nasty, "true", 0.0 * sweep(robot).animation.q),)
    )
    text = page_text(page_of(robot, motion))
    assert "alert" not in text
    data = held(text)
    assert data["robot"] == data["joints"][0]["name"] == data["motions"][0]["name"] == nasty


@pytest.fixture(scope="module")
def report(quick_study) -> Page:
    return study_report(quick_study[0], "robotid run irb140")


@pytest.mark.slow
def test_every_motion_of_a_study_is_on_its_page(quick_study, report) -> None:
    study, _ = quick_study
    names = [motion.name for motion in report.replay.motions]
    laps = [motion.name for motion in loop_motions(study.plant, study.loop)]
    assert names == ["excitation", "log", "unseen log", *laps]
    assert {f"{task.name}, {s}" for task in study.loop.tasks for s in study.loop.scenarios} == {
        *laps
    }
    for motion in report.replay.motions[3:]:
        assert [arm.name for arm in motion.ghosts] == list(study.loop.models)
    log, unseen = report.replay.motions[1:3]
    assert log.residual.shape == log.animation.q.shape
    assert 0.02 < log.residual.mean() < 0.6
    assert unseen.animation.end == pytest.approx(study.unseen.t[-1])


def test_every_time_axis_of_a_study_has_its_motion(report) -> None:
    names = {motion.name for motion in report.replay.motions}
    clocks = {}
    for section in report.sections:
        for chart in section.charts:
            for panel in chart.panels:
                if getattr(panel, "x_label", "").startswith("time"):
                    assert panel.clock is not None, chart.name
                    clocks.setdefault(chart.name, set()).add(panel.clock.motion)
    assert set().union(*clocks.values()) <= names
    assert clocks["torque-filters"] == clocks["fit"] == {"log"}
    assert clocks["prediction"] == {"unseen log"}
    assert clocks["excitation"] == {"excitation"}


def test_the_motions_of_the_loop_are_those_of_the_runs(quick_study) -> None:
    study, _ = quick_study
    motion = loop_motions(study.plant, study.loop)[0]
    task, scenario = study.loop.tasks[0], study.loop.scenarios[0]
    for arm in motion.ghosts:
        trace = study.loop.find(arm.name, scenario, task.name).trace
        largest = np.abs(trace.error).max()
        at = [np.interp(motion.animation.t, trace.t, error) for error in trace.error.T]
        np.testing.assert_allclose(arm.difference, -np.array(at).T, atol=1e-9 * largest)
