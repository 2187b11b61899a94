"""The paper's search: swarms that are shown the answer and asked to find it again.

The objective of eq. (20) compares a candidate's 27 parameters with those of the CAD model. No
torque is in it: it is a sphere centered at the known answer, and what it measures is how fast a
swarm shrinks to a point.
"""

import time
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.qpso import QUARTER, QubitSwarm
from robotid_sim.optim.settings import setting
from robotid_sim.papers.irb140.model import (
    IS_COM,
    IS_MOMENT,
    ITERATIONS,
    PARTICLES,
    ROOT,
    mape,
    parameter_vector,
)
from robotid_sim.streams import named_stream

Scaling = Literal["relative", "raw"]

ASYMMETRY = 1.2
"""The box reaches this much farther up than down, so that the answer is not its center."""
LAMBDA = 10.0
"""Penalty factor at the end of a run; it grows linearly from zero. The paper gives no law."""
CLOSE = 0.01
"""A search has converged when this share of its whole gain is left. The paper has no definition."""
PSO_CLAMP = 0.2
"""Largest step of a particle, as a share of its box. The paper has no clamp."""
QUBIT_CLAMP = QubitSwarm.velocity_limit / QUARTER
"""Largest step of a qubit, 0.1 rad, as a share of its angle's range. The paper has none."""
_CLAMPED = {"velocity_limit": PSO_CLAMP, "bounds": "clip"}
_QUBIT = setting("fazilat-2025-qpso")
_PSO = setting("fazilat-2025-pso")


_PLAIN = {"population": PARTICLES}
SwarmReading = tuple[str, Mapping[str, Any]]
"""An optimizer with its options."""

METHODS: Mapping[str, SwarmReading] = {
    "pso": (_PSO.method, {**_PSO.options, **_CLAMPED}),
    "pso-literal": (_PSO.method, {**_PSO.options, "velocity_limit": np.inf, "bounds": "none"}),
    "pso-decreasing": (
        "ldw-pso",
        {**_PLAIN, "c1": 2.5, "c2": 1.5, "w_start": 0.99, "w_end": 0.4, **_CLAMPED},
    ),
    "pso-constricted": ("pso", _PLAIN),
    "qubit": (_QUBIT.method, _QUBIT.options),
    "qubit-decreasing": (_QUBIT.method, {**_QUBIT.options, "w_end": 0.4}),
    "qubit-bits": (_QUBIT.method, {**_QUBIT.options, "reading": "bits"}),
    "qubit-single": (_QUBIT.method, {**_QUBIT.options, "reading": "bits", "bits": 1}),
    "delta-well": ("qpso-delta", _PLAIN),
}
"""The readings of the paper's two algorithms, and what the literature has."""


class ParameterDistance:
    """Equation (20): squared distance to the reference, and a penalty outside the box.

    The box is `half_width` below each of the 27 parameters, as a share of it; the scaling
    ``relative`` searches p over its reference, ``raw`` the parameters themselves. After so many
    calls as there are iterations the penalty factor has its full size.

    Attributes
    ----------
    lower, upper : ndarray, shape (27,)
        The box.
    reach : float
        Largest distance of a candidate from the middle of the box so far, in widths of the box.
    """

    def __init__(
        self, reference: Float1D, half_width: float, scaling: Scaling, iterations: int
    ) -> None:
        self.target = np.ones_like(reference) if scaling == "relative" else reference
        ends = self.target * (1.0 - half_width), self.target * (1.0 + ASYMMETRY * half_width)
        self.lower, self.upper = np.minimum(*ends), np.maximum(*ends)
        self.reach = 0.0
        self._iterations, self._called = iterations, 0

    def __call__(self, X: Float2D) -> Float1D:
        """Return the costs of candidates, shape (m,)."""
        middle, width = 0.5 * (self.upper + self.lower), self.upper - self.lower
        self.reach = max(self.reach, float((np.abs(X - middle) / width).max()))
        factor = LAMBDA * self._called / self._iterations
        self._called += 1
        outside = np.maximum(self.lower - X, 0.0) + np.maximum(X - self.upper, 0.0)
        return np.asarray(((X - self.target) ** 2).sum(axis=1) + factor * (outside**2).sum(axis=1))


def clamped(method: str, share: float | None) -> SwarmReading:
    """Limit the steps of one of `METHODS` to a share of the range that its particles fly in.

    The range is the box, or for qubits the quarter turn of their angle. Without a share the limit
    is the method's own.
    """
    optimizer, options = METHODS[method]
    if share is None:
        return optimizer, options
    unit = QUARTER if optimizer == _QUBIT.method else 1.0
    return optimizer, {**options, "velocity_limit": share * unit}


def search(
    method: str,
    scaling: Scaling,
    half_width: float,
    runs: int,
    seed: int,
    clamp: float | None = None,
) -> dict[str, Any]:
    """Run one of `METHODS` on one box; the trial of Table 3 and of figures 6 to 9.

    For scaling and half width see `ParameterDistance`, for another clamp than the method's
    `clamped`.

    Returns
    -------
    result : dict
        ``runs``, each a row of `search_once`.
    """
    chosen = clamped(method, clamp)
    names = [ROOT, method, scaling, f"{half_width:g}"]
    names += [] if clamp is None else [f"clamp {clamp:.4f}"]
    streams = (named_stream(seed, *names, f"run {run}") for run in range(runs))
    described = {"scaling": scaling, "box": f"± {100.0 * half_width:g} %", "clamp": clamp}
    found = (search_once(chosen, scaling, half_width, rng) for rng in streams)
    return {"runs": [described | row for row in found]}


def search_once(
    method: SwarmReading, scaling: Scaling, half_width: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Search the minimum of eq. (20) once.

    The row has errors in [%], with ``imbalance`` that of the products of inertia over that of the
    moments, iterations until the search has ``converged`` and until its ``last_gain``, processor
    times in [us], an iteration and until convergence, and the best cost after every iteration.
    """
    reference = parameter_vector("reference")
    cost = ParameterDistance(reference, half_width, scaling, ITERATIONS)
    optimizer, options = method
    built = OPTIMIZERS.build(optimizer, **options)
    began = time.process_time()  # other processes do not count
    best = minimize(
        cost, cost.lower, cost.upper, method=built, max_evals=PARTICLES * ITERATIONS, rng=rng
    )
    each = 1e6 * (time.process_time() - began) / ITERATIONS
    curve = best.history[:, 1]
    estimate = best.x * reference if scaling == "relative" else best.x
    com, inertia = mape(estimate, reference)
    products, moments = inertia_errors(estimate)
    converged = int(np.argmax(curve - curve[-1] <= CLOSE * (curve[0] - curve[-1]))) + 1
    return {
        "cost": best.fun,
        "mape_com": com,
        "mape_inertia": inertia,
        "products": products,
        "moments": moments,
        "imbalance": products / moments,
        "converged": converged,
        "last_gain": int(np.flatnonzero(np.diff(curve, prepend=np.inf))[-1]) + 1,
        "reach": cost.reach,
        "time": each,
        "time_to_converge": each * converged,
        "estimate": estimate.tolist(),
        "curve": curve.tolist(),
        "evaluations": best.nfev,
    }


def inertia_errors(estimate: Float1D) -> tuple[float, float]:
    """Compute the mean absolute error of products and of moments of inertia [%]."""
    share = 100.0 * np.abs(estimate / parameter_vector("reference") - 1.0)
    return float(share[~IS_COM & ~IS_MOMENT].mean()), float(share[IS_MOMENT].mean())
