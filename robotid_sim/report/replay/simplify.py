r"""Fewer triangles for a page: vertices clustered on a grid, at the place of the least quadric.

Every triangle is a plane :math:`n^T x = d`; a cell's vertex minimizes the area-weighted squares of
the distances from all planes that touch it [1]_

.. math:: \sum_f a_f (n_f^T x - d_f)^2 + \epsilon\, a\, |x - \bar x|^2 ,

so that edges and flat faces stay where they are. The second term draws it to the mean
:math:`\bar x` of the cell's vertices where planes leave a direction open.

References
----------
.. [1] Lindstrom (2000), "Out-of-core simplification of large polygonal models", SIGGRAPH,
   doi:10.1145/344779.344912, section 3.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.model.solid import Solid

PULL = 0.002
"""Weight of the mean beside that of the planes."""

ROUNDS = 12
"""Most cell sizes that are tried."""


def simplified(solids: Sequence[Solid], most: int) -> list[Solid]:
    """Return solids with at most about `most` triangles together; as they are if they have fewer.

    One cell size holds for all, so that details of one size are kept on all of them. A solid of
    which nothing would be left stays as it is.
    """
    if sum(len(solid.faces) for solid in solids) <= most:
        return list(solids)
    area = sum(float(np.linalg.norm(_normals(solid), axis=1).sum()) for solid in solids)
    cell = np.sqrt(0.5 * area / most)  # half of what it would be if all were flat
    for _ in range(ROUNDS):
        clusters = [_Clusters.of(solid, cell) for solid in solids]
        count = sum(len(cluster.faces) for cluster in clusters)
        if count <= most:
            break
        cell *= 1.03 * np.sqrt(count / most)  # triangles are as many as cells: an area
    return [
        cluster.solid(solid, cell) if len(cluster.faces) else solid
        for solid, cluster in zip(solids, clusters, strict=True)
    ]


def _normals(solid: Solid) -> Float2D:
    """Return the normals of the triangles, as long as twice their areas, shape (F, 3)."""
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


class _Clusters(NamedTuple):
    """The cells that vertices lie in, and the triangles between three of them."""

    of_vertex: Int1D
    cells: int
    faces: Int1D

    @classmethod
    def of(cls, solid: Solid, cell: float) -> Self:
        keys = np.floor((solid.vertices - solid.vertices.min(axis=0)) / cell).astype(np.int64)
        span = keys.max(axis=0) + 1
        flat = (keys[:, 0] * span[1] + keys[:, 1]) * span[2] + keys[:, 2]
        cells, of_vertex = np.unique(flat, return_inverse=True)
        n = cells.size
        corners = np.sort(of_vertex[solid.faces], axis=1)
        whole = np.flatnonzero((np.diff(corners, axis=1) > 0).all(axis=1))
        a, b, c = corners[whole].T
        _, first = np.unique((a * n + b) * n + c, return_index=True)
        return cls(of_vertex, n, of_vertex[solid.faces[whole[first]]])

    def solid(self, solid: Solid, cell: float) -> Solid:
        used, renamed = np.unique(self.faces, return_inverse=True)
        places = _places(solid, self.of_vertex, self.cells, cell)
        return Solid(places[used], renamed.reshape(-1, 3))


def _places(solid: Solid, of_vertex: Int1D, count: int, cell: float) -> Float2D:
    """Return where the vertices of the cells stand, shape (count, 3)."""

    def summed(values: Float2D, index: Int1D) -> Float2D:
        columns = [np.bincount(index, column, count) for column in values.T]
        return np.column_stack(columns)

    number = np.bincount(of_vertex, minlength=count).astype(float)
    mean: Float2D = summed(solid.vertices, of_vertex) / number[:, None]
    normal = _normals(solid)
    area: Float1D = np.linalg.norm(normal, axis=1)
    normal /= np.maximum(area, np.finfo(float).tiny)[:, None]
    index = of_vertex[solid.faces].ravel()
    planes, weights = np.repeat(normal, 3, axis=0), np.repeat(area, 3)
    beside = np.einsum(
        "fi,fi->f", planes, np.repeat(solid.vertices[solid.faces[:, 0]], 3, axis=0) - mean[index]
    )
    squares = (weights[:, None, None] * planes[:, :, None] * planes[:, None, :]).reshape(-1, 9)
    A = summed(squares, index).reshape(-1, 3, 3)
    pull = PULL * np.maximum(np.trace(A, axis1=1, axis2=2), np.finfo(float).tiny)
    A += pull[:, None, None] * np.eye(3)
    rhs = summed((weights * beside)[:, None] * planes, index)
    shift = np.linalg.solve(A, rhs[:, :, None])[:, :, 0]  # [1], with a Tikhonov term
    return np.asarray(mean + np.clip(shift, -cell, cell))
