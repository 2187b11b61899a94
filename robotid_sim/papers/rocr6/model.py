"""The ROCR6 of Tang et al. (2023): base parameters in its own symbols, and its excitation.

Trajectories are Fourier series of order 5 at 0.05 Hz, eq. (21)-(24).

References
----------
.. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative robot
   based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters, random_states
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import (
    PublishedParameters,
    load_robot,
    published_parameters,
    published_plant,
)
from robotid_sim.model.robot import Robot
from robotid_sim.papers.sheet import read_settings
from robotid_sim.pipeline.nominal import perturbed_nominal
from robotid_sim.streams import Streams, named_stream
from robotid_sim.trajectory.fourier import FourierTrajectory

ROBOT = "rocr6"
FRICTION = ("Fv", "Fc")
"""Friction of the paper; no rotors and offsets."""
PRINTED = read_settings(__file__)
TABLE_2: dict[str, float] = PRINTED["table_2"]
"""Base parameters of joints 1 to 3 by WLS-RWPSO [kg m^2, kg m, N m, N m s/rad]."""
TABLE_3: dict[str, list[float]] = PRINTED["table_3"]
"""RMS of the validation residuals of every joint [N m]."""
GAINS: dict[int, dict[str, float]] = {int(k): gains for k, gains in PRINTED["gains"].items()}
"""Gains in RMS of WLS-RWPSO by joint, section 5.1 and Table 3 [%]."""


@dataclass(frozen=True, eq=False)
class FirstThree:
    """Joints 1 to 3 with the published parameters, in the paper's link frames and symbols."""

    published: PublishedParameters
    """Table 2, completed to full parameters."""

    @classmethod
    def from_catalog(cls) -> "FirstThree":
        """Return them from the catalog."""
        return cls(published_parameters(ROBOT))

    @cached_property
    def robot(self) -> Robot:
        """The arm up to link 3; formal, for no body can have the parameters of link 3."""
        arm = load_robot(ROBOT, tip=self.published.tip)
        return arm.with_parameters(self.published.phi, formal=True)

    @cached_property
    def frames(self) -> Float2D:
        """Map from full parameters in the paper's frames to those in the URDF's, (p, p)."""
        n = self.robot.dof
        T = np.eye(parameters.size(n))
        for k, frame in enumerate(self.published.frames):
            body = parameters.inertial_slice(k)
            unit = np.eye(parameters.N_INERTIAL)
            T[body, body] = np.column_stack([inertia.transformed(e, frame) for e in unit])
        return T

    @cached_property
    def basis(self) -> BaseParameters:
        """The base parameters of Table 2, in its order; their map is that of Khalil's rules."""
        symbols = self.robot.parameter_names
        leads = np.array([symbols.index(name) for name in TABLE_2])
        considered = np.array(parameters.columns(self.robot.dof, FRICTION))
        W = self.full_regressor(*random_states(self.robot)).reshape(-1, len(symbols))
        K = np.linalg.lstsq(W[:, leads], W[:, considered], rcond=None)[0]
        B = np.zeros((leads.size, len(symbols)))
        B[:, considered] = np.where(np.abs(K) < 1e-9, 0.0, K)
        units = parameters.units(self.robot.prismatic)
        return BaseParameters(
            columns=leads,
            B=B,
            symbols=symbols,
            units=tuple(units[c] for c in leads),
            considered=considered,
            inertial_rank=int((leads < parameters.N_INERTIAL * self.robot.dof).sum()),
        )

    @cached_property
    def true(self) -> Float1D:
        """Base parameters of the robot, shape (21,): Table 2."""
        return self.basis.of(np.linalg.solve(self.frames, self.published.phi))

    def full_regressor(self, q: Float2D, dq: Float2D, ddq: Float2D) -> np.ndarray:
        """Return the regressor of the full parameters in the paper's frames, (N, 3, p)."""
        return np.asarray(torque_regressor(self.robot, q, dq, ddq) @ self.frames)

    def regressor(self, q: Float2D, dq: Float2D, ddq: Float2D) -> np.ndarray:
        """Return the regressor of the base parameters of Table 2, shape (N, 3, 21)."""
        return np.asarray(self.full_regressor(q, dq, ddq)[..., self.basis.columns])


OPTIONS = FourierOptions(harmonics=5, period=20.0, periods=1)
SAMPLES = 2000
"""Samples of the identification, of the 20,000 that are recorded."""
CANDIDATES = 60
"""Random series, of which the best one is improved."""


def sample_times() -> Float1D:
    """Return the times of the samples that are used [s], shape (2000,)."""
    return np.asarray(np.arange(SAMPLES) * (OPTIONS.period / SAMPLES))


def nominal_six(seed: int) -> Robot:
    """Return what is known of the six joints before the identification."""
    return perturbed_nominal(published_plant(ROBOT), Streams(seed)("nominal"))


def design(joints: int, iterations: int, seed: int) -> dict[str, Any]:
    """Design the excitation of three or six joints, and draw a trajectory for the verification.

    The condition number of the observation matrix is minimized within position, velocity,
    acceleration and torque limits, eq. (24), by sequential quadratic programming as in fmincon;
    without iterations it is the best random series. Three joints have the parameters of Table 2,
    six those of a nominal model.
    """
    robot = FirstThree.from_catalog().robot if joints == 3 else nominal_six(seed)
    stream, criterion = f"{joints} joints", CRITERIA.build("condition-number")
    search = GradientSearch(
        starts=1 if iterations else 0, candidates=CANDIDATES, iterations=max(iterations, 1)
    )
    plan = DesignPlan(family=OPTIONS, criterion=criterion, search=search)
    rng = named_stream(seed, ROBOT, "design", stream)
    best = optimal_design(robot, base_parameters(robot, FRICTION), rng, plan)
    unseen = random_feasible(robot, named_stream(seed, ROBOT, "unseen", stream), OPTIONS)
    return {
        "excitation": best.trajectory.content(),
        "verification": unseen.content(),
        "condition_of_best_draw": float(np.exp(best.value_before)),
        "condition": float(np.exp(best.value_after)),
    }


def trajectory_of(content: Mapping[str, Any]) -> FourierTrajectory:
    """Return the trajectory of its JSON form."""
    return FourierTrajectory.of_content({k: v for k, v in content.items() if k != "family"})
