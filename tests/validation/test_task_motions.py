"""The motions of a task: those of the closed loop, sample by sample."""

from dataclasses import replace

import numpy as np
import pytest
from studies import cell_of, comparison, loop_of

from robotid_sim.arrays import rms
from robotid_sim.errors import ControllerError, UnknownNameError
from robotid_sim.model.perturb import perturb
from robotid_sim.validation.closed_loop import task_motions

SHORT = comparison(scenarios=("undisturbed",), baselines=(), slow_lap=4.0)


@pytest.fixture(scope="module")
def models(arm):
    return {"true": arm, "nominal": perturb(arm, np.random.default_rng(1))}


def motions(models, name, plan=SHORT):
    """Return the motions of a task with the nominal model behind the gains."""
    rng = np.random.default_rng(0)
    return task_motions(cell_of(models["true"]), models["nominal"], models, name, rng, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joint-ellipse-slow", "joint-step"])
def test_they_are_the_undisturbed_runs_of_the_closed_loop(models, name) -> None:
    loop = loop_of(models["true"], models["nominal"], {}, 5, SHORT)
    found = motions(models, name)
    assert (found.task.name, found.controller) == (name, loop.controller)
    for model, error in found.errors().items():
        run = loop.find(model, "undisturbed", name)
        np.testing.assert_array_equal(rms(error), run.rms_error)
        np.testing.assert_array_equal(np.abs(error).max(axis=0), run.max_error)


def test_a_path_alone_means_its_first_run(models) -> None:
    assert motions(models, "joint-ellipse").task.name == "joint-ellipse-fast"


def test_an_unknown_task_meets_the_known_ones(models) -> None:
    with pytest.raises(UnknownNameError) as caught:
        motions(models, "joint-stp")
    assert str(caught.value) == (
        "unknown task 'joint-stp' (did you mean 'joint-step'?); known: joint-ellipse-fast, "
        "joint-ellipse-slow, joint-step"
    )


class Pushing:
    """Pushes harder the more the model is wrong."""

    def __init__(self, torque: float) -> None:
        self.torque = torque

    def __call__(self, t, q, dq, setpoint):
        return np.full(q.size, self.torque)

    def reset(self) -> None:
        """Have no state."""


def test_a_loop_that_diverges_names_its_model(models) -> None:
    def pushing(model, gains):
        return Pushing(0.0 if model is models["true"] else np.inf)

    plan = replace(SHORT, controllers={"pushing": pushing})
    with pytest.raises(ControllerError, match=r"^joint-step with the nominal model: .*Pushing"):
        motions(models, "joint-step", plan)
