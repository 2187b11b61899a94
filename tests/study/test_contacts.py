"""What links do to one another on the motions of a study is found and said."""

from dataclasses import dataclass

import numpy as np
import pytest

from robotid_sim.engine.proximity import Proximity
from robotid_sim.study.contacts import ADVICE, contact_notes, contacts
from robotid_sim.trajectory.reference import Reference
from tests.robots import single


@dataclass(frozen=True)
class Straight:
    """From one pose to another between -1 and 1 s."""

    joint_names: tuple[str, ...]
    first: np.ndarray
    last: np.ndarray
    start = -1.0
    duration = 1.0
    period = None

    def __call__(self, t):
        share = 0.5 * (np.asarray(t)[:, None] + 1.0)
        q = self.first + share * (self.last - self.first)
        return Reference(q, np.zeros_like(q), np.zeros_like(q))


@pytest.fixture(scope="module")
def folded(irb140):
    """Return a pose in which the arm is in its own base."""
    rng, limits = np.random.default_rng(0), irb140.limits
    with Proximity(irb140) as proximity:
        pairs = [pair.second == irb140.base for pair in proximity.pairs]
        for _ in range(1000):
            q = rng.uniform(limits.lower, limits.upper)
            if proximity(q)[0][pairs].min() < -0.02:
                return q
    raise AssertionError("no pose touches the base")


def test_a_motion_into_the_base_is_found_where_it_is_deepest(irb140, folded):
    home = irb140.home
    motions = {
        "still": Straight(irb140.joint_names, home, home),
        "excitation": Straight(irb140.joint_names, home, folded),
    }
    found = contacts(irb140, motions)
    assert {contact.motion for contact in found} == {"excitation"}
    deepest = max((c for c in found if c.links[1] == irb140.base), key=lambda c: c.depth_m)
    with Proximity(irb140) as proximity:
        k = [(p.first, p.second) for p in proximity.pairs].index(deepest.links)
        at = motions["excitation"](np.array([deepest.t_s])).q[0]
        assert deepest.depth_m == pytest.approx(-proximity(at)[0][k], abs=1e-9)
    assert deepest.depth_m > 0.01
    first, advice = contact_notes(found)
    assert first.startswith("CONTACT in excitation: link_")
    assert advice == ADVICE


def test_a_robot_without_geometry_touches_nothing():
    robot = single()
    assert contacts(robot, {"a": Straight(robot.joint_names, robot.home, robot.home)}) == []
    assert contact_notes([]) == []


def test_a_study_says_that_its_motions_touch(quick_study):
    study, _ = quick_study
    assert {c.motion for c in study.result.contacts} >= {"excitation", "unseen"}
    assert all(c.depth_m > 0.0 for c in study.result.contacts)
