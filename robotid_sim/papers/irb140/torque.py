"""What the paper leaves out: the same swarms on torques from the engine, with least squares beside.

And its CAD step: mass properties of the links from geometry at uniform density.
"""

from typing import Any

import numpy as np

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.model import inertia
from robotid_sim.model.cad import inertia_from_geometry
from robotid_sim.model.catalog import load_robot, published_parameters, published_plant
from robotid_sim.papers.irb140.model import (
    ITERATIONS,
    LINKS,
    NAMES,
    PARTICLES,
    ROBOT,
    ROOT,
    link_parameters,
    parameter_vector,
)
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
    """Count the combinations of the paper's 27 parameters that joint torques show, of 27.

    Masses are known, as in the paper: the rank of the derivative of the base parameters of three
    links with respect to centers of mass and central inertia.
    """
    basis = base_parameters(load_robot(ROBOT, tip=published_parameters(ROBOT).tip), ())
    steps = 0.5 * np.eye(len(NAMES))
    ends = (link_parameters(parameter_vector("reference") + side * steps) for side in (1.0, -1.0))
    change = np.subtract(*ends)  # exact: quadratic in the centers of mass
    shown = basis.B[:, : change.shape[1]] @ change.T
    return int(np.linalg.matrix_rank(shown)), len(NAMES)


def cad_step() -> dict[str, Any]:
    """Compute mass properties of the links from their meshes, in the paper's frames (sec. 2.6).

    Returns
    -------
    result : dict
        ``links``, shape (3, 10): mass [kg], center of mass [m], inertia about it (Ixx, Ixy, Ixz,
        Iyy, Iyz, Izz [kg m^2]); ``volumes`` [l], shape (3,); ``density`` [kg/m^3].
    """
    solids = {s.name: s for s in inertia_from_geometry(load_robot(ROBOT), TOTAL_MASS).links}
    rows = []
    for name, frame in zip(LINKS, published_parameters(ROBOT).frames, strict=True):
        phi = inertia.transformed(solids[name].phi, np.linalg.inv(frame))
        mass, com, central = inertia.unpack(phi)
        rows.append([mass, *com, *central[np.triu_indices(3)]])
    return {
        "links": np.array(rows),
        "volumes": 1e3 * np.array([solids[name].volume for name in LINKS]),
        "density": TOTAL_MASS / sum(solid.volume for solid in solids.values()),
    }
