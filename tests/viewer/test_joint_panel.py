"""Curves of one joint over time."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.model.perturb import perturb
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.joint_panel import JointCurves, compute_needed_torque


def pixels(picture) -> np.ndarray:
    return np.asarray(picture, dtype=int)


def test_a_mark_moves_with_time_and_curves_change_with_the_joint(sweep) -> None:
    curves = JointCurves(sweep, 2.0)
    first, later = (pixels(curves.draw(t, 0)) for t in (10.0, 50.0))
    dark = [np.flatnonzero((p.max(axis=-1) < 60).mean(axis=0) > 0.3) for p in (first, later)]
    share = (dark[1].mean() - dark[0].mean()) / (curves.size[0] * (228 - 42 - 12) / 228)
    assert share == pytest.approx(40.0 / (sweep.end - sweep.start), abs=0.01)
    other = pixels(curves.draw(10.0, 1))
    assert (np.abs(other - first).max(axis=-1) > 30).mean() > 0.01


@pytest.mark.slow
def test_a_model_needs_the_torque_of_its_own_dynamics(sweep) -> None:
    def error(robot) -> float:
        return float(np.sqrt(((compute_needed_torque(robot, sweep) - sweep.tau) ** 2).mean()))

    size = float(np.sqrt((sweep.tau**2).mean()))
    assert error(sweep.robot) < 2e-3 * size
    assert error(perturb(sweep.robot, np.random.default_rng(0))) > 2e-2 * size


def test_models_add_a_plot_in_their_colors(sweep) -> None:
    alone, compared = (
        JointCurves(sweep),
        JointCurves(sweep, models={"nominal": perturb(sweep.robot, np.random.default_rng(0))}),
    )
    assert compared.size[1] > alone.size[1]
    shown = pixels(compared.draw(0.0, 1))[alone.size[1] :]
    near = np.abs(shown - colors.MODEL_COLORS["nominal"]).max(axis=-1) < 40
    assert near.sum() > 20


def test_tracking_errors_take_the_place_of_torques(sweep) -> None:
    error = 1e-3 * np.sin(sweep.t)[:, None] * np.ones(sweep.robot.dof)
    ghost = replace(sweep, error=error, color=colors.MODEL_COLORS["identified"])
    models = {"nominal": perturb(sweep.robot, np.random.default_rng(0))}
    curves = JointCurves(sweep, 2.0, models, [ghost])
    assert curves.size == JointCurves(sweep, 2.0).size  # a plot for a plot
    shown = pixels(curves.draw(0.0, 1))
    near = [
        np.abs(shown - colors.MODEL_COLORS[n]).max(axis=-1) < 40 for n in ("identified", "nominal")
    ]
    assert near[0].sum() > 50
    assert near[1].sum() == 0
    rows = np.flatnonzero(near[0].any(axis=1))
    assert rows.min() > 0.6 * curves.size[1]  # below position and velocity


def test_a_log_without_torque_has_two_plots(sweep) -> None:
    log = Animation("x", sweep.robot, sweep.t, sweep.q, sweep.dq)
    assert JointCurves(log).size[1] < JointCurves(sweep).size[1]
