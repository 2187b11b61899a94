"""Studies, cells and comparisons of tests, from names as a configuration has them."""

from dataclasses import replace

import numpy as np

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.experiment.rollout import Cell
from robotid_sim.pipeline.build import build_cell, build_comparison, build_setup
from robotid_sim.pipeline.build_design import build_design
from robotid_sim.pipeline.build_robot import build_basis, build_nominal
from robotid_sim.pipeline.config_tables import ControlConfig
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.study import run_study
from robotid_sim.streams import Streams
from robotid_sim.validation.closed_loop import run_closed_loops
from robotid_sim.validation.comparison import Comparison

OF_COMPARISON = ("undisturbed", "trace_samples")
"""Fields that no configuration has."""


def study(robot, config, folder, **options):
    """Run a whole study of a robot by name or file."""
    return run_study(build_setup(robot, config), folder, **options)


def comparison(**options) -> Comparison:
    """Return a comparison from names, as section [control] has them."""
    extra = {name: options.pop(name) for name in OF_COMPARISON if name in options}
    return replace(build_comparison(ControlConfig(**options)), **extra)


def cell_of(plant, **options) -> Cell:
    """Return a cell without sensors whose controller knows the plant."""
    return Cell(plant=plant, controller=ComputedTorque(plant), **options)


def loop_of(plant, nominal, models, seed, plan, rate=1000.0, **options):
    """Return the closed loop of a plant."""
    rng = np.random.default_rng(seed)
    return run_closed_loops(cell_of(plant, rate=rate), nominal, models, rng, plan, **options)


def designed(plant, config):
    """Return the excitations of a configuration."""
    nominal = build_nominal(plant, config)
    basis = build_basis(nominal, config)
    rng = Streams(config.seed)("design")
    return design_excitation(nominal, basis, build_design(nominal, basis, config), rng)


def simulated(plant, trajectory, config):
    """Return the log of the virtual experiment of a configuration."""
    cell = build_cell(plant, build_nominal(plant, config), config)
    return run_experiment(cell, trajectory, Streams(config.seed)("measure"), seed=config.seed)
