"""The experiment: the loop of plant, controller and reference, and what acts on it."""

from robotid_sim.experiment.conditions import CONDITIONS, Condition, Setting, compose, conditions
from robotid_sim.experiment.disturbance import Constant, Disturbance, Impulses, Sinusoidal
from robotid_sim.experiment.feedback import Feedback
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import FrictionScale, Payload, Scenario

__all__ = [
    "CONDITIONS",
    "Condition",
    "Constant",
    "Disturbance",
    "Feedback",
    "FrictionScale",
    "Impulses",
    "Payload",
    "Scenario",
    "Setting",
    "Sinusoidal",
    "compose",
    "conditions",
    "rollout",
]
