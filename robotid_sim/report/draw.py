"""Draw charts by matplotlib: figures for papers, SVG and PNG files."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from robotid_sim.chart import Band, Chart, Curve, Mark, Matrix, Panel, Points, Space, csv_text
from robotid_sim.files import atomic_path, write_text
from robotid_sim.palette import light_color
from robotid_sim.report.ticks import SYMLOG_THRESHOLD, set_ticks

FIGURE_WIDTH = 7.16
"""Width of a figure [in]: two columns of a journal page."""

FIGURE_DPI = 160

CSS_DPI, NOTEBOOK_DPI = 96, 192
"""Pixels per inch of a page, and of a picture in a notebook with twice the resolution."""

FONT_SIZE = 8.0  # [pt]

FIGURE_STYLE: dict[Any, Any] = {
    "font.size": FONT_SIZE,
    "font.family": "sans-serif",
    "axes.titlesize": FONT_SIZE,
    "axes.titleweight": "bold",
    "axes.labelsize": FONT_SIZE,
    "axes.edgecolor": light_color("muted"),
    "axes.labelcolor": light_color("ink"),
    "axes.titlecolor": light_color("ink"),
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": light_color("grid"),
    "grid.linewidth": 0.5,
    "xtick.color": light_color("muted"),
    "ytick.color": light_color("muted"),
    "xtick.labelcolor": light_color("ink"),
    "ytick.labelcolor": light_color("ink"),
    "xtick.labelsize": FONT_SIZE - 1.0,
    "ytick.labelsize": FONT_SIZE - 1.0,
    "text.color": light_color("ink"),
    "text.parse_math": False,  # names are shown as they are, also with dollars
    "legend.frameon": False,
    "legend.fontsize": FONT_SIZE,
    "svg.fonttype": "none",
    "svg.hashsalt": "robotid",  # same chart, same file
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}

LINE_STYLES: dict[str, Any] = {"solid": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}
MARKER_SYMBOLS = {"circle": "o", "diamond": "D", "cross": "x", "square": "s"}

PADDING_WIDTH = 0.05
"""Distance of a panel from the edge, half of that between panels [in]."""

Y_LABEL_WIDTH = 0.6
"""Mean width of the y labels of a panel [in]."""

ROW_HEIGHT, SHARED_ROW_HEIGHT, LEGEND_HEIGHT = 0.42, 0.16, 0.2
"""Height of the labels of a row of panels, of a row with a shared axis, and of a legend [in]."""


class NotebookFigure(Figure):
    """A figure that a notebook shows as the value of a cell, with any backend."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        png = io.BytesIO()
        with mpl.rc_context(FIGURE_STYLE):
            self.savefig(png, format="png", dpi=NOTEBOOK_DPI, facecolor="#ffffff")
        width, height = (round(CSS_DPI * size) for size in self.get_size_inches().tolist())
        return png.getvalue(), {"width": width, "height": height}


def figure(chart: Chart, width: float = FIGURE_WIDTH) -> NotebookFigure:
    """Draw a chart as a matplotlib figure, which a notebook shows.

    `width` is in inches, 3.5 for one column of a paper; the font size is fixed.
    """
    with mpl.rc_context(FIGURE_STYLE):
        return _draw(chart, width)


