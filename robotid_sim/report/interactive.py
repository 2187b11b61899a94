"""Convert charts, in the plane and in space, to interactive plotly figures.

Only the JavaScript of the installed plotly package is used. The figures are plotly JSON with color
roles, which the page resolves to colors of its light or dark theme.
"""

import base64
import gzip
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from robotid_sim.arrays import Float
from robotid_sim.chart import Band, Chart, Curve, Mark, Matrix, Panel, Points, Space, tidy_parts
from robotid_sim.report.ticks import select_apart, symlog_candidates

DASH_STYLES = {"solid": "solid", "dashed": "6px,3px", "dotted": "2px,2px"}
MARKER_SYMBOLS = {
    "circle": "circle",
    "diamond": "diamond",
    "cross": "x-thin-open",
    "square": "square",
}

SYMLOG_THRESHOLD = 2.0
"""Value at which a symlog axis changes from linear to logarithmic."""

MIN_TICK_DISTANCE = 0.06
"""Smallest distance of ticks on a symlog axis over its length."""

PIXELS_PER_INCH = 115.0
"""Pixels per inch: a page is wider than a printed figure."""

TOP_MARGIN, BOTTOM_MARGIN, PANEL_SPACING = 0.55, 0.4, 0.36
"""Room above, below and between the panels [in]."""


def plotly_script() -> str:
    """Return plotly's JavaScript."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def pack(text: str) -> str:
    """Compress a text for a page: gzip in base64, reproducible to the bit."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


def escape_markup(text: str) -> str:
    """Escape a label, because plotly interprets tags in labels as markup."""
    return escape(text, quote=False)


