"""The engines by name, and that one plant is the same in all of them."""

import numpy as np
import pytest

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.engine import engines
from robotid_sim.engine.engines import ENGINES, default_engine, engine_named, pybullet_has_wheels
from robotid_sim.engine.plant import Plant
from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import MissingExtraError, UnknownNameError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.plant_drives import Elastic
from robotid_sim.trajectory.reference import PointToPoint


@pytest.fixture
def without(monkeypatch):
    """Return a function after which some engines are not installed."""
    real = engines.find_spec

    def remove(*names: str) -> None:
        monkeypatch.setattr(engines, "find_spec", lambda p: None if p in names else real(p))

    return remove


@pytest.mark.pybullet
def test_pybullet_is_the_default_where_it_is_installed(without) -> None:
    assert default_engine() == engine_named(None) == "pybullet"
    without("pybullet")
    assert default_engine() == engine_named(None) == "mujoco"


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_installed_is_told_with_the_remedy(irb140, without, name) -> None:
    without(name)
    with pytest.raises(MissingExtraError, match=f"is not installed: pip install {name}"):
        Plant(irb140, engine=name)


def test_without_any_engine_the_first_is_asked_for(irb140, without) -> None:
    without(*ENGINES)
    best = "pybullet" if pybullet_has_wheels() else "mujoco"
    with pytest.raises(
        MissingExtraError, match=f"no physics engine is installed: pip install {best}"
    ):
        Plant(irb140)
    with pytest.raises(MissingExtraError, match="no physics engine"):
        Proximity(irb140)


def test_an_unknown_engine_is_refused(irb140) -> None:
    with pytest.raises(UnknownNameError, match="unknown engine 'bullet'"):
        Plant(irb140, engine="bullet")


@pytest.mark.pybullet
@pytest.mark.parametrize("law", [None, "stribeck", "stick-slip"])
@pytest.mark.parametrize("drive", [None, Elastic()])
def test_the_same_loop_in_both_engines_is_the_same_log(irb140, law, drive) -> None:
    logs = []
    for engine in ENGINES:
        options = {"friction": None if law is None else FRICTION_LAWS.build(law), "drive": drive}
        path = PointToPoint(irb140.joint_names, irb140.home, irb140.home + 0.4, 0.0, 0.5)
        with Plant(irb140, engine=engine, **options) as plant:
            logs.append(rollout(plant, ComputedTorque(irb140, 2500.0, 100.0), path))
        assert logs[-1].provenance["engine"] == engine
    for name in ("q", "tau_meas"):
        one, other = (getattr(log, name) for log in logs)
        np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())
