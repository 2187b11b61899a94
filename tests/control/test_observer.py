"""The velocity observer: exact with the right model, quiet with noise, patient with losses."""

import numpy as np
import pytest

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.tasks.path import Lap, tracking_path

RATE = 1000.0


@pytest.fixture(scope="module")
def log(arm):
    """A lap of the small arm, with true state and applied torque."""
    with Plant(arm) as plant:
        return rollout(plant, ComputedTorque(arm), Lap(tracking_path(arm), 3.0))


def observed(log, observer, noise=0.0, seed=0, lost=0.0):
    """Return velocity errors of an observer that runs beside a log, shape (N, n)."""
    rng = np.random.default_rng(seed)
    observer.reset(log.q[0], log.truth.dq[0])
    errors, velocity = np.empty(log.q.shape), true_velocity(log)
    for k, q in enumerate(log.q):
        y = None if rng.random() < lost else q + noise * rng.standard_normal(q.size)
        _, dq = observer.correct(y)
        errors[k] = dq - velocity[k]
        observer.predict(log.truth.tau[k])
    return errors


def true_velocity(log):
    """Velocity at the start of every sample; the log's is that of the first half sub-step."""
    return log.truth.dq - 0.125e-3 * log.truth.ddq


def test_the_right_model_predicts_without_correction(arm, log):
    blind = observed(log, VelocityObserver(arm, RATE, 1.0), lost=1.0)
    # The plant takes four sub-steps where the observer takes one: 1e-5 of the velocity in a second.
    assert np.abs(blind[:1000]).max() < 1e-4 * np.abs(true_velocity(log)).max()


def test_a_wrong_model_is_corrected(arm, log):
    heavy = arm.with_payload(0.5)
    errors = observed(log, VelocityObserver(heavy, RATE, 100.0))
    blind = observed(log, VelocityObserver(heavy, RATE, 100.0), lost=1.0)
    assert np.abs(errors[200:]).max() < 0.02 * np.abs(true_velocity(log)).max()
    assert np.abs(blind).max() > 10.0 * np.abs(errors).max()


@pytest.mark.parametrize("bandwidth", [50.0, 100.0, 200.0])
def test_velocity_noise_is_as_the_gains_say(arm, log, bandwidth):
    sigma = 1e-4
    errors = observed(log, VelocityObserver(arm, RATE, bandwidth), noise=sigma)
    # Stationary covariance of the linear filter: P = A P A' + sigma^2 g g', A of the error.
    z = np.exp(-bandwidth / RATE)
    gains = np.array([1 - z**3, 1.5 * RATE * (1 - z**2) * (1 - z), RATE**2 * (1 - z) ** 3])
    dt = 1.0 / RATE
    step = np.array([[1.0, dt, 0.5 * dt**2], [0.0, 1.0, dt], [0.0, 0.0, 1.0]])
    A = step @ (np.eye(3) - np.outer(gains, [1.0, 0.0, 0.0]))
    P, drive = np.zeros((3, 3)), sigma**2 * step @ np.outer(gains, gains) @ step.T
    for _ in range(5000):
        P = A @ P @ A.T + drive
    # That is a free mass; gravity and friction of the arm matter at the lowest bandwidth.
    found = errors[200:].std(axis=0)
    assert (found < 1.6 * np.sqrt(P[1, 1])).all()
    assert (found > 0.4 * np.sqrt(P[1, 1])).all()
    assert (found < 0.1 * np.sqrt(2.0) * sigma * RATE).all()  # differences of samples


def test_lost_samples_cost_little(arm, log):
    full = observed(log, VelocityObserver(arm, RATE, 100.0), noise=1e-4)
    half = observed(log, VelocityObserver(arm, RATE, 100.0), noise=1e-4, lost=0.5)
    assert half.std() < 2.0 * full.std()


def test_reset_forgets(arm, log):
    observer = VelocityObserver(arm, RATE, 100.0)
    one = observed(log, observer, noise=1e-4)
    two = observed(log, observer, noise=1e-4)
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, 4000.0, float("nan")])
def test_a_bandwidth_beyond_the_samples_is_refused(arm, bandwidth):
    with pytest.raises(OptionError, match="observer bandwidth"):
        VelocityObserver(arm, RATE, bandwidth)
