"""What the paper leaves out: the same swarms on torques from the engine, with least squares beside.

And its CAD step: mass properties of the links from geometry at uniform density.
"""

from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.model import inertia, parameters
from robotid_sim.model.cad import inertia_from_geometry
from robotid_sim.model.catalog import load_robot, published_parameters, published_plant
from robotid_sim.papers.irb140.model import ITERATIONS, LINKS, PARTICLES, ROBOT, ROOT
from robotid_sim.papers.irb140.swarms import METHODS
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import ConstraintsConfig, ControlConfig, DesignConfig
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.experiment import run_experiment
from robotid_sim.pipeline.identify import identify
from robotid_sim.streams import named_stream
from robotid_sim.validation.prediction import rms

TIP = "link_3"
"""The paper's chain; the wrist is locked and belongs to the last link."""
CLASSICAL = ("ols", "wls", "consistent")
SEARCHES = ("pso", "pso-decreasing", "qubit", "qubit-decreasing", "delta-well")
BOX = 0.5
"""Half width of the searches' box around weighted least squares, as in Table 3's runs."""
TOTAL_MASS = 98.0
"""Mass of the whole robot, base included, from its data sheet [kg]."""


def identify_from_torque(seed: int, run: int) -> dict[str, Any]:
    """Return classical estimators and swarms on one log of the arm in the engine.

    Excitation, experiment and preprocessing are those of a quick study; sensors are its default
    ones. The swarms get the paper's budget and the weighted sum of squared torque residuals.

    Returns
    -------
    result : dict
        ``methods``: by name, ``criterion_over_optimum``, ``error`` (RMS of the error over the
        standard deviation of weighted least squares), ``residual`` (per joint [N m]), ``nfev``,
        ``seconds``.
    """
    log_seed = int(named_stream(seed, ROOT, "log", f"run {run}").integers(2**31))
    config = StudyConfig(
        seed=log_seed,
        design=DesignConfig(constraints=ConstraintsConfig(contact=True)),  # as in the paper
        control=ControlConfig(enabled=False),
    )
    plant = published_plant(ROBOT, TIP)
    setup = build_setup(plant, config.quick().with_estimators(CLASSICAL))
    nominal, basis, streams = setup.nominal, setup.basis, setup.streams
    designs = design_excitation(nominal, basis, setup.excitation, streams("design"))
    log = run_experiment(setup.cell, designs.trajectories[0], streams("measure"))
    rng = streams("identify")
    identification = identify(log, nominal, basis=basis, plan=setup.fit, check=False, rng=rng)
    true = identification.basis.of(plant.parameters())
    estimates = {estimate.estimator: estimate for estimate in identification.estimates}
    std = estimates["wls"].std
    for name in SEARCHES:
        optimizer, options = METHODS[name]
        budget = {"fraction": BOX, "evaluations": PARTICLES * ITERATIONS}
        estimator = ESTIMATORS.build(
            "wls-pso", optimizer=optimizer, options=dict(options), **budget
        )
        rng = named_stream(seed, ROOT, "torque", name, f"run {run}")
        estimates[name] = estimator.fit(identification.problem, rng)
    return {
        "methods": {
            name: {
                "criterion_over_optimum": estimate.criterion_over_optimum,
                "error": float(rms((estimate.beta - true) / std)),
                "residual": estimate.torque_rms.tolist(),
                "nfev": estimate.nfev,
                "seconds": estimate.seconds,
            }
            for name, estimate in estimates.items()
        }
    }


def visible_directions() -> tuple[int, int]:
    """Return how many combinations of the paper's 27 parameters joint torques show, and of 27.

    Masses are known, as in the paper: the rank of the derivative of the base parameters of three
    links with respect to centers of mass and central inertia.
    """
    published = published_parameters(ROBOT)
    basis = base_parameters(load_robot(ROBOT, tip=published.tip), ())
    width = parameters.N_INERTIAL
    columns = []
    for k in range(len(LINKS)):
        link = parameters.inertial_slice(k)
        mass, com, central = inertia.unpack(published.phi[link])
        start = np.concatenate([com, central[np.triu_indices(3)]])
        for step in np.eye(start.size):
            ends = (_packed(mass, start + sign * 0.5 * step) for sign in (1.0, -1.0))
            change = np.zeros(basis.B.shape[1])
            change[k * width : (k + 1) * width] = np.subtract(*ends)  # exact: quadratic in com
            columns.append(basis.B @ change)
    matrix = np.column_stack(columns)
    return int(np.linalg.matrix_rank(matrix)), matrix.shape[1]


def _packed(mass: float, values: Float1D) -> Float1D:
    """Return ten parameters from a mass, a center of mass and six entries of central inertia."""
    central = np.zeros((3, 3))
    central[np.triu_indices(3)] = values[3:]
    return inertia.pack(mass, values[:3], central + np.triu(central, 1).T)


def cad_step() -> dict[str, Any]:
    """Return mass properties of the links from their meshes, in the paper's link frames (sec. 2.6).

    Returns
    -------
    result : dict
        By link: ``volume`` [l], ``mass`` [kg], ``com`` [m], ``inertia`` about the center of mass
        (Ixx, Ixy, Ixz, Iyy, Iyz, Izz [kg m^2]); ``density`` [kg/m^3].
    """
    solids = inertia_from_geometry(load_robot(ROBOT), TOTAL_MASS)
    frames = published_parameters(ROBOT).frames
    rows = {}
    by_name = {link.name: link for link in solids.links}
    for name, frame in zip(LINKS, frames, strict=True):
        link = by_name[name]
        mass, com, central = inertia.unpack(inertia.transformed(link.phi, np.linalg.inv(frame)))
        rows[name] = {
            "volume": 1e3 * link.volume,
            "mass": mass,
            "com": com.tolist(),
            "inertia": central[np.triu_indices(3)].tolist(),
        }
    volume = sum(link.volume for link in solids.links)
    return {"links": rows, "density": TOTAL_MASS / volume}
