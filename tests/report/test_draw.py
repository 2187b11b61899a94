"""Charts drawn by matplotlib: valid files, everything inside, nothing on top of each other."""

import io
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from lxml import etree
from matplotlib.colors import to_hex
from matplotlib.text import Text
from PIL import Image
from sampling import sampled

from robotid_sim import palette
from robotid_sim.chart import Band, Chart, Curve, Matrix, Panel, Points, Space
from robotid_sim.report.draw import FIGURE_DPI, FIGURE_WIDTH, draw, figure

COLUMN = 3.5
"""Width of one column of a paper [in]."""

SLACK = 2.0
"""Overlap of two texts' boxes that the eye does not see [px at 100 dpi]."""

T = np.linspace(0.0, 10.0, 50)
JOINTS = [f"joint_{j}" for j in range(1, 7)]


def lines() -> Chart:
    panels = [
        Panel(
            marks=tuple(Curve(T, np.sin(T + j), n, f"joint-{j}") for j, n in enumerate(JOINTS)),
            x_label="time [s]",
            y_label="torque [N m]",
            title=title,
            levels=(-1.0, 1.0),
        )
        for title in ("one", "two", "three", "four")
    ]
    return Chart(name="lines", title="Lines", caption="", panels=tuple(panels), columns=2)


def intervals() -> Chart:
    names = tuple(f"Izz{k}R" for k in range(20))
    at = np.arange(20.0)
    marks = (Points(100.0 * np.sin(at), at, "estimate", "identified", x_error=np.ones(20)),)
    panel = Panel(marks=marks, y_ticks=names, x_scale="symlog", verticals=(0.0,), x_label="d [-]")
    return Chart(name="intervals", title="I", caption="", panels=(panel,), panel_height=3.0)


def matrix() -> Chart:
    names = tuple(f"Ixx{k}" for k in range(30))
    panel = Matrix(values=np.eye(30), names=names)
    return Chart(name="matrix", title="M", caption="", panels=(panel,), panel_height=5.0)


def wide_matrix() -> Chart:
    """Few rows, many columns, and one color."""
    panel = Matrix(
        values=np.linspace(0.0, 0.4, 520).reshape(10, 52),
        names=tuple(f"{k} to {k + 1} s" for k in range(10)),
        across=tuple(f"Ixx{k}R" for k in range(52)),
        ends=(0.0, 0.4),
        colors=("identified",),
    )
    return Chart(name="wide_matrix", title="M", caption="", panels=(panel,), panel_height=1.35)


def space() -> Chart:
    curve = np.column_stack([np.cos(T), np.sin(T), T / 10.0])
    panel = Space(curves=(("path", "identified", curve),))
    return Chart(name="space", title="S", caption="", panels=(panel,), panel_height=4.0)


def band() -> Chart:
    marks = (Band(T, -np.ones(50), "band", "raw", upper=np.ones(50)), Curve(T, T, "x", "ink"))
    return Chart(name="band", title="B", caption="", panels=(Panel(marks=marks),))


def hard() -> Chart:
    """Axes whose labels need room: narrow and wide logarithms, small and large numbers."""
    panels = [
        Panel(marks=(Points([0.031, 0.033], low, "a", "true"),), y_label="error [mrad]", **scales)
        for low, scales in (
            ([8.4225, 8.4275], {"y_scale": "log"}),
            ([2e-4, 3e4], {"y_scale": "log"}),
            ([0.2, 0.9], {"y_scale": "log", "x_scale": "log"}),
            ([-3e-7, 4e-7], {}),
            ([-3.0, 3.0], {"y_scale": "symlog"}),
            ([-2e12, 30.0], {"y_scale": "symlog"}),
            ([-5.0e-4, 5.0e-4], {}),
            ([1.2e7, 3.4e7], {}),
        )
    ]
    titled = tuple(replace(panel, title=f"panel {k}") for k, panel in enumerate(panels))
    return Chart(name="hard", title="H", caption="", panels=titled, columns=2, panel_height=0.85)


def spread() -> Chart:
    at = np.arange(4.0)
    marks = (Points([-4e4, -30.0, 3.0, 2e5], at, "estimate", "identified"),)
    panel = Panel(marks=marks, y_ticks=("a", "b", "c", "d"), x_scale="symlog", x_label="d [-]")
    return Chart(name="spread", title="S", caption="", panels=(panel,))


