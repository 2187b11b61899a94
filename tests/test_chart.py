"""Charts as values: what they refuse, their legend and their table."""

import csv
import io

import numpy as np
import pytest

from robotid_sim.chart import Band, Chart, Curve, Matrix, Panel, Points, Space, csv_text
from robotid_sim.errors import ShapeError

T = np.linspace(0.0, 1.0, 5)


def chart(*panels) -> Chart:
    return Chart(name="c", title="C", caption="what", panels=panels, columns=2)


def read(text: str) -> dict[str, list[str]]:
    rows = list(csv.reader(io.StringIO(text)))
    return {name: [row[k] for row in rows[1:]] for k, name in enumerate(rows[0])}


def test_marks_need_as_many_x_as_y() -> None:
    with pytest.raises(ShapeError, match="mark 'a': 5 x for 4 y"):
        Curve(T, T[:4], "a", "ink")
    with pytest.raises(ShapeError, match="expected"):
        Points(T[None], T[None], "a", "ink")


def test_marks_keep_their_own_numbers() -> None:
    y = T.copy()
    line = Curve(T, y, "a", "ink")
    y[:] = 7.0
    assert line.y[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        line.y[0] = 1.0


def test_legend_has_every_label_once_in_the_order_of_use() -> None:
    first = Panel(marks=(Curve(T, T, "b", "ink"), Curve(T, T, "", "ink")))
    second = Panel(marks=(Curve(T, T, "a", "ink"), Curve(T, T, "b", "ink")))
    assert list(chart(first, second).legend()) == ["b", "a"]


def test_rows_count_panels_over_columns() -> None:
    panel = Panel(marks=(Curve(T, T, "a", "ink"),))
    assert [chart(*[panel] * k).rows for k in (1, 2, 3)] == [1, 1, 2]


def test_csv_holds_every_number_of_every_mark_one_a_row() -> None:
    band = Band(T, -T, "band", "raw", upper=2.0 * T)
    points = Points(T[:2], T[:2], "points", "ink", x_error=np.array([0.1, 0.2]))
    marks = (Curve(T, T**2, "square", "ink"), band, points)
    panel = Panel(marks=marks, x_label="t [s]", y_label="y [m]", title="p")
    table = read(csv_text(chart(panel)))
    named = ["panel", "series", "quantity", "t [s]", "value", "upper", "half_width"]
    assert list(table) == named
    assert table["series"] == ["square"] * 5 + ["band"] * 5 + ["points"] * 2
    assert set(table["panel"]) == {"p"}
    assert set(table["quantity"]) == {"y [m]"}
    assert [float(v) for v in table["t [s]"]] == [*T, *T, *T[:2]]
    assert [float(v) for v in table["value"]] == pytest.approx([*T**2, *-T, *T[:2]])
    assert table["upper"] == [""] * 5 + [f"{v:g}" for v in 2.0 * T] + [""] * 2
    assert table["half_width"] == [""] * 10 + ["0.1", "0.2"]


def test_csv_of_panels_over_different_x_names_both() -> None:
    panels = [Panel(marks=(Curve(T, T, "a", "ink"),), x_label=x) for x in ("t [s]", "f [Hz]")]
    table = read(csv_text(chart(*panels)))
    assert list(table) == ["panel", "series", "quantity", "x_quantity", "x", "value"]
    assert table["x_quantity"] == ["t [s]"] * 5 + ["f [Hz]"] * 5
    assert set(table["panel"]) == {"1", "2"}


def test_csv_of_a_matrix_and_of_curves_in_space() -> None:
    table = read(csv_text(chart(Matrix(values=np.eye(2), names=("a", "b")))))
    assert table["row"] == ["a", "a", "b", "b"]
    assert table["column"] == ["a", "b", "a", "b"]
    assert table["value"] == ["1", "0", "0", "1"]
    curve = np.arange(6.0).reshape(2, 3)
    table = read(csv_text(chart(Space(curves=(("path", "ink", curve),)))))
    assert table["series"] == ["path", "path"]
    assert table["z [m]"] == ["2", "5"]
