"""What the options of a view can be, by name."""

DIRECTIONS = {
    "front": (90.0, -8.0),
    "side": (0.0, -8.0),
    "top": (90.0, -89.0),
    "iso": (52.0, -22.0),
}
"""Yaw and pitch [deg] as PyBullet counts them: yaw 0 looks along +y, 90 along -x, at the front."""

LAYERS = {
    "panel": "joints with their position, velocity and torque, over the limits",
    "curves": "the same of one joint over time",
    "path": "way of the tool",
    "contacts": "links that touch one another or the floor, in red",
    "frames": "coordinate frames of the joints",
    "inertia": "ellipsoids of uniform density with the inertia of the links",
    "torque": "links in the color of their torque over its limit",
}
"""What can be shown beside the robot, and what that is."""

DEFAULT_LAYERS = frozenset({"panel", "path", "contacts"})

WINDOW_LAYERS = ("path", "contacts", "frames", "inertia", "torque")
"""Layers of PyBullet's window; numbers and curves are for pictures and the page."""

RENDERERS = ("auto", "egl", "software")

FPS = 30.0
"""Frames per second of a film."""

WINDOW, PICTURE = "1280x800", "640x480"
"""Pixels of a window and of a picture."""
