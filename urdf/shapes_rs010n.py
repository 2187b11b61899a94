"""Solids of the Kawasaki RS010N, in its link frames: a slender white arm with gray drives."""

from solids import Shapes, block, cap, drum, hull, plate, turned, union

ROUND = 18.0


def shapes() -> Shapes:
    """Return parts by link and color, and convex pieces by link."""
    return {
        "base_link": _base(),
        "link_1": _body(),
        "link_2": _upper_arm(),
        "link_3": _housing(),
        "link_4": _forearm(),
        "link_5": _wrist(),
        "link_6": _flange(),
    }


def _base():
    corners = [(x, y) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    foot = plate((0, 0, 0), (0, 0, 0.03), corners, 0.06, 0.005)
    column = turned([(0.24, 0.025), (0.215, 0.06), (0.19, 0.11), (0.185, 0.19)], (0, 0, 0))
    socket = hull(
        block((-0.24, 0, 0.11), (0.11, 0.2, 0.14), 0.012),
        block((-0.12, 0, 0.11), (0.1, 0.24, 0.15), 0.012),
    )
    lid = block((-0.2985, 0, 0.11), (0.012, 0.16, 0.1), 0.004)
    return {"white": union(foot, column, socket), "gray": lid}, [foot, column, socket]


def _body():
    ring = drum((0, 0, 0.19), (0, 0, 0.206), 0.18, bevel=0)
    swivel = turned([(0.19, 0), (0.2, 0.012), (0.2, 0.05), (0.17, 0.085)], (0, 0, 0.206))
    cast = hull(
        drum((0.02, 0, 0.235), (0.02, 0, 0.285), 0.165, bevel=0.01),
        drum((0.35, -0.12, 0.43), (0.35, 0.05, 0.43), 0.125, bevel=0),
        block((0.1, -0.035, 0.36), (0.2, 0.2, 0.16), 0.03),
    )
    shoulder = drum((0.35, -0.15, 0.43), (0.35, 0.06, 0.43), 0.145, bevel=0.009)
    seal = drum((0.35, 0.06, 0.43), (0.35, 0.078, 0.43), 0.122, bevel=0)
    motor_2 = turned(
        [(0.1, 0), (0.1, 0.02), (0.08, 0.03), (0.08, 0.11), (0.066, 0.122)],
        (0.35, -0.15, 0.43),
        (0, -1, 0),
        segments=20,
    )
    motor_1 = turned(
        [(0.085, 0), (0.085, 0.05), (0.066, 0.062), (0.066, 0.14), (0.054, 0.15)],
        (-0.055, -0.02, 0.285),
        segments=16,
    )
    parts = {"white": union(swivel, cast, shoulder), "gray": union(ring, seal, motor_2, motor_1)}
    return parts, [swivel, hull(cast, shoulder), motor_2, motor_1]


def _upper_arm():
    low = drum((0, 0.078, 0), (0, 0.178, 0), 0.135, bevel=0.012)
    high = drum((0, 0.078, 1.035), (0, 0.168, 1.035), 0.108, bevel=0.01)
    beam = hull(
        drum((0, 0.09, 0.06), (0, 0.165, 0.06), 0.108, bevel=0.014),
        drum((0, 0.09, 0.98), (0, 0.155, 0.98), 0.078, bevel=0.014),
    )
    pocket = hull(
        block((0, 0.15, 0.53), (0.09, 0.004, 0.6), 0),
        block((0, 0.178, 0.53), (0.14, 0.004, 0.66), 0),
    )
    lids = union(
        cap((0, 0.177, 0), (0, 0.189, 0), 0.092), cap((0, 0.167, 1.035), (0, 0.179, 1.035), 0.07)
    )
    return {"white": union(low, high, beam - pocket), "gray": lids}, [
        hull(low, beam),
        hull(high, beam),
    ]


def _housing():
    elbow = drum((0, -0.11, 0), (0, 0.064, 0), 0.112, bevel=0.009)
    seal = drum((0, 0.064, 0), (0, 0.078, 0), 0.094, bevel=0)
    gearbox = hull(
        block((-0.1, -0.02, 0.02), (0.06, 0.17, 0.17), 0.02),
        block((-0.01, -0.02, 0.0), (0.1, 0.16, 0.19), 0.02),
    )
    neck = hull(
        drum((0, -0.085, 0), (0, 0.05, 0), 0.095, bevel=0),
        drum((0.14, -0.0, 0), (0.205, -0.0, 0), 0.082, bevel=0.006),
    )
    ring = cap((0.205, 0, 0), (0.2495, 0, 0), 0.072)
    motors = [
        cap((-0.13, y, z), (-0.235, y, z), 0.042, bevel=0.006, segments=16)
        for y, z in ((0.024, 0.055), (-0.066, 0.055), (-0.02, -0.025))
    ]
    motor_3 = turned(
        [(0.082, 0), (0.082, 0.016), (0.062, 0.024), (0.062, 0.095), (0.052, 0.104)],
        (0, -0.11, 0),
        (0, -1, 0),
        segments=16,
    )
    parts = {"white": union(elbow, gearbox, neck), "gray": union(seal, ring, motor_3, *motors)}
    return parts, [hull(elbow, seal), neck, hull(gearbox, *motors), motor_3]


def _forearm():
    tube = drum((0, 0, 0), (0.335, 0, 0), 0.068, 0.056, bevel=0)
    yoke = hull(
        drum((0.3, 0, 0), (0.32, 0, 0), 0.056, bevel=0),
        block((0.382, 0, 0), (0.02, 0.124, 0.092), 0.008),
    )
    ears = [
        hull(
            drum((0.45, 0.04 * s, 0), (0.45, 0.064 * s, 0), 0.045, bevel=0.006),
            block((0.38, 0.052 * s, 0), (0.02, 0.024, 0.092), 0.006),
        )
        for s in (-1, 1)
    ]
    lids = [cap((0.45, 0.063 * s, 0), (0.45, 0.072 * s, 0), 0.03) for s in (-1, 1)]
    return {"white": union(tube, yoke, *ears), "gray": union(*lids)}, [tube, hull(yoke, *ears)]


def _wrist():
    hub = drum((0, -0.039, 0), (0, 0.039, 0), 0.042, bevel=0.004)
    nose = drum((0, 0, 0), (0.06, 0, 0), 0.038, bevel=0.004)
    return {"white": union(hub, nose)}, [hull(hub, nose)]


def _flange():
    neck = drum((0.061, 0, 0), (0.075, 0, 0), 0.03, bevel=0)
    disc = drum((0.0745, 0, 0), (0.085, 0, 0), 0.0395, bevel=0.002)
    bore = drum((0.079, 0, 0), (0.09, 0, 0), 0.016, bevel=0)
    return {"steel": union(neck, disc) - bore}, [hull(neck, disc)]
