"""Swarm and evolutionary optimizers with an ask/tell interface; knows no robots."""

from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.minimize import OptimResult, minimize
from robotid_sim.optim.optimizer import Optimizer

__all__ = ["OPTIMIZERS", "OptimResult", "Optimizer", "minimize"]