def plotly_figure(chart: Chart) -> dict[str, Any]:
    """Convert a chart to ``data``, ``layout`` and ``narrow``, and ``table`` if it `has_full_data`.

    ``narrow`` is the part of the layout that stacks all panels in one column; ``table`` says how
    the page makes a table of its data.
    """
    if any(isinstance(panel, Space) for panel in chart.panels):
        return figure_in_space(chart)
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    named: set[str] = set()
    for k, panel in enumerate(chart.panels):
        number = "" if k == 0 else str(k + 1)
        traces = _heatmap(panel) if isinstance(panel, Matrix) else _traces(panel, named)
        data += [{**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in traces]
        axes[f"xaxis{number}"], axes[f"yaxis{number}"] = _axes(chart, panel, k)
    wide, narrow = _arrangement(chart, chart.columns), _arrangement(chart, 1)
    for name, domain in wide["axes"].items():
        axes[name].update(domain)
    layout = {
        **axes,
        "height": wide["height"],
        "annotations": wide["annotations"],
        "shapes": _shapes(chart),
        "showlegend": len(named) > 1,
    }
    figure = {"data": data, "layout": layout, "narrow": narrow | {"scenes": {}}}
    if has_full_data(chart):  # the page makes a table from the texts and the trace of each mark
        head, parts = tidy_parts(chart.panels)
        rows, trace = [], 0
        for lead, mark in parts:
            rows.append({"lead": lead, "trace": trace, "upper": isinstance(mark, Band)})
            trace += 1 + isinstance(mark, Band)
        figure["table"] = {"head": head, "parts": rows}
    return figure


def has_full_data(chart: Chart) -> bool:
    """Check whether a figure holds all numbers of its chart, in single precision."""
    return all(
        isinstance(panel, Panel)
        and panel.x_scale != "symlog"
        and not any(isinstance(mark, Points) and mark.x_error is not None for mark in panel.marks)
        for panel in chart.panels
    )


def _traces(panel: Any, named: set[str]) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for mark in panel.marks:
        shared = {
            "type": "scatter",
            "x": _numbers(_map_to_axis(panel, mark.x)),
            "name": escape_markup(mark.label),
            "legendgroup": mark.label,
            "showlegend": bool(mark.label) and mark.label not in named,
        }
        named |= {mark.label} if mark.label else set()
        if isinstance(mark, Band):
            edge = {"width": 0, "color": f"role:{mark.color}"}
            edge_style = {"mode": "lines", "line": edge, "hoverinfo": "skip"}
            hidden = {**shared, **edge_style, "y": _numbers(mark.y), "showlegend": False}
            fill_style = {**edge_style, "fill": "tonexty"}
            color = {"fillcolor": f"role:{mark.color}:0.3"}
            traces += [hidden, {**shared, "y": _numbers(mark.upper), **fill_style, **color}]
        else:
            traces.append({**shared, "y": _numbers(mark.y), **_look(mark, panel)})
    return traces


def _look(mark: Mark, panel: Panel) -> dict[str, Any]:
    color = f"role:{mark.color}"
    if isinstance(mark, Curve):
        line = {"color": color, "width": 1.5 * mark.width, "dash": DASH_STYLES[mark.style]}
        return {"mode": "lines", "line": line, "hovertemplate": "%{y:.5g} at %{x:.4g}"}
    assert isinstance(mark, Points)
    marker = {"color": color, "size": 2.0 * mark.size, "symbol": MARKER_SYMBOLS[mark.symbol]}
    look: dict[str, Any] = {"mode": "markers", "marker": marker}
    look["hovertemplate"] = "%{x:.5g}, %{y:.5g}"
    if panel.y_ticks:
        rows = zip(mark.x.tolist(), mark.y.tolist(), strict=True)
        texts = [escape_markup(f"{panel.y_ticks[round(y)]}: {x:.4g}") for x, y in rows]
        look |= {"text": texts, "hovertemplate": "%{text}"}
    if mark.x_error is not None:
        ends = [_map_to_axis(panel, mark.x + sign * mark.x_error) for sign in (1.0, -1.0)]
        center = _map_to_axis(panel, mark.x)
        lengths = {"array": _numbers(ends[0] - center), "arrayminus": _numbers(center - ends[1])}
        look["error_x"] = {"type": "data", **lengths, "color": color, "thickness": 1.2, "width": 0}
    return look


def _map_to_axis(panel: Panel, x: Float) -> Float:
    """Map values to the x axis; arsinh replaces the symlog scale, which plotly does not have."""
    return np.arcsinh(x / SYMLOG_THRESHOLD) if panel.x_scale == "symlog" else x


def _symlog_ticks(panel: Panel) -> Float:
    """Choose ticks over the x values of all marks, far enough apart on a wide page."""
    ends = [mark.x for mark in panel.marks]
    bars = [mark.x_error for mark in panel.marks if isinstance(mark, Points)]
    reach = [np.abs(bar).max() for bar in bars if bar is not None and bar.size]
    low, high = (float(f([f(x) for x in ends if x.size])) for f in (np.min, np.max))
    more = float(max(reach, default=0.0))
    candidates = symlog_candidates(low - more, high + more)
    places = _map_to_axis(panel, np.array([low - more, high + more, *candidates]))
    distance = MIN_TICK_DISTANCE * (places[1] - places[0])
    return np.array(select_apart(candidates, places[2:], float(distance)))


def _heatmap(panel: Matrix) -> list[dict[str, Any]]:
    *first, last = (f"role:{role}" for role in panel.colors)
    steps = [*first, "role:paper", last]
    scale = [list(step) for step in zip(np.linspace(0.0, 1.0, len(steps)), steps, strict=True)]
    texts = {"text": [list(row) for row in panel.texts], "texttemplate": "%{text}"}
    return [
        {
            "type": "heatmap",
            "z": [[round(float(v), 4) for v in row] for row in panel.values],
            "x": list(map(escape_markup, panel.columns)),
            "y": list(map(escape_markup, panel.names)),
            "zmin": panel.ends[0],
            "zmax": panel.ends[1],
            "colorscale": scale,
            "colorbar": {"thickness": 10, "outlinewidth": 0},
            "showscale": not panel.texts,
            **(texts if panel.texts else {}),
            "hovertemplate": "%{y}, %{x}: %{z:.3f}<extra></extra>",
        }
    ]


def _axes(chart: Chart, panel: Any, k: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the axes of panel k; a column's panels zoom together in time."""
    number = "" if k == 0 else str(k + 1)
    x: dict[str, Any] = {"anchor": f"y{number}"}
    y: dict[str, Any] = {"anchor": f"x{number}"}
    if isinstance(panel, Matrix):
        small = {"size": min(11.0, 420.0 / len(panel.names))}
        y |= {"tickfont": small, "autorange": "reversed", "dtick": 1}
        if panel.texts:
            return x | {"tickfont": small, "type": "category"}, y | {"type": "category"}
        across = {"size": min(11.0, 420.0 / len(panel.columns))}
        x |= {"tickfont": across, "tickangle": -90, "dtick": 1}
        if panel.is_square:
            y |= {"scaleanchor": "x", "constrain": "domain"}
            x["constrain"] = "domain"
        return x, y
    above = k - chart.columns
    if chart.share_x and above >= 0:
        x["matches"] = "x" if above == 0 else f"x{above + 1}"
    y["title"] = {"text": escape_markup(panel.y_label)}
    for axis, scale, max_ticks in ((x, panel.x_scale, 6), (y, panel.y_scale, 3)):
        if scale == "log":
            axis["type"] = "log"
            # Also for less than one decade.
            axis |= {"nticks": max_ticks, "exponentformat": "power"}
    if panel.x_scale == "symlog":
        ticks = _symlog_ticks(panel)
        x["tickvals"] = _map_to_axis(panel, ticks).round(5).tolist()
        x["ticktext"] = [f"{tick:g}" for tick in ticks]
    if panel.y_range is not None:
        y["range"] = list(panel.y_range)
    if panel.y_ticks:
        rows = list(range(len(panel.y_ticks)))
        y |= {"tickvals": rows, "ticktext": list(map(escape_markup, panel.y_ticks))}
        y |= {"range": [len(panel.y_ticks) - 0.4, -0.6], "tickfont": {"size": 10}}
    return x, y


def _arrangement(chart: Chart, columns: int) -> dict[str, Any]:
    """Return domains, titles and height of a layout in `columns` columns."""
    rows = -(-len(chart.panels) // columns)
    shares = chart.column_shares if columns == chart.columns else ()
    widths = np.array(shares or [1.0] * columns)
    gap = 0.11 if columns > 1 else 0.0
    widths = widths / widths.sum() * (1.0 - gap * (columns - 1))
    lefts = np.concatenate([[0.0], np.cumsum(widths + gap)[:-1]])
    tall = max(chart.panel_height, 1.5 if columns < chart.columns else 0.0)
    inner = rows * tall + (rows - 1) * PANEL_SPACING
    axes, annotations = {}, []
    for k, panel in enumerate(chart.panels):
        row, column = divmod(k, columns)
        top = 1.0 - row * (tall + PANEL_SPACING) / inner
        number = "" if k == 0 else str(k + 1)
        x = [float(lefts[column]), float(lefts[column] + widths[column])]
        title = getattr(panel, "x_label", "") if chart.is_lowest(k, columns) else ""
        domain = [round(v, 5) for v in x]
        axes[f"xaxis{number}"] = {"domain": domain, "title": {"text": escape_markup(title)}}
        axes[f"yaxis{number}"] = {"domain": [round(max(0.0, top - tall / inner), 5), round(top, 5)]}
        if not isinstance(panel, Space) and panel.title:
            place = {"x": x[0], "y": top, "xref": "paper", "yref": "paper", "showarrow": False}
            anchors = {"xanchor": "left", "yanchor": "bottom"}
            annotations.append({**place, **anchors, "text": f"<b>{escape_markup(panel.title)}</b>"})
    height = round(PIXELS_PER_INCH * (inner + TOP_MARGIN + BOTTOM_MARGIN))
    return {"axes": axes, "annotations": annotations, "height": height}


def _shapes(chart: Chart) -> list[dict[str, Any]]:
    shapes = []
    for k, panel in enumerate(chart.panels):
        if not isinstance(panel, Panel):
            continue
        number = "" if k == 0 else str(k + 1)
        dashed = {"color": "role:muted", "width": 1, "dash": "5px,3px"}
        for level in panel.levels:
            across = {"xref": f"x{number} domain", "x0": 0, "x1": 1}
            at = {"yref": f"y{number}", "y0": level, "y1": level}
            shapes.append({"type": "line", **across, **at, "line": dashed})
        for x in panel.verticals:
            along = {"yref": f"y{number} domain", "y0": 0, "y1": 1}
            at = {"xref": f"x{number}", "x0": x, "x1": x}
            shapes.append(
                {"type": "line", **along, **at, "line": {"color": "role:true", "width": 1}}
            )
    return shapes


def _numbers(values: Float) -> dict[str, str]:
    """Encode an array for plotly: single precision in base64."""
    data = np.asarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(data).decode()}


SPACE_PIXELS, MIN_HEIGHT = 125.0, 420
"""Pixels per inch of panel height, and the smallest height of a figure [pixels]."""

EYE_POSITION = {"x": 1.0, "y": -1.9, "z": 0.75}
"""Eye position over the size of the box."""
VIEW_CENTER = {"x": 0.0, "y": 0.0, "z": -0.12}
"""View center, below the middle because the lowest axis is in front."""

MIN_SIDE_RATIO, MARGIN = 0.5, 1.05
"""Shortest over longest side of the box; size of the box over that of the curves."""

MAX_SIDE_RATIO = 1.35
"""Longest side of the box that is visible from the eye; otherwise its volume is 1."""


def figure_in_space(chart: Chart) -> dict[str, Any]:
    """Convert a chart whose panels are all in space, as `plotly_figure` does."""
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": [], "shapes": [], "showlegend": True}
    narrow: dict[str, Any] = {"axes": {}, "annotations": [], "scenes": {}}
    named: set[str] = set()
    tall = max(MIN_HEIGHT, round(SPACE_PIXELS * chart.panel_height))
    layout["height"], narrow["height"] = tall * chart.rows, tall * len(chart.panels)
    for k, panel in enumerate(chart.panels):
        assert isinstance(panel, Space)
        name = "scene" if k == 0 else f"scene{k + 1}"
        row, column = divmod(k, chart.columns)
        x = [column / chart.columns, (column + 1) / chart.columns]
        y = [1.0 - (row + 1) / chart.rows, 1.0 - row / chart.rows]
        below = [1.0 - (k + 1) / len(chart.panels), 1.0 - k / len(chart.panels)]
        layout[name] = {
            "domain": {"x": x, "y": y},
            "dragmode": "turntable",
            "camera": {"eye": EYE_POSITION, "center": VIEW_CENTER},
            **_box(panel),
        }
        narrow["scenes"][name] = {"x": [0.0, 1.0], "y": below}
        if panel.title:
            layout["annotations"].append(_title(panel.title, x[0], y[1]))
            narrow["annotations"].append(_title(panel.title, 0.0, below[1]))
        data += [{**trace, "scene": name} for trace in _space_traces(panel, named)]
    return {"data": data, "layout": layout, "narrow": narrow}


def _space_traces(panel: Space, named: set[str]) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    floor = min(float(np.asarray(points)[:, 2].min()) for _, _, points in panel.curves)
    for label, role, points in panel.curves:
        x, y, z = np.asarray(points).round(5).T.tolist()
        width = 8 if role == "muted" else 4
        traces.append(
            {
                "type": "scatter3d",
                "mode": "lines",
                **{"x": x, "y": y, "z": z},
                "name": escape(label, quote=False),
                "legendgroup": label,
                "showlegend": label not in named,
                "line": {"color": f"role:{role}", "width": width},
                "hovertemplate": "%{x:.3f}, %{y:.3f}, %{z:.3f} m",
            }
        )
        shadow = {"name": "", "showlegend": False, "hoverinfo": "skip", "hovertemplate": ""}
        line = {"color": "role:grid", "width": 3}
        traces.append({**traces[-1], **shadow, "z": [round(floor, 5)] * len(z), "line": line})
        named.add(label)
    return traces


def _box(panel: Space) -> dict[str, Any]:
    """Return equally scaled axes around all curves, with room around a planar path."""
    points = np.concatenate([np.asarray(points) for _, _, points in panel.curves])
    low, high = points.min(axis=0), points.max(axis=0)
    sizes = np.maximum(high - low, MIN_SIDE_RATIO * max((high - low).max(), 1e-6))
    ends = 0.5 * (low + high) + 0.5 * MARGIN * sizes * np.array([[-1.0], [1.0]])
    scale = min(1.0 / float(np.cbrt(np.prod(sizes))), MAX_SIDE_RATIO / sizes.max())
    shares = (scale * sizes).round(5).tolist()
    colors = {"gridcolor": "role:grid", "linecolor": "role:muted", "zerolinecolor": "role:grid"}
    axes = {
        f"{axis}axis": {
            "title": {"text": f"{axis} [m]"},
            **{"showbackground": False, "nticks": round(2 + 4 * share)},
            **colors,
            "range": ends[:, k].round(5).tolist(),
        }
        for k, (axis, share) in enumerate(zip("xyz", shares, strict=True))
    }
    return {"aspectmode": "manual", "aspectratio": dict(zip("xyz", shares, strict=True)), **axes}


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False}
    return {
        **place,
        "xanchor": "left",
        "yanchor": "top",
        "text": f"<b>{escape(text, quote=False)}</b>",
    }
