"""What is measured for every claim of the paper."""

import numpy as np

from robotid_sim.optim.settings import setting
from robotid_sim.optim.stability import Moving, stability
from robotid_sim.papers import statistics
from robotid_sim.papers.columns import measured_mean, measured_median
from robotid_sim.papers.rocr6.campaign import THREE, RwpsoResults
from robotid_sim.papers.rocr6.filtering import RECURSION
from robotid_sim.papers.rocr6.model import GAINS, TABLE_2
from robotid_sim.papers.rocr6.searches import CLAMP
from robotid_sim.papers.sheet import Measured, measured

DRAWS = 100_000
"""Draws of the inertia weight of eq. (15)."""
STABLE = "WLS-PSO, w = 0.7, c = 1.5"
"""The PSO with settings that are stable."""


def measurements(results: RwpsoResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    ranks = {
        "-".join(["rank", *where.replace("with ", "").split()[1:]]): measured(rank)
        for where, rank in results.ranks.items()
    }
    return {
        **ranks,
        "table-2-possible": measured(second_moment_determinant()),
        "generations-rwpso": _generations(results, "RWPSO"),
        "generations-pso": _generations(results, "PSO"),
        "rwpso-converges-faster": measured(
            *results.grid.ratio("WLS-RWPSO", "WLS-PSO", "generations", THREE)
        ),
        "search-range": _first_fitness(results),
        "training-gain": measured_mean(
            results.gains("WLS-PSO", "fitness", THREE), stable=results.above(STABLE, "WLS-RWPSO")
        ),
        "unseen-gain": _unseen_gain(results),
        "better-than-wls": measured_mean(
            results.gains("WLS", "unseen_rms", THREE).mean(axis=1),
            training=results.above("WLS-RWPSO", "WLS"),
        ),
        "known-start-weighted": _incumbent(results, ", weighted"),
        "known-start-plain": _incumbent(results, ""),
        **_weights(results),
        **{f"gain-over-{m.lower()}": _gain(results, m) for m in ("LS-PSO", "WLS-PSO")},
        "weights-help-pso": _weights_of_swarms(results),
        "rms-level": _level(results),
        "kalman-better": _kalman(results),
        "equation-11-divisor": measured(float(results.weights["divisor"])),
        "one-cost": _one_cost(results),
        "parameters-against-pso": _parameter_errors(results, "WLS-PSO"),
        "parameters-against-wls": _parameter_errors(results, "WLS"),
        "prediction-matches": _prediction(results),
        "kalman-against-raw": _kalman_data(results),
        "kalman-against-five-point": _kalman_joints(results),
        "kalman-recursion": _recursion(results),
        "stability-proof": _norms(),
        "rwpso-stable": _growth(),
        "closed-loop": _tracking(results, "nominal"),
        "closed-loop-over-pso": _tracking(results, "WLS-PSO"),
        "closed-loop-over-wls": _tracking(results, "WLS"),
    }


def second_moment_determinant() -> float:
    """Return a minor of the second moments of link 3 that no body can have below zero.

    By Table 2 alone, whatever hangs on the link: the second moments are
    Sxx = (Izz3 - Ixx3) / 2, Syy = (Izz3 + Ixx3) / 2, with the printed Ixx3 - Iyy3 as Ixx3, and
    Sxy = -Ixy3; their matrix must be positive semidefinite [kg^2 m^4].
    """
    zz, xx, xy = (TABLE_2[name] for name in ("Izz3", "Ixx3", "Ixy3"))
    return 0.5 * (zz - xx) * 0.5 * (zz + xx) - xy**2


def _generations(results: RwpsoResults, swarm: str) -> Measured:
    counts = results.three(f"WLS-{swarm}", "generations")
    return measured_median(
        counts,
        limit=CLAMP["velocity_limit"],
        wider=results.grid.median(f"WLS-{swarm}, limit 0.2", "generations", THREE),
        above=results.above("WLS-PSO", "WLS"),
    )


def _first_fitness(results: RwpsoResults) -> Measured:
    first = {m: results.three(f"WLS-{m}", "curve")[:, 0] for m in ("PSO", "RWPSO")}
    ratios = first["RWPSO"] / first["PSO"]
    interval = statistics.interval_of_mean(ratios)
    return measured_mean(ratios, least=statistics.lower_end(-np.inf, interval))


def _unseen_gain(results: RwpsoResults) -> Measured:
    gains = results.gains("WLS-PSO", "unseen_rms", THREE)
    joints = ", ".join(f"{value:.0f}" for value in gains.mean(axis=0))
    return measured_mean(gains.mean(axis=1), joints=joints)


def _incumbent(results: RwpsoResults, criterion: str) -> Measured:
    gains = {
        swarm: results.three(f"WLS-{swarm} that knows WLS{criterion}", "gain_over_start")
        for swarm in ("PSO", "RWPSO")
    }
    best = max(gains, key=lambda swarm: float(gains[swarm].max()))
    return measured(max(0.0, float(gains[best].max())), best=best, runs=gains[best].size)


def _weights(results: RwpsoResults) -> dict[str, Measured]:
    """Return the errors of weighted least squares over those without weights, by joint."""
    wls, ls = (results.weight_errors(name) for name in ("WLS", "LS"))
    ratios = {}
    for joint in range(wls.shape[1]):
        ratio, ends = _root(statistics.ratio_of_means(wls[:, joint], ls[:, joint], paired=True))
        ratios[f"weights-help-joint-{joint + 1}"] = measured(ratio, ends, draws=len(wls))
    return ratios


def _root(ratio: tuple[float, statistics.Ends]) -> tuple[float, statistics.Ends]:
    """Return the root of a ratio of squares, and that of its interval."""
    value, ends = ratio
    return float(np.sqrt(value)), None if ends is None else (
        float(np.sqrt(ends[0])),
        float(np.sqrt(ends[1])),
    )


def _one_cost(results: RwpsoResults) -> Measured:
    """Return the gain of WLS-RWPSO over WLS-PSO on unseen motion with weighted residuals."""
    pso, rwpso = (
        results.weighted.values(f"WLS-{m}, weighted", "unseen_rms") for m in ("PSO", "RWPSO")
    )
    gains = 100.0 * (1.0 - rwpso / pso).mean(axis=1)
    plain = results.gains("WLS-PSO", "unseen_rms", THREE).mean()
    return measured_mean(gains, plain=float(plain))


def _parameter_errors(results: RwpsoResults, method: str) -> Measured:
    ours, other = ((results.parameter_errors(m) ** 2).mean(axis=1) for m in ("WLS-RWPSO", method))
    worst = float(np.sqrt(ours.mean()))
    return measured(*_root(statistics.ratio_of_means(ours, other, paired=True)), deviations=worst)


def _prediction(results: RwpsoResults) -> Measured:
    """Return the share of the measured torque that WLS-RWPSO leaves, and the nominal model [%]."""
    torque, nominal = (np.array(results.filtered[name]) for name in ("torque", "nominal"))
    left = 100.0 * (results.six("WLS-RWPSO", "measured_rms") / torque).mean(axis=1)
    return measured_mean(left, nominal=100.0 * float((nominal / torque).mean()))


def _kalman_data(results: RwpsoResults) -> Measured:
    """Return the torque error of estimates from Kalman data over that from raw data."""
    totals = {
        name: _total(results.filtered_errors(name)) for name in ("raw", "five-point", "Kalman")
    }
    ratio = statistics.ratio_of_means(totals["Kalman"], totals["raw"], paired=True)
    return measured(
        *ratio,
        five_point=float(totals["five-point"].mean() / totals["raw"].mean()),
        runs=totals["raw"].size,
    )


def _total(errors: np.ndarray) -> np.ndarray:
    """Return the RMS over the joints of every run."""
    return np.asarray(np.sqrt((errors**2).mean(axis=1)))


def _kalman_joints(results: RwpsoResults) -> Measured:
    kalman, cubic = (results.filtered_errors(name) for name in ("Kalman", "five-point"))
    ratios = [
        statistics.ratio_of_means(kalman[:, j], cubic[:, j], paired=True)
        for j in range(kalman.shape[1])
    ]
    better = sum(statistics.upper_end(value, ends) < 1.0 for value, ends in ratios)
    total = statistics.ratio_of_means(_total(kalman), _total(cubic), paired=True)
    return measured(
        better,
        ratios=", ".join(f"{value:.2f}" for value, _ in ratios),
        total=total[0],
        runs=len(kalman),
    )


def _recursion(results: RwpsoResults) -> Measured:
    recursive = results.filtered_errors(RECURSION)
    steady = results.filtered_errors("Kalman")[: len(recursive)]
    change = 100.0 * np.abs(_total(recursive) / _total(steady) - 1.0).max()
    return measured(float(change), samples=int(np.max(results.filtered["transients"])))


def _norms() -> Measured:
    """Return the share of draws in which the matrix C of eq. (17) has a norm below one [%].

    As printed, and with the row that the update has; pulls of the paper, weights of eq. (15).
    """
    rng = np.random.default_rng(0)
    theta = 1.5 * rng.random(DRAWS) + 3.0 * rng.random(DRAWS)
    w = 0.5 + 0.4 * rng.random(DRAWS) + 0.2 * rng.standard_normal(DRAWS)
    printed = np.stack([np.stack([w, -theta], -1), np.stack([w, -theta], -1)], -2)
    right = np.stack([np.stack([w, -theta], -1), np.stack([w, 1.0 - theta], -1)], -2)
    shares = [
        100.0 * float((np.linalg.norm(C, 2, axis=(1, 2)) < 1.0).mean()) for C in (printed, right)
    ]
    return measured(shares[0], corrected=shares[1])


def _growth() -> Measured:
    """Return the growth of the spread of a particle a step, its mean's, and that of the PSO."""
    swarms = [setting(f"tang-2023-{name}").build() for name in ("rwpso", "pso")]
    ours, pso = (stability(swarm) for swarm in swarms if isinstance(swarm, Moving))
    return measured(
        float(ours.order2.max()), mean=float(ours.order1.max()), pso=float(pso.order2.max())
    )


def _tracking(results: RwpsoResults, model: str) -> Measured:
    """Return the tracking error with the model of WLS-RWPSO over that with another one."""
    ours, other, wls, true = (
        results.tracking_errors(m) for m in ("WLS-RWPSO", model, "WLS", "true")
    )
    ratio = (
        statistics.ratio_of_means(ours, other, paired=True)
        if other.size == ours.size
        else (float(ours.mean() / other[0]), _scaled(statistics.interval_of_mean(ours), other[0]))
    )
    return measured(
        *ratio,
        wls=float(wls.mean() / other.mean()),
        error=1e3 * float(ours.mean()),
        other=1e3 * float(other.mean()),
        true=1e3 * float(true.mean()),
        runs=ours.size,
    )


def _scaled(ends: statistics.Ends, scale: float) -> statistics.Ends:
    return None if ends is None else (ends[0] / scale, ends[1] / scale)


def _gain(results: RwpsoResults, method: str) -> Measured:
    """Measure the gains in RMS by joint over those of Table 3, their median."""
    gains, printed = results.gains(method), np.array([GAINS[j][method] for j in sorted(GAINS)])
    ends = [statistics.interval_of_mean(of_joint) for of_joint in gains.T]
    positive = sum(of is not None and of[0] > 0.0 for of in ends)
    listed, wls, shown = (
        ", ".join(f"{gain:.2g}" for gain in of)
        for of in (gains.mean(axis=0), results.gains("WLS").mean(axis=0), printed)
    )
    order = f"the order is significant on {positive} joints"
    share = float(np.median(gains.mean(axis=0) / printed))
    return measured(share, order=order, gains=listed, printed=shown, wls=wls)


def _weights_of_swarms(results: RwpsoResults) -> Measured:
    ls, wls = (results.six(m, "measured_rms").mean(axis=0) for m in ("LS-PSO", "WLS-PSO"))
    gains = 100.0 * (1.0 - wls / ls)
    return measured(int((gains > 0.0).sum()), gains=", ".join(f"{g:.2g}" for g in gains))


def _level(results: RwpsoResults) -> Measured:
    ours = results.six("WLS-RWPSO", "measured_rms").mean(axis=1)
    model_error = float(results.six("WLS-RWPSO", "true_rms").mean())
    return measured_mean(ours, model_error=model_error)


def _kalman(results: RwpsoResults) -> Measured:
    kalman, cubic = (results.filter_errors(f, "smooth") for f in ("Kalman", "five-point"))
    lag = results.filter_errors("Kalman", "reversals").mean(axis=0) / kalman.mean(axis=0)
    return measured_mean((kalman / cubic).mean(axis=1), lag=lag.max())
