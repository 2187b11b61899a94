"""Links that touch on a motion, and that they are shown in red when they do."""

from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.engine.proximity import Proximity
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.animation import Animation, ContactTimes
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.joint_panel import JointPanel
from robotid_sim.viewer.view_settings import ViewSettings


@pytest.fixture(scope="module")
def contacts(sweep) -> ContactTimes:
    return ContactTimes.of(sweep)


def red(picture) -> int:
    """Return how many pixels are red, in light or shade; the arm is orange."""
    r, g, b = np.moveaxis(np.asarray(picture.convert("RGB"), dtype=int), -1, 0)
    return int(((r > 100) & (g < 0.3 * r) & (abs(g - b) < 0.2 * r)).sum())


def test_contacts_are_those_of_every_pose_by_itself(sweep, contacts) -> None:
    bodies = [link.name for link in sweep.robot.links]
    with Proximity(sweep.robot, floor=0.0) as proximity:
        for k in range(0, sweep.t.size, 40):
            distances, _ = proximity(sweep.q[k])
            inside = [p for p, d in zip(proximity.pairs, distances, strict=True) if d < 0.0]
            names = {name for pair in inside for name in (pair.first, pair.second)} - {"floor"}
            numbers = {bodies.index(name) if name in bodies else -1 for name in names}
            assert contacts.at(sweep.t[k]) == numbers
    assert contacts.ever >= {3, 4, 5}


def test_spans_hold_every_sample_that_touches(sweep, contacts) -> None:
    touching = np.array([bool(contacts.at(t)) for t in sweep.t])
    spans = contacts.spans()
    assert len(spans) > 1
    inside = np.any([(sweep.t >= a) & (sweep.t <= b) for a, b in spans], axis=0)
    assert np.array_equal(inside, touching)


def test_a_robot_without_geometry_that_cannot_touch_has_no_contacts() -> None:
    found = ContactTimes.of(Animation.sweep(Robot.from_urdf(DATA / "2r.urdf")))
    assert not found.ever
    assert found.spans() == []
    assert found.at(0.0) == frozenset()


@pytest.mark.slow
def test_links_are_red_while_they_touch_and_have_their_own_color_after(sweep, contacts) -> None:
    start, end = contacts.spans()[0]
    times = (start - 0.5, 0.5 * (start + end), end + 0.5)
    settings = ViewSettings(layers=frozenset({"contacts"}), renderer="software")
    with Compositor([sweep], settings) as film:
        before, during, after = (red(film.frame(t)) for t in times)
    assert before == after == 0
    assert during > 300
    with Compositor([sweep], replace(settings, layers=frozenset())) as film:
        assert red(film.frame(times[1])) == 0


def test_the_panel_says_so(sweep, contacts) -> None:
    start, end = contacts.spans()[0]
    panel = JointPanel(sweep, contacts=contacts)
    named = [red(panel.draw(sweep.at(t))) for t in (start - 0.5, end)]
    assert named[0] == 0
    assert named[1] > 20
