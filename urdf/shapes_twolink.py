"""Solids of the planar two-link arm, in its link frames: two bars on a stand, with a load."""

import numpy as np
from solids import Shapes, block, cap, drum, hull, plate, turned, union

ROUND = 30.0


def shapes() -> Shapes:
    """Return parts by link and color, and convex pieces by link."""
    return {"base_link": _stand(), "link_1": _first_bar(), "link_2": _second_bar()}


def _stand():
    corners = [(x, y) for x in (-0.36, 0.36) for y in (0.02, 0.62)]
    foot = plate((0, 0, 0), (0, 0, 0.04), corners, 0.06, 0.006)
    post = hull(
        block((0, 0.32, 0.06), (0.26, 0.22, 0.06), 0.02),
        block((0, 0.32, 2.14), (0.16, 0.14, 0.06), 0.02),
    )
    head = drum((0, 0.41, 2.2), (0, 0.19, 2.2), 0.125, bevel=0.012)
    shaft = drum((0, 0.19, 2.2), (0, 0.135, 2.2), 0.07, bevel=0)
    motor = turned(
        [(0.09, 0), (0.09, 0.03), (0.075, 0.04), (0.075, 0.14), (0.06, 0.155)],
        (0, 0.41, 2.2),
        (0, 1, 0),
    )
    parts = {"white": union(foot, post, head), "dark": union(shaft, motor)}
    return parts, [foot, post, hull(head, motor), shaft]


def _first_bar():
    # It lies beside the second bar, so that the arm folds freely.
    ends = [drum((x, 0.025, 0), (x, 0.135, 0), 0.085, bevel=0.008) for x in (0.0, 1.0)]
    beam = hull(
        drum((0.0, 0.05, 0), (0.0, 0.11, 0), 0.062, bevel=0.012),
        drum((1.0, 0.05, 0), (1.0, 0.11, 0), 0.05, bevel=0.012),
    )
    slots = [
        hull(
            drum((x - 0.085, 0, 0), (x - 0.085, 0.2, 0), 0.029, bevel=0),
            drum((x + 0.085, 0, 0), (x + 0.085, 0.2, 0), 0.029, bevel=0),
        )
        for x in (0.25, 0.5, 0.75)
    ]
    body = union(*ends, beam)
    for slot in slots:
        body = body - slot
    lid = cap((1, 0.135, 0), (1, 0.2, 0), 0.062, bevel=0.006)
    axle = drum((0, 0.02, 0), (0, 0.026, 0), 0.05, bevel=0)
    return {"blue": body, "dark": union(lid, axle)}, [hull(*ends, beam), lid]


def _second_bar():
    elbow = drum((0, -0.08, 0), (0, 0.02, 0), 0.08, bevel=0.008)
    beam = hull(
        drum((0.0, -0.06, 0), (0.0, 0, 0), 0.055, bevel=0.012),
        drum((0.95, -0.055, 0), (0.95, -0.005, 0), 0.042, bevel=0.012),
    )
    slots = [
        hull(
            drum((x - 0.075, -0.1, 0), (x - 0.075, 0.1, 0), 0.025, bevel=0),
            drum((x + 0.075, -0.1, 0), (x + 0.075, 0.1, 0), 0.025, bevel=0),
        )
        for x in (0.23, 0.46, 0.69)
    ]
    body = union(elbow, beam)
    for slot in slots:
        body = body - slot
    seal = drum((0, 0.0195, 0), (0, 0.0255, 0), 0.06, bevel=0)
    lid = cap((0, -0.08, 0), (0, -0.09, 0), 0.055)
    angle = np.linspace(0.0, np.pi, 13)
    ball = turned(
        [(0.105 * np.sin(a), -0.105 * np.cos(a)) for a in angle[1:-1]], (1.0, -0.03, 0), (0, 1, 0)
    )
    return {"blue": body, "dark": union(seal, lid), "orange": ball}, [hull(elbow, beam), ball]
