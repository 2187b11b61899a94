"""``robotid identify`` refuses a damaged log, even one that leaves small residuals."""

from dataclasses import replace

import pytest
from damages import damages
from measured import measured

from robotid_sim.measurement.files import save_log

DAMAGES = {damage.name: damage for damage in damages(6, 2, (1, 2))}


@pytest.fixture(scope="module")
def log(irb140):
    """The log of an industrial arm, as if of a machine."""
    return replace(measured(irb140).log, origin="machine", truth=None)


@pytest.fixture
def identify(robotid, tmp_path):
    """Return a function that identifies from a log."""

    def run(log):
        save_log(log, tmp_path / "log.h5")
        words = ("-o", tmp_path / "e.json", "--estimator", "consistent")
        return robotid("identify", "irb140", tmp_path / "log.h5", *words)

    return run


def test_the_fit_of_a_sound_log_is_not_in_doubt(identify, log):
    done = identify(log)
    assert (done.code, "WARNING" in done.out) == (0, False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all torque signs", "all measured torques have the wrong sign"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("all motor side", "multiply their columns by gear ratio or torque constant"),
                ("zero", "joint_3: the zero of the position is off by 90 deg; add -1.570796 rad"),
                ("late", "correct the time stamps"),
            )
        ),
    ],
)
def test_a_damaged_log_is_refused_with_its_remedy(identify, log, name, words):
    done = identify(DAMAGES[name].change(log))
    assert done.code == 2
    assert words in done.err


@pytest.mark.slow
def test_coupled_motors_may_be_the_robot_s_and_leave_the_fit_in_doubt(identify, log):
    done = identify(DAMAGES["coupled"].change(log))
    assert done.code == 1
    text = " ".join(done.out.split())
    assert "their motors are coupled; map motors to joints" in text
