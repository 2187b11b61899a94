"""A study tried out before it runs: what would stop it after minutes stops it at once."""

from contextlib import suppress

from robotid_sim.errors import ControllerError, SimulationDiverged
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.excitation import in_space
from robotid_sim.pipeline.setup import Setup
from robotid_sim.trajectory.reference import PointToPoint

SECONDS = 0.2
"""Time for which the loop runs in the home pose."""


def rehearse(setup: Setup) -> None:
    """Draw an excitation, run the cell for a moment in the home pose, and read its sensors.

    It draws from a stream of its own, so that the study does not depend on it.

    Raises
    ------
    InfeasibleError, RankDeficientError
        If no motion keeps the constraints, or none determines the parameters.
    RobotIdError
        If the engine refuses the plant, or a sensor is not made for it.
    """
    nominal, cell, plan = setup.nominal, setup.cell, setup.excitation
    rng = setup.streams("rehearsal")
    with in_space(nominal, plan) as (whole, _):
        feasible_draws(whole.problem(nominal, setup.basis), rng, 1)
    samples = max(20, round(SECONDS * cell.rate))
    rest = PointToPoint(nominal.joint_names, nominal.home, nominal.home, 0.0, samples * cell.dt)
    # A loop that diverges is a result: the study says so and keeps its log.
    with suppress(SimulationDiverged, ControllerError), cell.open() as plant:
        measure(rollout(plant, cell.controller, rest), cell.sensors, rng)
