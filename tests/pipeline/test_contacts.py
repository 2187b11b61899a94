"""What links do to one another on the motions of a study is found and said."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from engine_contacts import deepest_contacts, motions_of
from robots import single, urdf_path
from studies import study as studied

from robotid_sim.engine.proximity import Proximity
from robotid_sim.model.catalog_files import catalog
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import (
    CONTACT_REMEDY,
    contact_notes,
    contacts,
    design_excitation,
)
from robotid_sim.pipeline.verdict import verdict
from robotid_sim.trajectory.reference import Reference

ARMS = (*catalog(), "ur5", "panda", "iiwa")


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


def judged(setup, study, touching):
    """Return the checks of a study that has run, without those that need its noise."""
    quiet = replace(setup, cell=replace(setup.cell, sensors=()), comparison=None)
    logs, estimates = (study.log, study.unseen), study.result.estimates
    return verdict(quiet, *logs, study.fit, None, estimates, None, None, touching).checks


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
    assert advice == CONTACT_REMEDY


def test_a_robot_of_one_link_touches_nothing():
    robot = single()
    assert contacts(robot, {"a": Straight(robot.joint_names, robot.home, robot.home)}) == []
    assert contact_notes([]) == []


@pytest.mark.slow
@pytest.mark.pybullet
def test_a_study_keeps_links_apart_as_a_client_of_its_own_confirms(quick_study):
    study, _ = quick_study
    assert study.result.contacts == []
    (check,) = [c for c in study.result.verdict.checks if c.name == "no_link_contact"]
    assert check.passed
    assert deepest_contacts(study.setup, motions_of(study)) == {}


def test_a_study_says_that_its_motions_touch(quick_study):
    study, _ = quick_study
    setup = study.setup
    anywhere = replace(setup, excitation=replace(setup.excitation, clearance=None, floor=None))
    touching = contacts(setup.nominal, {"folded": study.trajectory}, floor=0.3)
    assert touching
    notes = contact_notes(touching)
    assert notes[0].startswith("CONTACT in folded: ")
    names = [check.name for check in judged(anywhere, study, touching)]
    assert "no_link_contact" not in names
    (check,) = [c for c in judged(setup, study, touching) if c.name == "no_link_contact"]
    assert not check.passed
    assert "mm deep" in check.message


@pytest.mark.pybullet
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", ARMS)
def test_a_quick_study_passes_its_verdict_and_nothing_touches(name, tmp_path):
    study = studied(urdf_path(name), load_config(None).quick(), tmp_path)
    assert study.result.verdict.passed, [c for c in study.result.verdict.checks if not c.passed]
    assert deepest_contacts(study.setup, motions_of(study)) == {}


@pytest.mark.pybullet
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", ARMS)
def test_on_the_motions_of_a_default_study_nothing_touches(name):
    setup = build_setup(urdf_path(name), load_config(None))
    plan, rng = setup.excitation, setup.streams("design")
    (path,) = design_excitation(setup.nominal, setup.basis, plan, rng).trajectories
    assert deepest_contacts(setup, {"excitation": path, "validation": setup.unseen}) == {}
