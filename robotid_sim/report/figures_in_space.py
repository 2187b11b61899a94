"""Charts in space as plotly figures, which a reader turns with the mouse."""

from html import escape
from typing import Any

import numpy as np

from robotid_sim.chart import Chart, Space

PIXELS, LOWEST = 125.0, 420
"""Pixels an inch of a panel's height, and the least height of a figure [pixels]."""

EYE = {"x": 1.0, "y": -1.9, "z": 0.75}
"""Where one looks from, over the size of the box."""
CENTER = {"x": 0.0, "y": 0.0, "z": -0.12}
"""Where one looks to: below the middle, for what stands in front is the lowest axis."""

THINNEST, MARGIN = 0.5, 1.05
"""Least side of the box, over its longest; what the box is larger by than the curves."""

LONGEST = 1.35
"""Longest side of the box that is seen from EYE; else its volume is 1."""


def figure_in_space(chart: Chart) -> dict[str, Any]:
    """Return a chart of which all panels are in space as `interactive.plotly_figure` does."""
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": [], "shapes": [], "showlegend": True}
    narrow: dict[str, Any] = {"axes": {}, "annotations": [], "scenes": {}}
    named: set[str] = set()
    tall = max(LOWEST, round(PIXELS * chart.panel_height))
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
            "camera": {"eye": EYE, "center": CENTER},
            **_box(panel),
        }
        narrow["scenes"][name] = {"x": [0.0, 1.0], "y": below}
        if panel.title:
            layout["annotations"].append(_title(panel.title, x[0], y[1]))
            narrow["annotations"].append(_title(panel.title, 0.0, below[1]))
        data += [{**trace, "scene": name} for trace in _traces(panel, named)]
    return {"data": data, "layout": layout, "narrow": narrow}


def _traces(panel: Space, named: set[str]) -> list[dict[str, Any]]:
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
    """Return the axes around all curves in one scale; a path in a plane has some room beside it."""
    points = np.concatenate([np.asarray(points) for _, _, points in panel.curves])
    low, high = points.min(axis=0), points.max(axis=0)
    sizes = np.maximum(high - low, THINNEST * max((high - low).max(), 1e-6))
    ends = 0.5 * (low + high) + 0.5 * MARGIN * sizes * np.array([[-1.0], [1.0]])
    scale = min(1.0 / float(np.cbrt(np.prod(sizes))), LONGEST / sizes.max())
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