def _draw(chart: Chart, width: float) -> NotebookFigure:
    kinds = {type(panel) for panel in chart.panels}
    has_matrix = any(isinstance(panel, Matrix) and not panel.is_square for panel in chart.panels)
    if not kinds - {Space, Matrix} and not has_matrix:
        width = min(width, chart.columns * (chart.panel_height + 1.2))
    labels = list(chart.legend()) if len(chart.legend()) > 1 else []
    columns = max(1, int((width - 0.7) / (0.45 + 0.065 * max(map(len, labels), default=1))))
    row = chart.panel_height + (SHARED_ROW_HEIGHT if chart.share_x else ROW_HEIGHT)
    height = chart.rows * row + LEGEND_HEIGHT * -(-len(labels) // columns)
    sheet = NotebookFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(sheet)
    engine = sheet.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(w_pad=PADDING_WIDTH, h_pad=PADDING_WIDTH, hspace=0.0, wspace=0.0)
    shares = chart.column_shares or (1.0,) * chart.columns
    parts = [share / sum(shares) for share in shares]
    grid = sheet.add_gridspec(chart.rows, chart.columns, width_ratios=parts)
    for k, panel in enumerate(chart.panels):
        place = grid[divmod(k, chart.columns)]
        if isinstance(panel, Space):
            _draw_space(sheet, place, panel)
        elif isinstance(panel, Matrix):
            _draw_matrix(sheet.add_subplot(place), panel)
        else:
            axes = sheet.add_subplot(place, label=str(k))
            _draw_panel(axes, panel)
            # Before the layout, which depends on the ticks and takes most of the time.
            set_ticks(axes.xaxis, panel.x_scale, parts[k % chart.columns] * width - Y_LABEL_WIDTH)
            if not panel.y_ticks:
                set_ticks(axes.yaxis, panel.y_scale, chart.panel_height)
            if not chart.is_lowest(k, chart.columns):
                axes.set_xlabel("")
                axes.tick_params(labelbottom=not chart.share_x)
    if labels:
        handles = [_handle(label, mark) for label, mark in chart.legend().items()]
        sheet.legend(
            handles=handles,
            loc="outside upper left",
            ncols=min(len(labels), columns),
            borderaxespad=0.4,
            borderpad=0.0,
            handlelength=1.6,
            columnspacing=1.2,
        )
    return sheet


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for mark in panel.marks:
        _draw_mark(axes, mark)
    for level in panel.levels:
        axes.axhline(level, color=light_color("muted"), linewidth=0.8, linestyle=(0, (5, 3)))
    for x in panel.verticals:
        axes.axvline(x, color=light_color("true"), linewidth=0.8)
    for scale, set_scale in ((panel.x_scale, axes.set_xscale), (panel.y_scale, axes.set_yscale)):
        if scale == "symlog":
            set_scale(scale, linthresh=SYMLOG_THRESHOLD, linscale=1.5)
        elif scale != "linear":
            set_scale(scale)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, loc="left", pad=3.0)
    points_only = all(isinstance(mark, Points) for mark in panel.marks)
    axes.margins(*((0.12, 0.12) if points_only and not panel.y_ticks else (0.01, 0.05)))
    if panel.x_range is not None:
        axes.set_xlim(*panel.x_range)
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    if panel.y_ticks:
        axes.set_yticks(range(len(panel.y_ticks)), panel.y_ticks)
        axes.set_ylim(len(panel.y_ticks) - 0.4, -0.6)
    axes.set_xlabel(panel.x_label)


def _draw_mark(axes: Axes, mark: Mark) -> None:
    color = light_color(mark.color)
    if isinstance(mark, Curve):
        style = LINE_STYLES[mark.style]
        axes.plot(mark.x, mark.y, color=color, linewidth=mark.width, linestyle=style)
    elif isinstance(mark, Band):
        axes.fill_between(mark.x, mark.y, mark.upper, color=color, alpha=0.22, linewidth=0.0)
    else:
        axes.errorbar(
            mark.x,
            mark.y,
            xerr=mark.x_error,
            color=color,
            linestyle="none",
            linewidth=1.0,
            marker=MARKER_SYMBOLS[mark.symbol],
            markersize=mark.size,
            markeredgewidth=0.8 if mark.symbol == "cross" else 0.0,
        )


def _handle(label: str, mark: Mark) -> Line2D | Patch:
    color = light_color(mark.color)
    if isinstance(mark, Band):
        return Patch(color=color, alpha=0.22, linewidth=0.0, label=label)
    if isinstance(mark, Curve):
        style = LINE_STYLES[mark.style]
        return Line2D([], [], color=color, linestyle=style, linewidth=1.6, label=label)
    symbol = MARKER_SYMBOLS[mark.symbol]
    return Line2D([], [], color=color, marker=symbol, linestyle="none", markersize=4, label=label)