CHARTS = [lines, intervals, matrix, wide_matrix, space, band, hard]

drawn = cache(lambda make: draw(make()))
"""Returns the drawing of a chart, made once."""


def texts(made) -> list[Text]:
    """Return the texts that are seen: matplotlib keeps ticks beyond the range too."""
    found = [text for legend in made.legends for text in legend.get_texts()]
    for axes in made.axes:
        found += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            found += [label for at, label in ticks if low <= at <= high]
            found.append(axis.get_offset_text())
    return [text for text in found if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("make", CHARTS)
def test_files_are_valid_and_say_the_labels(make) -> None:
    chart = make()
    drawing = drawn(make)
    etree.fromstring(drawing.svg.encode())
    picture = Image.open(io.BytesIO(drawing.png))
    assert picture.width == pytest.approx(figure(chart).get_figwidth() * FIGURE_DPI, abs=1.0)
    assert picture.getpixel((0, 0))[:3] == (255, 255, 255)  # opaque: a viewer may be dark
    shown = "".join(etree.fromstring(drawing.svg.encode()).itertext())
    for panel in chart.panels:
        for name in getattr(panel, "y_ticks", ()) or getattr(panel, "names", ()):
            assert name in shown


@pytest.mark.parametrize("make", sampled(CHARTS, hard, space, mark=pytest.mark.slow))
def test_same_chart_same_bits(make) -> None:
    first, second = drawn(make), draw(make())
    assert first.svg == second.svg
    assert first.png == second.png


@pytest.mark.parametrize(
    ("make", "width"),
    sampled(
        product(
            (lines, intervals, matrix, wide_matrix, band, hard, spread), (COLUMN, FIGURE_WIDTH)
        ),
        (hard, COLUMN),
        (spread, COLUMN),
        (matrix, FIGURE_WIDTH),
        mark=pytest.mark.slow,
    ),
)
def test_texts_lie_inside_and_not_on_each_other(make, width) -> None:
    made = figure(make(), width)
    made.set_dpi(100.0)
    made.canvas.draw()
    frame = made.bbox
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts(made)]
    for text, box in boxes:
        assert box.x0 > frame.x0 - SLACK, text
        assert box.x1 < frame.x1 + SLACK, text
        assert box.y0 > frame.y0 - SLACK, text
        assert box.y1 < frame.y1 + SLACK, text
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < SLACK or along < SLACK, f"'{one}' on '{other}'"


def test_every_axis_has_ticks_that_read_apart() -> None:
    made = figure(hard())
    made.canvas.draw()
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            seen = [label.get_text() for at, label in ticks if low <= at <= high]
            assert len(set(seen)) == len(seen) >= 2, axes.get_title(loc="left")


def test_panels_in_space_are_inside_with_their_titles_and_the_names_of_their_axes() -> None:
    curve = np.column_stack([np.cos(T), np.sin(T), T / 10.0])
    panels = tuple(Space(curves=(("path", "identified", curve),), title=t) for t in "ab")
    chart = Chart(name="s", title="S", caption="", panels=panels, columns=2, panel_height=2.8)
    made = figure(chart)
    made.set_dpi(100.0)
    made.canvas.draw()
    for axes in made.axes:
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label, axes.zaxis.label):
            box = text.get_window_extent()
            assert box.x0 > 0.0
            assert box.x1 < made.bbox.x1, text.get_text()
            assert box.y0 > 0.0
            assert box.y1 < made.bbox.y1, text.get_text()


def test_drawing_saves_three_files(tmp_path) -> None:
    draw(band()).save(tmp_path, "band")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["band.csv", "band.png", "band.svg"]


def test_a_matrix_of_one_color_begins_with_the_paper() -> None:
    made = figure(wide_matrix())
    mesh = made.axes[0].collections[0]
    np.testing.assert_array_equal(mesh.cmap(0.0), np.ones(4))
    assert to_hex(mesh.cmap(1.0)) == palette.light_color("identified")
    assert made.get_figwidth() == FIGURE_WIDTH
