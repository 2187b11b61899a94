"""The smoother against a textbook one, its gain in closed form, its corner by likelihood."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner

ALL_ROWS = Rows(cutoff=5.0, rate=10.0, tail=0.0, edge=0.0)


def log_of(q, dt, offset=0.0):
    q = np.atleast_2d(q).T if np.ndim(q) == 1 else q
    names = tuple(f"joint_{j}" for j in range(q.shape[1]))
    t = np.arange(len(q)) * dt
    return Log(t, q, np.zeros_like(q), names, ("rad",) * len(names), torque_time_offset=offset)


def textbook_smoother(z, h, corner, offset):
    """Return the RTS-smoothed states by the formulas of the textbook, with matrices throughout.

    Kalman filter in Joseph form, then x_s = x + P F^T P_pred^-1 (x_s' - x_pred').
    """
    lam = h * (2.0 * np.pi * corner) ** 6
    F = np.array([[1.0, h, h**2 / 2.0], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    Q = lam * np.array(
        [
            [h**5 / 20.0, h**4 / 8.0, h**3 / 6.0],
            [h**4 / 8.0, h**3 / 3.0, h**2 / 2.0],
            [h**3 / 6.0, h**2 / 2.0, h],
        ]
    )
    H = np.array([[1.0, -offset, offset**2 / 2.0]])
    x, P = np.array([z[0], 0.0, 0.0]), np.diag([1e4, 1e10, 1e12])
    filtered = []
    for k, value in enumerate(z):
        if k:
            x, P = F @ x, F @ P @ F.T + Q
        x_pred, P_pred = x, P
        S = (H @ P @ H.T).item() + 1.0
        K = P @ H.T / S
        x = x + K[:, 0] * (value - (H @ x).item())
        rest = np.eye(3) - K @ H
        P = rest @ P @ rest.T + K @ K.T
        filtered.append((x_pred, P_pred, x, P))
    smoothed = [filtered[-1][2]]
    for k in range(len(z) - 2, -1, -1):
        x_pred, P_pred, _, _ = filtered[k + 1]
        _, _, x, P = filtered[k]
        smoothed.append(x + P @ F.T @ np.linalg.solve(P_pred, smoothed[-1] - x_pred))
    return np.array(smoothed[::-1])


@pytest.mark.parametrize("offset", [0.0, 4e-3])
@pytest.mark.parametrize("corner", [0.8, 3.0, 12.0])
def test_smoother_is_the_textbook_one(arm, corner, offset):
    h, rng = 1e-2, np.random.default_rng(0)
    t = np.arange(300) * h
    z = np.sin(3.0 * t) + 0.3 * np.cos(8.0 * t) + 1e-3 * rng.standard_normal(t.size)
    motion = RtsSmoother(corners=(corner,), rows=ALL_ROWS)(log_of(z, h, offset), arm)
    wanted = textbook_smoother(z, h, corner, offset)
    # The diffuse start of 1e12 times the noise variance leaves some eight digits to both.
    for k, name in enumerate(("q", "dq", "ddq")):
        scale = np.abs(wanted[:, k]).max()
        error = np.abs(getattr(motion, name)[:, 0] - wanted[:, k]).max()
        assert error < 1e-8 * scale, name


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.3])
def test_steady_gain_is_that_of_a_butterworth_of_order_three(arm, share):
    corner, dt = 5.0, 1e-3
    t = np.arange(20_000) * dt
    w = 2.0 * np.pi * share * corner
    motion = RtsSmoother(corners=(corner,))(log_of(np.sin(w * t), dt), arm)
    middle = slice(5000, 15_000)  # 25 time constants from both ends
    waves = np.column_stack([np.sin(w * t[middle]), np.cos(w * t[middle])])
    in_phase, shifted = np.linalg.lstsq(waves, motion.q[middle, 0], rcond=None)[0]
    gain = 1.0 / (1.0 + share**6)
    within = 0.01  # the closed form is for a sample time far below 1/corner
    assert in_phase == pytest.approx(gain, rel=within)
    assert abs(shifted) < within * gain


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
def test_likelihood_finds_the_encoder_noise_of_simulated_motion(experiment, irb140, noise):
    log = experiment(irb140).log
    noisy = EncoderNoise(revolute=noise)(log, np.random.default_rng(0))
    found = [likelihood_corner(z, noisy)[1] for z in noisy.q.T]
    # The motion is not a random jerk; 1 % was measured (calibration.md section 2).
    np.testing.assert_allclose(found, noise, rtol=0.05)


def test_corners_fall_as_the_noise_rises(experiment, irb140):
    log = experiment(irb140).log
    corners = []
    for noise in (1e-5, 1e-4, 1e-3):
        noisy = EncoderNoise(revolute=noise)(log, np.random.default_rng(0))
        corners.append([likelihood_corner(z, noisy)[0] for z in noisy.q.T[::3]])
    assert (np.diff(corners, axis=0) < 0.0).all()


def test_corner_is_that_of_largest_likelihood_for_a_random_jerk():
    rng = np.random.default_rng(0)
    dt, corner, noise = 1e-2, 4.0, 1e-3
    jerk = (
        noise * (2.0 * np.pi * corner) ** 3 * rng.standard_normal(20_000)
    )  # per step, r = noise^2
    ddq = np.cumsum(jerk) * dt
    dq = np.cumsum(ddq) * dt
    q = np.cumsum(dq) * dt + noise * rng.standard_normal(ddq.size)
    found, encoder = likelihood_corner(q, log_of(q, dt))
    assert found == pytest.approx(corner, rel=0.05)  # 20,000 samples determine it to about 1 %
    assert encoder == pytest.approx(noise, rel=0.03)


def test_factor_multiplies_the_corner_of_largest_likelihood(experiment, arm):
    virtual = experiment(arm)
    noisy = EncoderNoise()(virtual.log, np.random.default_rng(0))
    likely = np.array([likelihood_corner(z, noisy)[0] for z in noisy.q.T])
    for factor in (1.0, 3.0):
        tuned = RtsSmoother(corner_factor=factor).tuned(noisy, virtual.nominal)
        np.testing.assert_allclose(tuned.corners, factor * likely, rtol=1e-12)
    default = RtsSmoother().tuned(noisy, virtual.nominal)
    np.testing.assert_allclose(default.corners, 2.0 * likely, rtol=1e-12)


def test_fixed_corners_are_taken_as_they_are(experiment, arm):
    virtual = experiment(arm)
    fixed = RtsSmoother(corners=(10.0, 20.0), corner_factor=7.0)
    assert fixed.tuned(virtual.log, virtual.nominal) is fixed


def test_motion_is_that_of_the_torque_time():
    dt, offset, w = 1e-3, 3.75e-4, 2.0 * np.pi * 0.5
    t = np.arange(10_000) * dt
    log = log_of(np.sin(w * t), dt, offset)
    motion = RtsSmoother(corners=(50.0,))(log, None)
    middle = slice(1000, -1000)
    late = t[middle] + offset
    # The smoother itself loses (0.5/50)^6 = 1e-12 of the wave; the rest is rounding, which the
    # corner of 50 Hz amplifies by some 300 per derivative. Without the offset q errs by 1e-3.
    assert np.abs(motion.q[middle, 0] - np.sin(w * late)).max() < 1e-9
    assert np.abs(motion.dq[middle, 0] - w * np.cos(w * late)).max() < 1e-8
    assert np.abs(motion.ddq[middle, 0] + w**2 * np.sin(w * late)).max() < 1e-6
    assert np.abs(motion.q[middle, 0] - np.sin(w * t[middle])).max() > 1e-3


def test_constant_acceleration_passes_unchanged(arm):
    t = np.arange(3000) * 1e-2
    log = log_of(0.2 - 0.5 * t + 0.05 * t**2, 1e-2)
    motion = RtsSmoother(corners=(2.0,))(log, arm)
    # Eight digits remain of the diffuse start; positions reach 30 rad.
    np.testing.assert_allclose(motion.q, log.q, atol=1e-6)
    np.testing.assert_allclose(motion.dq[:, 0], -0.5 + 0.1 * t, atol=1e-6)
    np.testing.assert_allclose(motion.ddq, 0.1, atol=1e-6)


def test_joints_are_smoothed_alone(arm):
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.standard_normal((3000, 3)) * 1e-3, axis=0)
    corners = (3.0, 10.0, 25.0)
    together = RtsSmoother(corners=corners)(log_of(q, 1e-3), arm)
    for j in range(3):
        alone = RtsSmoother(corners=corners[j : j + 1])(log_of(q[:, j], 1e-3), arm)
        np.testing.assert_array_equal(together.ddq[:, j], alone.ddq[:, 0])


def test_every_joint_needs_a_corner(arm):
    with pytest.raises(OptionError, match="2 corners for 1 joints"):
        RtsSmoother(corners=(1.0, 2.0))(log_of(np.zeros(3000), 1e-3), arm)


@pytest.mark.parametrize(
    "options",
    [
        {"corner_factor": 0.0},
        {"corner_factor": -1.0},
        {"corner_factor": float("nan")},
        {"corners": (1.0, 0.0)},
        {"corners": (float("nan"),)},
    ],
)
def test_corners_must_be_positive(options):
    with pytest.raises(OptionError, match="must be positive"):
        RtsSmoother(**options)
