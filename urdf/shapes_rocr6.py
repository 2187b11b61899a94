"""Solids of the ROCR6 collaborative robot, in its link frames: joint housings and tubes."""

from solids import Shapes, cap, drum, hull, turned, union

ROUND = 29.0


def shapes() -> Shapes:
    """Return parts by link and color, and convex pieces by link."""
    return {
        "base_link": _base(),
        "link_1": _shoulder(),
        "link_2": _upper_arm(),
        "link_3": _forearm(),
        "link_4": _wrist_1(),
        "link_5": _wrist_2(),
        "link_6": _flange(),
    }


def _base():
    foot = turned([(0.09, 0), (0.09, 0.012), (0.072, 0.022), (0.07, 0.06)], (0, 0, 0))
    ring = drum((0, 0, 0.0595), (0, 0, 0.0655), 0.066, bevel=0)
    socket = hull(
        drum((0.03, 0, 0.035), (0.095, 0, 0.035), 0.02, bevel=0.003),
        drum((0.03, 0, 0.022), (0.07, 0, 0.022), 0.02, bevel=0.003),
    )
    return {"light": union(foot, socket), "dark": ring}, [foot]


def _shoulder():
    upright = turned([(0.069, 0), (0.069, 0.085), (0.062, 0.113), (0.03, 0.121)], (0, 0, 0.066))
    arm = drum((0, 0, 0.126), (0, -0.092, 0.126), 0.062, bevel=0.003)
    ring = drum((0, -0.092, 0.126), (0, -0.099, 0.126), 0.058, bevel=0)
    lid = cap((0, 0.045, 0.126), (0, 0.073, 0.126), 0.048, bevel=0.006)
    return {"light": union(upright, arm), "dark": ring, "teal": lid}, [upright, arm, lid]


def _upper_arm():
    # The tube runs beside the shoulder, between the planes of the shoulder and of the forearm.
    low = drum((0, 0.117, 0), (0, 0.0, 0), 0.062, bevel=0.005)
    lid = cap((0, 0, 0), (0, -0.014, 0), 0.05, bevel=0.005)
    tube = drum((0, 0.052, 0.045), (0, 0.052, 0.215), 0.05, 0.043, bevel=0)
    high = drum((0, 0.1, 0.257), (0, 0.006, 0.257), 0.052, bevel=0.005)
    far = cap((0, 0.1, 0.257), (0, 0.113, 0.257), 0.041, bevel=0.005)
    ring = drum((0, 0.006, 0.257), (0, 0, 0.257), 0.047, bevel=0)
    return {"light": union(low, tube, high), "teal": union(lid, far), "dark": ring}, [
        hull(low, lid),
        tube,
        hull(high, far),
    ]


def _forearm():
    low = drum((0, 0, 0), (0, -0.096, 0), 0.051, bevel=0.005)
    lid = cap((0, -0.096, 0), (0, -0.108, 0), 0.04, bevel=0.005)
    tube = drum((0, -0.047, 0.035), (0, -0.047, 0.18), 0.041, 0.036, bevel=0)
    high = drum((0, -0.008, 0.215), (0, -0.058, 0.215), 0.043, bevel=0.004)
    far = cap((0, -0.008, 0.215), (0, 0.004, 0.215), 0.034, bevel=0.004)
    ring = drum((0, -0.058, 0.215), (0, -0.064, 0.215), 0.039, bevel=0)
    return {"light": union(low, tube, high), "teal": union(lid, far), "dark": ring}, [
        hull(low, lid),
        tube,
        hull(high, far),
    ]


def _wrist_1():
    low = drum((0, 0.039, 0), (0, -0.043, 0), 0.042, bevel=0.005)
    lid = cap((0, -0.043, 0), (0, -0.054, 0), 0.034, bevel=0.004)
    tube = drum((0, 0, 0), (0, 0, 0.079), 0.041, bevel=0.003)
    ring = drum((0, 0, 0.079), (0, 0, 0.085), 0.038, bevel=0)
    return {"light": union(low, tube), "teal": lid, "dark": ring}, [hull(low, lid), tube]


def _wrist_2():
    tube = drum((0, 0, -0.042), (0, 0, 0.041), 0.041, bevel=0.005)
    lid = cap((0, 0, 0.041), (0, 0, 0.052), 0.034, bevel=0.004)
    nose = drum((0, 0.03, 0), (0, -0.062, 0), 0.04, bevel=0.003)
    ring = drum((0, -0.062, 0), (0, -0.068, 0), 0.036, bevel=0)
    return {"light": union(tube, nose), "teal": lid, "dark": ring}, [hull(tube, lid), nose]


def _flange():
    neck = drum((0, -0.068, 0), (0, -0.088, 0), 0.039, bevel=0.003)
    disc = drum((0, -0.087, 0), (0, -0.104, 0), 0.0315, bevel=0.0015)
    bore = drum((0, -0.098, 0), (0, -0.11, 0), 0.0155, bevel=0)
    return {"steel": union(neck, disc) - bore}, [hull(neck, disc)]