def _draw_matrix(axes: Axes, panel: Matrix) -> None:
    *first, last = map(light_color, panel.colors)
    colors = LinearSegmentedColormap.from_list("matrix", [*first, "#ffffff", last])
    n, low, high = len(panel.names), *panel.ends
    options: dict[str, Any] = {"cmap": colors, "vmin": low, "vmax": high, "rasterized": True}
    mesh = axes.pcolormesh(panel.values, alpha=0.6 if panel.texts else None, **options)
    sheet = axes.figure
    assert isinstance(sheet, Figure)
    side = min(*(0.8 * sheet.get_size_inches() - 0.6)) * 72.0  # of the matrix [pt]
    size = round(min(FONT_SIZE - 1.0, 0.85 * side / n), 2)
    rotation = 0 if panel.texts else 90
    places = np.arange(len(panel.columns)) + 0.5
    axes.set_xticks(places, panel.columns, rotation=rotation, fontsize=size)
    axes.set_yticks(np.arange(n) + 0.5, panel.names, fontsize=size)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.tick_params(length=0.0, pad=1.0)
    axes.set_title(panel.title, loc="left", pad=3.0)
    if panel.texts:  # a color bar is not needed
        for i, row in enumerate(panel.texts):
            for j, text in enumerate(row):
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=size)
        return
    if panel.is_square:
        axes.set_aspect("equal")
    ticks = [-1, -0.5, 0, 0.5, 1] if panel.is_square else MaxNLocator(4)
    bar = sheet.colorbar(mesh, ax=axes, shrink=0.6, pad=0.02, ticks=ticks)
    bar.outline.set_visible(False)


def _draw_space(sheet: Figure, place: SubplotSpec, panel: Space) -> None:
    axes = sheet.add_subplot(place, projection="3d")
    points = np.vstack([curve for _, _, curve in panel.curves])
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.55 * float((high - low).max())
    floor = min(low[2], middle[2] - half)
    for label, role, curve in panel.curves:
        width = 3.0 if role == "muted" else 1.0
        axes.plot(*curve.T, color=light_color(role), linewidth=width, label=label)
        flat = np.full(len(curve), floor)
        axes.plot(curve[:, 0], curve[:, 1], flat, color=light_color("grid"), linewidth=0.8)
    for set_range, center in zip((axes.set_xlim, axes.set_ylim), middle[:2], strict=True):
        set_range(center - half, center + half)
    axes.set_zlim(floor, floor + 2.0 * half)
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.9)
    axes.view_init(elev=22.0, azim=-60.0)
    if panel.title:
        axes.set_title(panel.title, pad=0.0)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
        axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
        axis.set_label_text(f"{name} [m]")
        axis.set_tick_params(pad=0.0)
        axis.set_major_locator(MaxNLocator(4))
        axis._axinfo["grid"]["color"] = light_color("grid")  # noqa: SLF001 - no public way


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as contents of files."""

    svg: str
    png: bytes
    csv: str

    def save(self, folder: Path, name: str) -> None:
        """Write ``name.svg``, ``name.png`` and ``name.csv`` into a folder.

        Raises `FileFormatError` if the folder cannot be written.
        """
        write_text(folder / f"{name}.svg", self.svg)
        write_text(folder / f"{name}.csv", self.csv)
        with atomic_path(folder / f"{name}.png") as path:
            path.write_bytes(self.png)


def draw(chart: Chart) -> Drawing:
    """Draw a chart at the width of two columns of a paper."""
    svg, png = io.StringIO(), io.BytesIO()
    with mpl.rc_context(FIGURE_STYLE):
        sheet = _draw(chart, FIGURE_WIDTH)
        engine = sheet.get_layout_engine()
        assert engine is not None
        engine.execute(sheet)  # once: with an engine, every file is laid out and drawn twice
        sheet.set_layout_engine(None)
        sheet.savefig(png, format="png", dpi=FIGURE_DPI, facecolor="#ffffff")
        sheet.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Drawing(svg.getvalue(), png.getvalue(), csv_text(chart))
