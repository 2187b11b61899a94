"""Logs of an arm that mostly stands still, with friction and springs that the model lacks."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.trajectory.reference import PointToPoint, Reference, approach_duration

DWELL = 2.0
"""Time of rest in every pose [s]."""


class Poses:
    """Poses one after the other, with a rest in each."""

    period = None

    def __init__(self, setup: Setup, count: int, seed: int) -> None:
        plant, rng = setup.cell.plant, np.random.default_rng(seed)
        limits, self.joint_names = plant.limits, plant.joint_names
        lower, upper = np.maximum(limits.lower, -2.0), np.minimum(limits.upper, 2.0)
        pose, t = plant.home, 0.0
        self.ways = []
        for _ in range(count):
            other = 0.5 * (lower + upper) + 0.6 * (upper - lower) * (rng.random(plant.dof) - 0.5)
            end = t + approach_duration(limits, pose, other, 0.6)
            self.ways.append(PointToPoint(self.joint_names, pose, other, t, end))
            pose, t = other, end + DWELL
        self.start, self.duration = 0.0, t

    def __call__(self, t: np.ndarray) -> Reference:
        parts = self.ways[0](t)
        q, dq, ddq = parts.q.copy(), parts.dq.copy(), parts.ddq.copy()
        for way in self.ways[1:]:
            later, part = t >= way.start, way(t)
            q[later], dq[later], ddq[later] = part.q[later], part.dq[later], part.ddq[later]
        return Reference(q=q, dq=dq, ddq=ddq)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["smooth-coulomb", "spring", "stick-slip", "presliding"])
def test_friction_at_rest_is_no_fault_of_the_data(law: str) -> None:
    friction = {"experiment": {"friction": {"law": law}}, "control": {"enabled": False}}
    setup = build_setup("irb140", load_config(None, friction))
    with setup.cell.open() as plant:
        clean = rollout(plant, setup.cell.controller, Poses(setup, 12, seed=1))
    log = measure(clean, setup.cell.sensors, np.random.default_rng(10))
    assert contradictions(replace(log, truth=None), setup.nominal, setup.basis).errors == ()
