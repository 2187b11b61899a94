"""Logs of an arm that mostly stands still, with friction and springs that the model lacks."""

from dataclasses import replace

import numpy as np
import pytest
from predictions import Poses

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config


@pytest.mark.slow
@pytest.mark.parametrize("law", ["smooth-coulomb", "spring", "stick-slip", "presliding"])
def test_friction_at_rest_is_no_fault_of_the_data(law: str) -> None:
    friction = {"experiment": {"friction": {"law": law}}, "control": {"enabled": False}}
    setup = build_setup("irb140", load_config(None, friction))
    with setup.cell.open() as plant:
        clean = rollout(
            plant, setup.cell.controller, Poses(setup.cell.plant, "rest", np.random.default_rng(1))
        )
    log = measure(clean, setup.cell.sensors, np.random.default_rng(10))
    assert contradictions(replace(log, truth=None), setup.nominal, setup.basis).errors == ()
