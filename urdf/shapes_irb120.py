"""Solids of the ABB IRB 120, in its link frames: a compact arm, every link in the middle plane."""

from solids import Shapes, block, cap, drum, hull, plate, turned, union

ROUND = 26.0


def shapes() -> Shapes:
    """Return parts by link and color, and convex pieces by link."""
    return {
        "base_link": _base(),
        "link_1": _fork(),
        "link_2": _lower_arm(),
        "link_3": _housing(),
        "link_4": _forearm(),
        "link_5": _wrist(),
        "link_6": _flange(),
    }


def _base():
    corners = [(x, y) for x in (-0.07, 0.07) for y in (-0.07, 0.07)]
    foot = plate((0, 0, 0), (0, 0, 0.018), corners, 0.02, 0.003)
    column = hull(
        plate((0, 0, 0.016), (0, 0, 0.05), [(0.85 * x, 0.85 * y) for x, y in corners], 0.02, 0.004),
        drum((0, 0, 0.13), (0, 0, 0.159), 0.079, bevel=0.004),
    )
    socket = hull(
        block((-0.105, 0, 0.06), (0.07, 0.116, 0.088), 0.008),
        block((-0.04, 0, 0.085), (0.06, 0.1, 0.1), 0.008),
    )
    lid = block((-0.1415, 0, 0.06), (0.009, 0.096, 0.066), 0.003)
    ring = drum((0, 0, 0.1585), (0, 0, 0.1665), 0.0745, bevel=0)
    return {"orange": union(foot, column, socket), "dark": union(ring, lid)}, [foot, column, socket]


def _fork():
    swivel = turned([(0.075, 0), (0.079, 0.004), (0.079, 0.03), (0.07, 0.048)], (0, 0, 0.166))
    cheeks = [
        hull(
            drum((0, 0.063 * s, 0.29), (0, 0.094 * s, 0.29), 0.062, bevel=0.007),
            block((0, 0.0785 * s, 0.196), (0.114, 0.031, 0.024), 0.006),
        )
        for s in (-1, 1)
    ]
    saddle = hull(
        block((0, 0, 0.19), (0.118, 0.18, 0.02), 0.004),
        block((0, 0, 0.2), (0.1, 0.15, 0.034), 0.004),
    )
    caps = [cap((0, 0.093 * s, 0.29), (0, 0.101 * s, 0.29), 0.042) for s in (-1, 1)]
    parts = {"orange": union(swivel, saddle, *cheeks), "dark": union(*caps)}
    return parts, [hull(swivel, saddle), *(hull(*pair) for pair in zip(cheeks, caps, strict=True))]


def _lower_arm():
    shoulder = drum((0, -0.0615, 0), (0, 0.0615, 0), 0.066, bevel=0.006)
    beam = hull(
        drum((0, -0.052, 0.02), (0, 0.052, 0.02), 0.06, bevel=0.01),
        drum((0, -0.044, 0.25), (0, 0.044, 0.25), 0.05, bevel=0.01),
    )
    groove = hull(
        drum((-0.075, 0, 0.105), (-0.044, 0, 0.105), 0.03, 0.024, bevel=0),
        drum((-0.075, 0, 0.185), (-0.044, 0, 0.185), 0.026, 0.02, bevel=0),
    )
    elbow = drum((0, -0.0475, 0.27), (0, 0.0475, 0.27), 0.056, bevel=0.006)
    mirrored = groove.mirror((1, 0, 0))
    return {"orange": union(shoulder, beam, elbow) - groove - mirrored}, [
        hull(shoulder, beam, elbow)
    ]


def _housing():
    cheeks = [
        hull(
            drum((0, 0.0495 * s, 0), (0, 0.073 * s, 0), 0.053, bevel=0.006),
            drum((-0.005, 0.0495 * s, 0.07), (-0.005, 0.073 * s, 0.07), 0.047, bevel=0.006),
        )
        for s in (-1, 1)
    ]
    body = hull(
        block((-0.02, 0, 0.088), (0.1, 0.14, 0.058), 0.012),
        drum((0.03, 0, 0.07), (0.083, 0, 0.07), 0.054, bevel=0.004),
    )
    nose = turned(
        [(0.054, 0), (0.05, 0.02), (0.05, 0.042), (0.047, 0.045)], (0.08, 0, 0.07), (1, 0, 0)
    )
    rear = cap((-0.069, 0, 0.088), (-0.079, 0, 0.088), 0.024)
    ring = drum((0.1245, 0, 0.07), (0.135, 0, 0.07), 0.0455, bevel=0)
    caps = [cap((0, 0.072 * s, 0), (0, 0.079 * s, 0), 0.036) for s in (-1, 1)]
    # The lower arm's head turns between the cheeks, so the body above stays clear of it.
    room = drum((0, -0.0498, 0), (0, 0.0498, 0), 0.059, bevel=0)
    parts = {"orange": union(*cheeks, body, nose) - room, "dark": union(rear, ring, *caps)}
    pairs = zip(cheeks, caps, strict=True)
    return parts, [*(hull(*pair) for pair in pairs), hull(body, nose, ring)]


def _forearm():
    tube = drum((0, 0, 0), (0.082, 0, 0), 0.0455, 0.042, bevel=0.003)
    yoke = hull(
        drum((0.07, 0, 0), (0.08, 0, 0), 0.04, bevel=0.002),
        block((0.112, 0, 0), (0.012, 0.088, 0.066), 0.005),
    )
    ears = [
        hull(
            drum((0.167, 0.028 * s, 0), (0.167, 0.0455 * s, 0), 0.031, bevel=0.004),
            block((0.11, 0.03675 * s, 0), (0.012, 0.0175, 0.066), 0.004),
        )
        for s in (-1, 1)
    ]
    caps = [cap((0.167, 0.045 * s, 0), (0.167, 0.0515 * s, 0), 0.02, bevel=0.002) for s in (-1, 1)]
    return {"orange": union(tube, yoke, *ears), "dark": union(*caps)}, [tube, hull(yoke, *ears)]


def _wrist():
    hub = drum((0, -0.027, 0), (0, 0.027, 0), 0.0285, bevel=0.003)
    nose = drum((0, 0, 0), (0.051, 0, 0), 0.027, bevel=0.003)
    return {"orange": union(hub, nose)}, [hull(hub, nose)]


def _flange():
    neck = drum((0.0515, 0, 0), (0.064, 0, 0), 0.0175, bevel=0)
    disc = drum((0.0635, 0, 0), (0.072, 0, 0), 0.02, bevel=0.0015)
    bore = drum((0.067, 0, 0), (0.077, 0, 0), 0.01, bevel=0)
    return {"steel": union(neck, disc) - bore}, [hull(neck, disc)]
