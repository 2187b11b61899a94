"""Figures of matplotlib as a page holds them: a third of the letters, colors of the page."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from robotid_sim.palette import ROLES


def svg_for_page(svg: str, name: str) -> str:
    """Return a figure of matplotlib as part of a page: with its colors, and ids of its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r' d="([^"]*)"', lambda path: f' d="{_short_path(path[1])}"', body)
    # A hundredth of a point is enough for a place; what is between tags is text, such as ticks.
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), body)
    body = re.sub(r">\s+<", "><", body)
    # Ids must be unique on the page.
    body = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", body)
    body = re.sub(r"(font(?:-family)?: [^;\"']*)'[^;\"]*", r"\1sans-serif", body)
    seen: set[str] = set()
    for role, (color, _) in ROLES.items():
        if color not in seen:
            body = body.replace(color, f"var(--{role})")
            seen.add(color)
    body = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", body)
    return _with_classes(body, name)


def _with_classes(body: str, name: str) -> str:
    """Return a figure with a class for every style that stands in it more than once."""
    counts = Counter(re.findall(r' style="([^"]*)"', body))
    classes = {style: f"{name}-{k}" for k, style in enumerate(counts) if counts[style] > 1}
    body = re.sub(
        r' style="([^"]*)"',
        lambda style: f' class="{classes[style[1]]}"' if style[1] in classes else style[0],
        body,
    )
    # As specific as the rules of the page for what is in a figure, and later.
    rules = "".join(f"svg g .{number}{{{style}}}" for style, number in classes.items())
    return body.replace("</style>", f"{rules}</style>", 1)


def _short_path(path: str) -> str:
    """Return a path with steps instead of places.

    They are whole tenths of a point, hundredths where there are curves, such as small markers.
    """
    unit = 100 if re.search("[QC]", path) else 10
    return "".join(_steps(path, unit)).replace(" -", "-")


def _steps(path: str, unit: int) -> Iterator[str]:
    here, start, last = (0, 0), (0, 0), ""
    for command, text in re.findall(r"([MLQCZ])([^MLQCZ]*)", path.upper()):
        numbers = [round(unit * float(x)) for x in text.split()]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "Z":
            here = start
            yield "z"
        elif command == "M":
            here = start = points[0]
            yield f"M{_joined(here, unit)}"
        else:
            steps = [x for point in points for x in (point[0] - here[0], point[1] - here[1])]
            here = points[-1]
            yield (" " if command == last else command.lower()) + _joined(steps, unit)
        last = command


def _joined(values: Sequence[int], unit: int) -> str:
    return " ".join(re.sub(r"^(-?)0\.", r"\1.", f"{value / unit:g}") for value in values)
