"""Charts as plotly figures: the same numbers, colors by role, panels beside each other."""

import base64
import gzip
import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from test_draw import CHARTS, band, intervals, lines, space

from robotid_sim.chart import Chart, Matrix, Panel, Points
from robotid_sim.palette import ROLE_COLORS
from robotid_sim.report.interactive import MAX_SIDE_RATIO, SYMLOG_THRESHOLD, pack, plotly_figure

FLAT = [make for make in CHARTS if make is not space]


def numbers(column: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(column["bdata"]), dtype=column["dtype"])


def test_curves_in_space_are_scenes_that_do_not_overlap_wide_or_narrow() -> None:
    chart = replace(space(), panels=space().panels * 2, columns=2)
    figure = json.loads(json.dumps(plotly_figure(chart), allow_nan=False))
    scenes = {name: part for name, part in figure["layout"].items() if name.startswith("scene")}
    assert {trace["scene"] for trace in figure["data"]} == set(scenes) == {"scene", "scene2"}
    wide = [scene["domain"] for scene in scenes.values()]
    assert wide[0]["x"][1] <= wide[1]["x"][0]
    narrow = list(figure["narrow"]["scenes"].values())
    assert narrow[1]["y"][1] <= narrow[0]["y"][0]
    label, _, points = chart.panels[0].curves[0]
    drawn = next(trace for trace in figure["data"] if trace["name"] == label)
    np.testing.assert_allclose(np.column_stack([drawn[a] for a in "xyz"]), points, atol=1e-5)


def test_a_path_in_a_plane_lies_inside_a_box_of_one_scale() -> None:
    angle = np.linspace(0.0, 2.0, 30)
    flat = np.column_stack([0.0 * angle, np.cos(angle), 0.5 * np.sin(angle)])
    panel = replace(space().panels[0], curves=(("path", "identified", flat),))
    scene = plotly_figure(replace(space(), panels=(panel,)))["layout"]["scene"]
    ends = np.array([scene[f"{axis}axis"]["range"] for axis in "xyz"])
    assert (ends[:, 0] < flat.min(axis=0)).all()
    assert (ends[:, 1] > flat.max(axis=0)).all()
    shares = np.array([scene["aspectratio"][axis] for axis in "xyz"])
    assert shares.max() <= MAX_SIDE_RATIO
    assert shares.min() > 0.4 * shares.max()
    sizes = np.ptp(ends, axis=1)
    np.testing.assert_allclose(sizes / sizes.max(), shares / shares.max(), rtol=1e-3)


@pytest.mark.parametrize("make", FLAT)
def test_figure_is_json_with_known_color_roles(make) -> None:
    text = json.dumps(plotly_figure(make()), allow_nan=False)
    roles = set(re.findall(r'"role:([a-z0-9-]+)', text))
    assert roles
    assert roles <= {*ROLE_COLORS, "paper"}
    assert not re.search(r'"#[0-9a-f]{6}"', text)


@pytest.mark.parametrize("make", FLAT)
def test_panels_do_not_overlap_wide_or_narrow(make) -> None:
    figure = plotly_figure(make())
    for axes in (figure["layout"], figure["narrow"]["axes"]):
        count = sum(key.startswith("xaxis") for key in axes)
        suffixes = ["" if k == 0 else str(k + 1) for k in range(count)]
        boxes = [(axes[f"xaxis{s}"]["domain"], axes[f"yaxis{s}"]["domain"]) for s in suffixes]
        for (x, y), (u, v) in combinations(boxes, 2):
            assert x[1] <= u[0] or u[1] <= x[0] or y[1] <= v[0] or v[1] <= y[0]
        assert all(0.0 <= end <= 1.0 for box in boxes for domain in box for end in domain)


def test_traces_hold_the_numbers_and_a_label_is_named_once() -> None:
    chart = lines()
    figure = plotly_figure(chart)
    mark = chart.panels[1].marks[2]
    trace = figure["data"][6 + 2]
    np.testing.assert_allclose(numbers(trace["y"]), mark.y, rtol=1e-6)
    assert trace["legendgroup"] == mark.label  # a click hides the joint in every panel
    named = [t["name"] for t in figure["data"] if t["showlegend"]]
    assert named == list(chart.legend())


def test_band_fills_between_two_curves_of_one_panel() -> None:
    lower, upper = plotly_figure(band())["data"][:2]
    assert (lower["yaxis"], upper["fill"]) == (upper["yaxis"], "tonexty")
    assert numbers(upper["y"]).min() > numbers(lower["y"]).max()


def test_intervals_keep_order_and_ends_on_the_stretched_axis() -> None:
    chart = intervals()
    trace = plotly_figure(chart)["data"][0]
    mark = chart.panels[0].marks[0]
    assert (np.argsort(numbers(trace["x"])) == np.argsort(mark.x)).all()
    right = numbers(trace["x"]) + numbers(trace["error_x"]["array"])
    np.testing.assert_allclose(2.0 * np.sinh(right), mark.x + 1.0, rtol=1e-4, atol=1e-4)


def test_packed_text_comes_back_and_is_the_same_every_time() -> None:
    text = "λ" * 1000
    assert gzip.decompress(base64.b64decode(pack(text))).decode() == text
    assert pack(text) == pack(text)


def test_named_rows_may_hold_any_number_of_points() -> None:
    points = Points([1.0, 2.0, 30.0], [1.0, 1.0, 0.0], "runs", "identified")
    panel = Panel(marks=(points,), y_ticks=("first", "second"))
    chart = Chart(name="c", title="t", caption="c", panels=(panel,))
    (trace,) = plotly_figure(chart)["data"]
    assert trace["text"] == ["second: 1", "second: 2", "first: 30"]


def test_symlog_ticks_stand_apart_however_wide_the_axis() -> None:
    for x in ([-3e12, 2e3], [-3.0, 3.0], [-40.0, 900.0]):
        marks = (Points(np.array(x), np.arange(2.0), "a", "true"),)
        panel = Panel(marks=marks, x_scale="symlog", y_ticks=("b", "c"))
        figure = plotly_figure(Chart(name="c", title="c", caption="c", panels=(panel,)))
        at = np.array(figure["layout"]["xaxis"]["tickvals"])
        ends = np.arcsinh(np.array(x) / SYMLOG_THRESHOLD)
        assert len(at) >= 3
        assert np.diff(at).min() >= 0.059 * (ends[1] - ends[0])
        texts = figure["layout"]["xaxis"]["ticktext"]
        assert len(set(texts)) == len(texts)


def test_a_narrow_logarithmic_axis_is_left_to_find_ticks() -> None:
    marks = (Points(np.arange(2.0), np.array([8.41, 8.43]), "a", "true"),)
    chart = Chart(name="c", title="c", caption="c", panels=(Panel(marks=marks, y_scale="log"),))
    assert "dtick" not in plotly_figure(chart)["layout"]["yaxis"]  # powers of ten: there is none


def test_a_matrix_of_one_color_begins_with_the_paper() -> None:
    matrix = Matrix(values=np.eye(2, 3), names=("a", "b"), across=("x", "y", "z"))
    for colors, first in ((("identified",), "paper"), (("nominal", "identified"), "nominal")):
        chart = Chart(name="m", title="m", caption="", panels=(replace(matrix, colors=colors),))
        made = plotly_figure(chart)
        scale = made["data"][0]["colorscale"]
        assert scale[0] == [0.0, f"role:{first}"]
        assert scale[-1] == [1.0, "role:identified"]
        assert "scaleanchor" not in made["layout"]["yaxis"]  # it fills the page
