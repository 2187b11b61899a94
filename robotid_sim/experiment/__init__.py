"""The experiment: the loop of plant, controller and reference."""

from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Scenario

__all__ = ["Scenario", "rollout"]
