"""The experiment: the loop of plant, controller and reference."""

from robotid_sim.experiment.rollout import rollout

__all__ = ["rollout"]
