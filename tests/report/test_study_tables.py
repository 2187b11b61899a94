"""Tables and pictures of a study's page: bodies, digits, the robot, where the nominal is lucky."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from robotid_sim.model.inertia import principal_axes, unpack
from robotid_sim.report.figures.excitation import robot_picture
from robotid_sim.report.loop_section import lucky_notes
from robotid_sim.report.sections import link_table
from robotid_sim.report.tables import number_within, parameter_table


def test_bodies_have_the_numbers_of_their_models(study) -> None:
    models = {"nominal": study.nominal, "true": study.plant}
    table = link_table(models)
    rows = {row[:2]: row[2:] for row in table.rows}
    assert len(rows) == 3 * study.plant.dof
    for robot, column in zip(models.values(), range(2), strict=True):
        for link in robot.links:
            mass, center, central = unpack(link.phi)
            moments, _ = principal_axes(central)
            shown = [
                [float(cell) for cell in rows[link.name, quantity][column].split(", ")]
                for quantity in ("mass [kg]", "center of mass [mm]", "principal moments [kg m²]")
            ]
            assert shown[0] == pytest.approx([mass], rel=1e-3)
            assert shown[1] == pytest.approx((1e3 * center).tolist(), rel=1e-3)
            assert shown[2] == pytest.approx(moments.tolist(), rel=1e-3)


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (11.81083, 0.0026, "11.8108"),
        (1234.567, 14.0, "1235"),
        (1234.567, 1.4, "1234.6"),
        (4.04e-15, 0.0026, "0.0000"),
        (-5.1731e-9, 2.6e-10, "-5.17e-09"),
        (0.0, 1e-9, "0"),
        (1.23456, 0.0, "1.235"),
        (1.23456, np.inf, "1.235"),
    ],
)
def test_values_end_where_the_second_digit_of_their_deviation_is(value, std, text) -> None:
    assert number_within(value, std) == text


def test_base_parameters_stand_with_their_intervals(study) -> None:
    fit, intervals = study.fit, study.fit.intervals()
    before = fit.basis.of(study.nominal.parameters())
    table = parameter_table(fit.chosen, fit.basis, before, intervals=intervals)
    column = table.columns.index("95 % interval")
    ends = np.array([[float(end) for end in row[column].split(" … ")] for row in table.rows])
    within = fit.chosen.std
    assert (np.abs(ends[:, 0] - intervals.lower) < within).all()
    assert (np.abs(ends[:, 1] - intervals.upper) < within).all()


@pytest.mark.slow
def test_the_picture_shows_the_robot_in_color(study) -> None:
    (picture,) = robot_picture(study.nominal, study.trajectory)
    image = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB"), dtype=int)
    orange = (image[..., 0] - image[..., 2] > 100) & (image[..., 0] > 120)
    assert 0.01 < orange.mean() < 0.3


def test_a_nominal_model_that_tracks_better_is_named_and_explained(study) -> None:
    loop, units = study.loop, study.plant.joint_units

    def scaled(factor: float):
        runs = (
            replace(run, rms_error=factor * run.rms_error) if run.model == "nominal" else run
            for run in loop.runs
        )
        return replace(loop, runs=tuple(runs))

    assert lucky_notes(scaled(1e3), units) == []
    (note,) = lucky_notes(scaled(1e-6), units)
    for task in loop.tasks:
        assert f"{task.name} (undisturbed)" in note
