"""Colors by role, for light and dark pages; readable without color vision.

The hues are those of Okabe and Ito (2008), "Color Universal Design", without yellow, which is hard
to see on white; on a dark background they are lighter. Joints beyond the last hue start again with
the first.
"""

from robotid_sim.errors import UnknownNameError

LIGHT_HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
DARK_HUES = ("#4ca6dd", "#ee8244", "#2fc79c", "#dd9cbf", "#f0b73c", "#8fd0f5", "#a5a5a5")

ROLE_COLORS = {
    "ink": ("#1a1d21", "#e6e8eb"),
    "muted": ("#5f666e", "#9aa1aa"),
    "grid": ("#e2e4e7", "#33383f"),
    "true": ("#1a1d21", "#e6e8eb"),
    "nominal": ("#d55e00", "#ee8244"),
    "identified": ("#0072b2", "#4ca6dd"),
    "raw": ("#b4b9bf", "#5c646d"),
    "filter-1": ("#cc79a7", "#dd9cbf"),
    "filter-2": ("#009e73", "#2fc79c"),
    "warning": ("#a8071a", "#ff7b72"),
    **{f"joint-{k}": pair for k, pair in enumerate(zip(LIGHT_HUES, DARK_HUES, strict=True))},
}
"""Colors of every role on a light and on a dark background."""


def require_role(color: str, what: str) -> None:
    """Raise `UnknownNameError` if a color is not a role."""
    if color not in ROLE_COLORS:
        raise UnknownNameError(
            f"{what}: {UnknownNameError.from_names('color', color, ROLE_COLORS)}"
        )


def joint_role(j: int) -> str:
    """Return the color role of joint `j`."""
    return f"joint-{j % len(LIGHT_HUES)}"


def light_color(role: str) -> str:
    """Return the color of a role on a light background."""
    return ROLE_COLORS[role][0]


def rgb(role: str) -> tuple[int, int, int]:
    """Return the color of a role on a light background as red, green, blue from 0 to 255."""
    red, green, blue = bytes.fromhex(light_color(role).removeprefix("#"))
    return red, green, blue


def css_variables() -> tuple[str, str]:
    """Declare all roles as CSS variables, for a light and for a dark background."""
    pairs = ROLE_COLORS.items()
    return (
        "".join(f"--{role}:{colors[0]};" for role, colors in pairs),
        "".join(f"--{role}:{colors[1]};" for role, colors in pairs),
    )
