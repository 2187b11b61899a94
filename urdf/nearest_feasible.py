"""Compute bodies that can exist near published parameters that no rigid bodies can have.

Run as ``python urdf/nearest_feasible.py irb140``, ``rs010n`` or ``rocr6``; needs the extra ``cad``.
It prints the set of the ``published.toml`` that the engine runs, and how far it is from the print.

Of the parameters only the 15 base parameters beta = B phi matter to the torques of the first three
joints. In the papers' own grouping, if they have one, and SI units, with the masses kept,

1. d* = min |B phi - beta| over bodies of which at least a share `FLOOR` is distributed as in the
   CAD body (the pseudo-inertia J_k - FLOOR J_k,CAD is positive semidefinite), then
2. among all with |B phi - beta| <= (1 + SLACK) d* those nearest to the CAD bodies.
"""

import sys

sys.dont_write_bytecode = True  # a cache beside the robots would be taken for one of their files

import clarabel  # noqa: E402
import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from robotid_sim.dynamics.base_parameters import base_parameters  # noqa: E402
from robotid_sim.model import inertia, parameters  # noqa: E402
from robotid_sim.model.cad import link_solid  # noqa: E402
from robotid_sim.model.catalog import load_published_parameters, load_robot  # noqa: E402

LEADS = {
    "rs010n": "Iyy1 Ixx2 Ixy2 Ixz2 Iyz2 Izz2 mx2 my2 Ixx3 Ixy3 Ixz3 Iyy3 Iyz3 mx3 mz3",
    "rocr6": "Izz1 Ixx2 Ixy2 Ixz2 Iyz2 Izz2 mx2 my2 Ixx3 Ixy3 Ixz3 Iyz3 Izz3 mx3 my3",
}
"""The parameters that lead the papers' groupings, in the papers' frames."""
SETS = {"irb140": "table-2", "rs010n": "table-5", "rocr6": "table-2-flipped"}
MASSES = {  # [kg]
    "irb140": (35.0, 25.0, 18.0),
    "rs010n": (18.33, 25.18, 20.47),
    "rocr6": (5.0, 9.0, 10.0),
}
FLOOR = {"irb140": 0.1, "rs010n": 0.02, "rocr6": 0.2}
SLACK = {"irb140": 0.0, "rs010n": 0.01, "rocr6": 0.2}
STIFFNESS = 30.0
"""Weight of a squared center of mass over a squared moment of inertia, both relative."""
REACHED = 1e-6
"""A distance that is zero but for the tolerance of the solver; it is taken off."""

TRIANGLE = [(i, j) for j in range(4) for i in range(j + 1)]


def svec(matrix: np.ndarray) -> np.ndarray:
    """Return the upper triangle of a symmetric matrix, off-diagonals times sqrt 2."""
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in TRIANGLE])


def frame_map(T: np.ndarray) -> np.ndarray:
    """Return the map of ten parameters from frame b to frame a, shape (10, 10)."""
    return np.column_stack([inertia.transform(unit, T) for unit in np.eye(10)])


