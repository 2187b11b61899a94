"""The registry of optimizers; what its names mean is the business of one file each."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.optim.optimizer import Optimizer

OPTIMIZERS: "Registry[Optimizer]" = Registry(
    "optimizer",
    "robotid_sim.optim.optimizer:Optimizer",
    {
        "bso": "robotid_sim.optim.bso:BeetleSwarm",
        "cmaes": "robotid_sim.optim.cma_es:CmaEs",
        "constriction-pso": "robotid_sim.optim.pso:ConstrictionSwarm",
        "de": "robotid_sim.optim.evolution:DifferentialEvolution",
        "elpidso": "robotid_sim.optim.elpidso:PidSwarm",
        "ga": "robotid_sim.optim.evolution:GeneticAlgorithm",
        "goa": "robotid_sim.optim.animal_swarms:Grasshopper",
        "gwo": "robotid_sim.optim.animal_swarms:GreyWolf",
        "ldw-pso": "robotid_sim.optim.pso:LinearInertiaSwarm",
        "mupso": "robotid_sim.optim.mupso:MutatingSwarm",
        "pso": "robotid_sim.optim.pso:ParticleSwarm",
        "qpso-delta": "robotid_sim.optim.qpso:DeltaWellSwarm",
        "qpso-qubit": "robotid_sim.optim.qpso:QubitSwarm",
        "rwpso": "robotid_sim.optim.pso:RandomWeightSwarm",
        "sedsabso": "robotid_sim.optim.bso:AnnealedBeetleSwarm",
        "simulated-annealing": "robotid_sim.optim.evolution:SimulatedAnnealing",
        "woa": "robotid_sim.optim.animal_swarms:WhaleOptimization",
    },
)
