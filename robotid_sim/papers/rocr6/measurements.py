"""What is measured for every claim of the paper."""

import numpy as np

from robotid_sim.model import parameters
from robotid_sim.papers import statistics
from robotid_sim.papers.rocr6.campaign import THREE, RwpsoResults
from robotid_sim.papers.rocr6.model import GAINS, TABLE_2
from robotid_sim.papers.rocr6.searches import CLAMP
from robotid_sim.papers.sheet import Measured, measured, measured_mean, measured_median

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
        **{
            f"gain-{joint}-over-{method.lower()}": _gain(results, joint, method)
            for joint in GAINS
            for method in GAINS[joint]
        },
        "weights-help-pso": _weights_of_swarms(results),
        "rms-level": _level(results),
        "kalman-better": _kalman(results),
        "equation-15": _printed_weights(results),
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
    basis, joints = results.arm.basis, results.arm.robot.dof
    owners = np.array(parameters.owners(joints))[basis.columns]
    squares = {m: results.parameter_errors(m) ** 2 for m in ("LS", "WLS")}
    ratios = {}
    for joint in range(joints):
        wls, ls = (squares[m][:, owners == joint].mean(axis=1) for m in ("WLS", "LS"))
        interval = statistics.interval_of_ratio(wls, ls, paired=True)
        ends = None if interval is None else (np.sqrt(interval[0]), np.sqrt(interval[1]))
        ratio = float(np.sqrt(wls.mean() / ls.mean()))
        name = f"weights-help-joint-{joint + 1}"
        ratios[name] = measured(ratio, ends, most=statistics.upper_end(np.inf, ends))
    return ratios


def _gain(results: RwpsoResults, joint: int, method: str) -> Measured:
    gains, over_wls = (results.gains(m)[:, joint - 1] for m in (method, "WLS"))
    interval, mean = statistics.interval_of_mean(gains), float(gains.mean())
    positive = mean > 0.0 and statistics.lower_end(mean, interval) > 0.0
    order = "The order holds" if positive else "The order is not significant"
    return measured(mean, interval, order=order, wls=float(over_wls.mean()))


def _weights_of_swarms(results: RwpsoResults) -> Measured:
    ls, wls = (results.six(m, "measured_rms").mean(axis=0) for m in ("LS-PSO", "WLS-PSO"))
    gains = 100.0 * (1.0 - wls / ls)
    return measured(int((gains > 0.0).sum()), gains=", ".join(f"{g:.2g}" for g in gains))


def _level(results: RwpsoResults) -> Measured:
    ours = results.six("WLS-RWPSO", "measured_rms").mean(axis=1)
    model_error = float(results.six("WLS-RWPSO", "true_rms").mean())
    return measured_mean(ours, model_error=model_error, share=model_error / float(ours.mean()))


def _kalman(results: RwpsoResults) -> Measured:
    kalman, cubic = (results.filter_errors(f, "smooth") for f in ("Kalman", "five-point"))
    lag = results.filter_errors("Kalman", "reversals").mean(axis=0) / kalman.mean(axis=0)
    return measured_mean((kalman / cubic).mean(axis=1), lag=lag.max())


def _printed_weights(results: RwpsoResults) -> Measured:
    rng = np.random.default_rng(0)
    weights = 0.9 + rng.random(DRAWS) + 0.2 * rng.standard_normal(DRAWS)
    worse = results.above("WLS-RWPSO, eq. (15) as printed", "WLS-RWPSO")
    share = 100.0 * float((weights > 1.0).mean())
    return measured(share, mean=weights.mean(), worse=worse)