def solve(weights: np.ndarray, A: np.ndarray, b: np.ndarray, cones: list) -> np.ndarray:
    """Return the x of least sum(weights x^2) with b - A x in the cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P, rows = sparse.diags(weights, format="csc"), sparse.csc_matrix(A)
    solver = clarabel.DefaultSolver(P, np.zeros(len(weights)), rows, b, cones, settings)
    return np.array(solver.solve().x)


def nearest(
    B: np.ndarray, beta: np.ndarray, prior: np.ndarray, floor: float, slack: float
) -> np.ndarray:
    """Return the bodies of steps 1 and 2, shape (n, 10); their masses are those of `prior`."""
    size = []
    for phi in prior:
        radius = np.sqrt(0.5 * np.trace(inertia.inertia_matrix(phi)) / phi[0])
        size += [phi[0]] + [phi[0] * radius] * 3 + [phi[0] * radius**2] * 6
    free = np.array([k for k in range(prior.size) if k % 10])
    cone_rows, cone_side = [], []
    for k, phi in enumerate(prior):
        scale = np.diag([1.0 / np.sqrt(size[10 * k + 4])] * 3 + [1.0 / np.sqrt(phi[0])])
        rows = np.zeros((10, free.size))
        for column, full in enumerate(free):
            if full // 10 == k:
                unit = size[full] * np.eye(10)[full % 10]
                rows[:, column] = -svec(scale @ inertia.pseudo_inertia(unit) @ scale)
        cone_rows.append(rows)
        cone_side.append(svec(scale @ inertia.pseudo_inertia(phi) @ scale) * (1.0 - floor))
    A, b = np.vstack(cone_rows), np.concatenate(cone_side)
    cones = [clarabel.PSDTriangleConeT(4)] * len(prior)
    map_, offset, m = B[:, free] * np.array(size)[free], beta - B @ prior.ravel(), len(beta)
    first = np.block([[map_, -np.eye(m)], [A, np.zeros((len(b), m))]])
    x = solve(
        np.concatenate([np.full(free.size, 1e-9), np.ones(m)]),
        first,
        np.concatenate([offset, b]),
        [clarabel.ZeroConeT(m), *cones],
    )
    least = np.linalg.norm(map_ @ x[: free.size] - offset)
    second = np.vstack([np.zeros((1, free.size)), -map_, A])
    side = np.concatenate([[(1.0 + slack) * least], -offset, b])
    weights = np.where(free % 10 < 4, STIFFNESS, 1.0)
    x = solve(weights, second, side, [clarabel.SecondOrderConeT(m + 1), *cones])
    if least < REACHED:
        x += np.linalg.pinv(map_) @ (offset - map_ @ x)
    phi = prior.ravel().copy()
    phi[free] += np.array(size)[free] * x
    return phi.reshape(prior.shape)


def main(name: str) -> None:
    """Print the bodies of a robot's first three links, in the paper's frames."""
    published = load_published_parameters(name, SETS[name])
    chain, whole = load_robot(name, tip=published.tip), load_robot(name)
    n = chain.dof
    maps = [np.linalg.inv(frame_map(T)) for T in published.frames]  # into the paper's frames
    to_urdf = np.zeros((10 * n, 10 * n))
    for k, one in enumerate(maps):
        to_urdf[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.linalg.inv(one)
    basis = base_parameters(chain)
    B, names = basis.B[: basis.inertial_rank, : 10 * n] @ to_urdf, basis.names
    if name in LEADS:
        names = tuple(LEADS[name].split())
        symbols = [f"{symbol}{k + 1}" for k in range(n) for symbol in parameters.INERTIAL_SYMBOLS]
        B = np.linalg.solve(B[:, [symbols.index(lead) for lead in names]], B)
    beta = B @ np.linalg.solve(to_urdf, published.phi[: 10 * n])
    bodies = zip(whole.links[:n], MASSES[name], maps, strict=True)
    prior = [one @ link_solid(b.shapes, b.name)[0].parameters(mass=m) for b, m, one in bodies]
    wrist = np.zeros((n, 10))
    if name == "rocr6":  # measured with the wrist on: it belongs to the third body
        wrist[-1] = maps[-1] @ (chain.links[-1].phi - whole.links[n - 1].phi)
    phi = nearest(B, beta - B @ wrist.ravel(), np.array(prior), FLOOR[name], SLACK[name])
    error = B @ (phi + wrist).ravel() - beta
    worst = int(np.abs(error).argmax())
    sys.stdout.write(
        f"# distance {np.linalg.norm(error):.4f}, largest {error[worst]:.4f}, of {names[worst]}\n"
    )
    for link, one in zip(whole.links, phi, strict=False):
        mass, com, central = inertia.unpack(one)
        entries = zip(parameters.INERTIAL_SYMBOLS[4:], (0, 1, 4, 2, 5, 8), strict=True)
        tensor = ", ".join(f"{key} = {central.flat[k]:.10g}" for key, k in entries)
        sys.stdout.write(
            f"\n[sets.{SETS[name]}-consistent.{link.name}]\nmass = {mass:.9g}\n"
            f"com = [{', '.join(f'{x:.10g}' for x in com)}]\ninertia = {{ {tensor} }}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
