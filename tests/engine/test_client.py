"""The client of the engine: bound, quiet, closed once."""

import pybullet
import pytest

from robotid_sim.engine.client import EngineClient, EngineError


def test_a_client_prints_nothing(capfd) -> None:
    with EngineClient() as client:
        client.stepSimulation()
    assert capfd.readouterr() == ("", "")


def test_functions_act_on_their_own_client() -> None:
    with EngineClient() as first, EngineClient() as second:
        shape = first.createCollisionShape(first.GEOM_SPHERE, radius=0.1)
        first.createMultiBody(1.0, shape)
        assert (first.getNumBodies(), second.getNumBodies()) == (1, 0)
        assert first.error is pybullet.error


def test_a_closed_client_does_not_reach_its_successor() -> None:
    client = EngineClient()
    client.stepSimulation()
    client.close()
    client.close()
    with EngineClient() as successor:
        assert successor.isConnected()
        with pytest.raises(EngineError):
            client.stepSimulation()
        assert successor.isConnected()
