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


def test_csv_holds_every_number_of_every_mark() -> None:
    band = Band(T, -T, "band", "raw", upper=2.0 * T)
    points = Points(T[:2], T[:2], "points", "ink", x_error=np.array([0.1, 0.2]))
    panel = Panel(marks=(Curve(T, T**2, "square", "ink"), band, points), x_label="t [s]", title="p")
    table = read(csv_text(chart(panel)))
    assert [float(v) for v in table["p: square"]] == pytest.approx((T**2).tolist())
    assert [float(v) for v in table["p: band upper"]] == pytest.approx((2.0 * T).tolist())
    assert table["p: points half width"] == ["0.1", "0.2", "", "", ""]
    assert list(table).count("p: t [s]") == 1 or len(table) == 6


def test_csv_of_a_matrix_and_of_curves_in_space() -> None:
    curve = np.arange(6.0).reshape(2, 3)
    made = chart(
        Matrix(values=np.eye(2), names=("a", "b")), Space(curves=(("path", "ink", curve),))
    )
    table = read(csv_text(made))
    assert table["b"] == ["0", "1"]
    assert table["path z [m]"] == ["2", "5"]
