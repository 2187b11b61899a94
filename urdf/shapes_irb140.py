"""Solids of the ABB IRB 140, in its link frames: a cast arm with the lower arm beside the body."""

from solids import Shapes, block, cap, drum, hull, plate, turned, union

ROUND = 19.6


def shapes() -> Shapes:
    """Return parts by link and color, and convex pieces by link."""
    return {
        "base_link": _base(),
        "link_1": _body(),
        "link_2": _lower_arm(),
        "link_3": _housing(),
        "link_4": _forearm(),
        "link_5": _wrist(),
        "link_6": _flange(),
    }


def _base():
    corners = [(x, y) for x in (-0.16, 0.14) for y in (-0.13, 0.13)]
    foot = plate((0, 0, 0), (0, 0, 0.026), corners, 0.03, 0.004)
    column = turned([(0.158, 0.02), (0.15, 0.05), (0.134, 0.085), (0.132, 0.161)], (0, 0, 0))
    socket = hull(
        block((-0.15, 0, 0.085), (0.1, 0.14, 0.12), 0.01), block((-0.08, 0, 0.09), (0.1, 0.2, 0.13))
    )
    ring = drum((0, 0, 0.1615), (0, 0, 0.1745), 0.138, bevel=0)
    lid = block((-0.203, 0, 0.085), (0.01, 0.11, 0.085), 0.003)
    return {"orange": union(foot, column, socket), "dark": union(ring, lid)}, [foot, column, socket]


def _body():
    swivel = drum((0, 0, 0.175), (0, 0, 0.225), 0.132, bevel=0.006)
    shoulder = drum((0.07, -0.128, 0.352), (0.07, 0.047, 0.352), 0.112, bevel=0.007)
    cast = hull(
        drum((0.005, -0.012, 0.2), (0.005, -0.012, 0.225), 0.112, bevel=0),
        drum((0.06, -0.1, 0.345), (0.06, 0.03, 0.345), 0.096, bevel=0),
    )
    back = hull(
        block((-0.055, -0.03, 0.34), (0.13, 0.16, 0.14), 0.015),
        block((0.0, -0.03, 0.27), (0.1, 0.16, 0.14), 0.015),
    )
    motor_2 = turned(
        [(0.07, 0), (0.07, 0.016), (0.058, 0.022), (0.058, 0.07), (0.05, 0.078)],
        (0.07, -0.128, 0.352),
        (0, -1, 0),
    )
    motor_1 = turned(
        [(0.05, 0), (0.05, 0.012), (0.043, 0.018), (0.043, 0.085), (0.036, 0.092)],
        (-0.058, -0.02, 0.409),
        segments=16,
    )
    seal = drum((0.07, 0.046, 0.352), (0.07, 0.0605, 0.352), 0.098, bevel=0)
    parts = {"orange": union(swivel, shoulder, cast, back), "dark": union(motor_2, motor_1, seal)}
    return parts, [swivel, hull(shoulder, cast), back, motor_2, motor_1]


def _lower_arm():
    beam = hull(
        drum((0, 0.072, 0), (0, 0.128, 0), 0.094, bevel=0.008),
        drum((0, 0.072, 0.36), (0, 0.128, 0.36), 0.074, bevel=0.008),
    )
    pocket = hull(
        drum((0, 0.119, 0.115), (0, 0.14, 0.115), 0.054, 0.064, bevel=0),
        drum((0, 0.119, 0.262), (0, 0.14, 0.262), 0.044, 0.054, bevel=0),
    )
    low = drum((0, 0.0605, 0), (0, 0.136, 0), 0.104, bevel=0.008)
    high = drum((0, 0.063, 0.36), (0, 0.136, 0.36), 0.084, bevel=0.007)
    caps = union(
        cap((0, 0.135, 0), (0, 0.145, 0), 0.068), cap((0, 0.135, 0.36), (0, 0.145, 0.36), 0.054)
    )
    return {"orange": union(beam - pocket, low, high), "dark": caps}, [hull(beam, low, high)]


def _housing():
    elbow = drum((0, -0.07, 0), (0, 0.051, 0), 0.086, bevel=0.007)
    neck = hull(
        drum((0.0, -0.055, 0), (0.0, 0.045, 0), 0.072, bevel=0.004),
        drum((0.06, 0, 0), (0.145, 0, 0), 0.067, bevel=0.005),
    )
    gearbox = hull(
        block((-0.075, -0.005, 0.012), (0.05, 0.12, 0.122), 0.012),
        block((-0.01, -0.005, 0.0), (0.08, 0.11, 0.13), 0.012),
    )
    seal = drum((0, 0.05, 0), (0, 0.063, 0), 0.076, bevel=0)
    ring = cap((0.144, 0, 0), (0.1795, 0, 0), 0.058)
    lid = cap((0, -0.068, 0), (0, -0.08, 0), 0.056)
    motors = [
        cap((-0.1, y, z), (-0.172, y, z), 0.03, bevel=0.004, segments=16)
        for y, z in ((0.026, 0.038), (-0.038, 0.038), (-0.005, -0.02))
    ]
    parts = {"orange": union(elbow, neck, gearbox), "dark": union(seal, ring, lid, *motors)}
    return parts, [hull(elbow, seal), neck, hull(gearbox, *motors)]


def _forearm():
    tube = drum((0, 0, 0), (0.145, 0, 0), 0.05, 0.045, bevel=0.004)
    yoke = hull(
        drum((0.1, 0, 0), (0.118, 0, 0), 0.05, bevel=0.003),
        block((0.146, 0, 0), (0.014, 0.1, 0.072), 0.006),
    )
    ears = [
        hull(
            drum((0.2, y - 0.0095, 0), (0.2, y + 0.0095, 0), 0.034, bevel=0.004),
            block((0.147, y, 0), (0.014, 0.019, 0.07), 0.004),
        )
        for y in (-0.0405, 0.0405)
    ]
    caps = [cap((0.2, 0.049 * s, 0), (0.2, 0.056 * s, 0), 0.022, bevel=0.002) for s in (-1, 1)]
    belt = drum((0.03, 0, 0), (0.044, 0, 0), 0.0515, bevel=0)
    return {"orange": union(tube, yoke, *ears), "dark": union(*caps, belt)}, [
        tube,
        hull(yoke, *ears),
    ]


def _wrist():
    hub = drum((0, -0.0305, 0), (0, 0.0305, 0), 0.031, bevel=0.003)
    nose = drum((0.0, 0, 0), (0.0445, 0, 0), 0.0285, bevel=0.003)
    return {"orange": union(hub, nose)}, [hull(hub, nose)]


def _flange():
    neck = drum((0.045, 0, 0), (0.057, 0, 0), 0.022, bevel=0.0)
    disc = drum((0.0565, 0, 0), (0.065, 0, 0), 0.039, bevel=0.0015)
    bore = drum((0.06, 0, 0), (0.07, 0, 0), 0.0125, bevel=0.0)
    return {"steel": union(neck, disc) - bore}, [hull(neck, disc)]
