"""Terms of joints by default: where they predict better than functions of the state."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.predict import predict


def study_of(robot: str, law: str) -> tuple[Setup, list[Log]]:
    """Return a study of an arm with a law of friction, a log to learn from and another one."""
    friction = {"experiment": {"friction": {"law": law}}, "control": {"enabled": False}}
    setup = build_setup(robot, load_config(None, friction))
    rng = np.random.default_rng(0)
    design = design_excitation(setup.nominal, setup.basis, setup.excitation, rng)
    logs = []
    with setup.cell.open() as plant:
        for path in (design.trajectories[0], setup.unseen):
            clean = rollout(plant, setup.cell.controller, path)
            logs.append(replace(measure(clean, setup.cell.sensors, rng), truth=None))
    return setup, logs


def test_a_sound_robot_has_no_terms():
    setup, (log, _) = study_of("twolink", "smooth-coulomb")
    plain = identify(log, setup.nominal, basis=setup.basis, terms="none")
    fit = identify(log, setup.nominal, basis=setup.basis)
    assert fit.structure.terms == ()
    np.testing.assert_array_equal(fit.chosen.beta, plain.chosen.beta)


def test_springs_become_terms():
    setup, (log, _) = study_of("twolink", "spring")
    fit = identify(log, setup.nominal, basis=setup.basis)
    assert {(term.kind, term.joint) for term in fit.structure.robot_terms()} == {
        ("spring", "joint_1"),
        ("spring", "joint_2"),
    }
    assert fit.discrepancy.unmodeled == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "part", "constant", "share"),
    [("stribeck", 0.3, 0.1, 1.0), ("presliding", 1.0, 5e-3, 0.7)],
)
def test_friction_that_functions_of_the_state_do_not_hold_becomes_terms(law, part, constant, share):
    """Friction that falls with speed looks like another eps, one that builds up like a delay."""
    setup, (log, other) = study_of("irb140", law)
    fits = [identify(log, setup.nominal, basis=setup.basis, terms=t) for t in ("auto", "none")]
    friction = {joint.name: joint.friction for joint in setup.cell.plant.joints}
    terms = fits[0].structure.robot_terms()
    assert len(terms) >= 3
    for term in terms:
        assert term.kind == law
        assert term.values[0] == pytest.approx(part * friction[term.joint].Fc, rel=0.05)
        assert term.shape == pytest.approx(constant, rel=0.05)
    ours, plain = (
        predict(fit, other, setup.nominal, force=True).prediction.torque_rms for fit in fits
    )
    assert (ours <= 1.02 * plain).all()
    assert ours.sum() < share * plain.sum()
