"""The registry of optimizers; what its names mean is the business of one file each."""

from robotid_sim.optim.animal_swarms import Grasshopper, GreyWolf, WhaleOptimization
from robotid_sim.optim.bso import AnnealedBeetleSwarm, BeetleSwarm
from robotid_sim.optim.cma_es import CmaEs
from robotid_sim.optim.elpidso import PidSwarm
from robotid_sim.optim.evolution import DifferentialEvolution, GeneticAlgorithm, SimulatedAnnealing
from robotid_sim.optim.mupso import MutatingSwarm
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.pso import (
    ConstrictionSwarm,
    LinearInertiaSwarm,
    ParticleSwarm,
    RandomWeightSwarm,
)
from robotid_sim.optim.qpso import DeltaWellSwarm, QubitSwarm
from robotid_sim.registry import Registry

OPTIMIZERS: Registry[Optimizer] = Registry(
    "optimizer",
    Optimizer,
    {
        "bso": BeetleSwarm,
        "cmaes": CmaEs,
        "constriction-pso": ConstrictionSwarm,
        "de": DifferentialEvolution,
        "elpidso": PidSwarm,
        "ga": GeneticAlgorithm,
        "goa": Grasshopper,
        "gwo": GreyWolf,
        "ldw-pso": LinearInertiaSwarm,
        "mupso": MutatingSwarm,
        "pso": ParticleSwarm,
        "qpso-delta": DeltaWellSwarm,
        "qpso-qubit": QubitSwarm,
        "rwpso": RandomWeightSwarm,
        "sedsabso": AnnealedBeetleSwarm,
        "simulated-annealing": SimulatedAnnealing,
        "woa": WhaleOptimization,
    },
)
