"""Every update against a loop over particles and coordinates that is written from its equation.

The loops draw the same arrays of random numbers and do the rest one number at a time."""

from itertools import islice
from math import cos, exp, pi, sqrt

import numpy as np
import pytest
from standard_functions import sphere

from robotid_sim.optim.optimizer import OPTIMIZERS

LOWER, UPPER = np.array([-1.0, 2.0, -30.0]), np.array([2.0, 5.0, 10.0])
WIDTH, DIM, COUNT, BUDGET = UPPER - LOWER, 3, 6, 400
BATCHES = 25
ROUNDING = 1e-12
"""Relative; sums are taken in another order."""


def cost(x):
    """A cost of one point whose minimum lies on a wall."""
    z = (x - LOWER) / WIDTH
    return (z[0] - 0.3) ** 2 + 3.0 * (z[1] - 0.8 * z[0]) ** 2 + (z[2] + 0.1) ** 2


class Memories:
    """Own best points and the best of all."""

    def __init__(self, x):
        self.p, self.fp = [row.copy() for row in x], [np.inf] * len(x)
        self.g, self.fg = x[0].copy(), np.inf

    def update(self, x):
        """Learn the costs of the points; return who has improved."""
        better = [False] * len(x)
        for i, row in enumerate(x):
            f = cost(row)
            if f < self.fp[i]:
                self.p[i], self.fp[i], better[i] = row.copy(), f, True
        first = int(np.argmin(self.fp))
        if self.fp[first] < self.fg:
            self.g, self.fg = self.p[first].copy(), self.fp[first]
        return better


def clamp(v, limit):
    return max(-limit, min(limit, v))


def step_and_absorb(x, v, i, j, step):
    """Move a coordinate by a step; at a wall it stops."""
    moved = x[i, j] + step
    if not LOWER[j] <= moved <= UPPER[j]:
        moved, v[i, j] = clamp_to(moved, LOWER[j], UPPER[j]), 0.0
    x[i, j] = moved


def clamp_to(x, low, high):
    return max(low, min(high, x))


def scattered(rng, count=COUNT):
    return LOWER + WIDTH * rng.random((count, DIM))


def swarm_of(coefficients, limit):
    """Return the loop of a swarm; `coefficients` gives w, c1, c2 of a particle."""

    def loop(rng):
        x = scattered(rng)
        v, best, told = np.zeros_like(x), Memories(x), 0
        while True:
            yield x.copy()
            best.update(x)
            told += COUNT
            of = coefficients(told / BUDGET, rng)
            r1, r2 = rng.random((2, COUNT, DIM))
            for i in range(COUNT):
                w, c1, c2 = of(i)
                for j in range(DIM):
                    pull = c1 * r1[i, j] * (best.p[i][j] - x[i, j])
                    pull += c2 * r2[i, j] * (best.g[j] - x[i, j])
                    v[i, j] = clamp(w * v[i, j] + pull, limit * WIDTH[j])
                    step_and_absorb(x, v, i, j, v[i, j])

    return loop


def constant_inertia(s, rng):
    return lambda i: (0.7298, 1.49618, 1.49618)


def linear_inertia(s, rng):
    return lambda i: (0.9 - 0.5 * s, 2.0, 2.0)


def constriction(s, rng):
    chi = 2.0 / abs(2.0 - 4.1 - sqrt(4.1**2 - 4.0 * 4.1))
    return lambda i: (chi, chi * 2.05, chi * 2.05)


def random_inertia(lowest, spread):
    def coefficients(s, rng):
        rho, nu = rng.random((COUNT, 1)), rng.standard_normal((COUNT, 1))
        return lambda i: (lowest + spread * rho[i, 0] + 0.2 * nu[i, 0], 1.5, 1.5)

    return coefficients


def mutating(s, rng):
    n, m = 0.6 / 2.1, 1.8 / 3.9  # eq. (3)-(4) with the end of the budget for the iteration
    return lambda i: (2.1 * n**s, 1.344, 1.08 / m**s)


def delta_well(rng):
    x, told = scattered(rng), 0
    best = Memories(x)
    while True:
        yield x.copy()
        best.update(x)
        told += COUNT
        alpha = 1.0 - 0.5 * told / BUDGET
        share, jump = rng.random((COUNT, DIM)), rng.laplace(size=(COUNT, DIM))
        for i in range(COUNT):
            for j in range(DIM):
                mean = sum(p[j] for p in best.p) / COUNT
                well = share[i, j] * best.p[i][j] + (1.0 - share[i, j]) * best.g[j]
                moved = well + alpha * abs(mean - x[i, j]) * jump[i, j]
                x[i, j] = clamp_to(moved, LOWER[j], UPPER[j])


def qubits(rng):
    share = rng.random((COUNT, DIM))
    angle, v, told = np.arccos(np.sqrt(share)), np.zeros((COUNT, DIM)), 0
    p, fp, g, fg = angle.copy(), [np.inf] * COUNT, angle[0].copy(), np.inf
    while True:
        x = np.array([[LOWER[j] + WIDTH[j] * cos(a[j]) ** 2 for j in range(DIM)] for a in angle])
        yield x
        for i in range(COUNT):
            if cost(x[i]) < fp[i]:
                p[i], fp[i] = angle[i], cost(x[i])
        if min(fp) < fg:
            g, fg = p[int(np.argmin(fp))].copy(), min(fp)
        told += COUNT
        r1, r2 = rng.random((2, COUNT, DIM))
        for i in range(COUNT):
            for j in range(DIM):
                pull = 2.0 * r1[i, j] * (p[i, j] - angle[i, j])
                pull += 2.0 * r2[i, j] * (g[j] - angle[i, j])
                v[i, j] = clamp((0.99 - 0.59 * told / BUDGET) * v[i, j] + pull, 0.1)
                moved = angle[i, j] + v[i, j]
                if not 0.0 <= moved <= pi / 2.0:
                    moved, v[i, j] = clamp_to(moved, 0.0, pi / 2.0), 0.0
                angle[i, j] = moved


def beetles(sign):
    """Return the loop of a beetle swarm that goes to the better whisker for sign -1."""

    def loop(rng):
        x = scattered(rng)
        v, best = np.zeros_like(x), Memories(x)
        while True:
            moving = v.any()
            left = np.clip(x + v * 0.025 / 2.0, LOWER, UPPER)
            right = np.clip(x - v * 0.025 / 2.0, LOWER, UPPER)
            yield np.concatenate([x, left, right]) if moving else x.copy()
            best.update(x)
            slope = [np.sign(cost(a) - cost(b)) for a, b in zip(left, right, strict=True)]
            r1, r2 = rng.random((2, COUNT, DIM))
            for i in range(COUNT):
                for j in range(DIM):
                    own = sign * 0.05 * v[i, j] * (slope[i] if moving else 0.0)
                    pull = 1.49618 * r1[i, j] * (best.p[i][j] - x[i, j])
                    pull += 1.49618 * r2[i, j] * (best.g[j] - x[i, j])
                    v[i, j] = clamp(0.7298 * v[i, j] + pull, 0.2 * WIDTH[j])
                    step_and_absorb(x, v, i, j, 0.9 * v[i, j] + 0.1 * own)

    return loop


def annealed_beetles(rng):
    """SEDSABSO in its corrected form; COUNT is the population that the schedule is relative to."""
    mean = np.mean([round(COUNT * 0.9 * 3.0 ** (-t / 1000)) for t in range(1, 1001)])
    most, t, T = round(BUDGET / (3.0 * mean + 3)), 1, 1e4
    x = scattered(rng, round(COUNT * 0.9 * 3.0 ** (-1.0 / most)))
    v, best = np.zeros_like(x), Memories(x)
    while True:
        moving = v.any()
        left = np.clip(x + v * 0.025 / 2.0, LOWER, UPPER)
        right = np.clip(x - v * 0.025 / 2.0, LOWER, UPPER)
        yield np.concatenate([x, left, right]) if moving else x.copy()
        best.update(x)
        slope = [np.sign(cost(a) - cost(b)) for a, b in zip(left, right, strict=True)]
        now, f = best.g, best.fg
        for _ in range(3):
            shift = 2.0 * rng.random(DIM) - 1.0
            other = np.clip(now + 0.05 * shift * WIDTH, LOWER, UPPER)
            yield other[None, :]
            rise = cost(other) - f
            if cost(other) < best.fg:
                best.g, best.fg = other, cost(other)
            if rise <= 0.0 or exp(-rise / T) > 1.0 - rng.random():
                now, f = other, cost(other)
        T *= 0.93
        r1, r2 = rng.random((2, *x.shape))
        for i in range(len(x)):
            for j in range(DIM):
                own = -0.05 * v[i, j] * (slope[i] if moving else 0.0)
                pull = 1.49618 * r1[i, j] * (best.p[i][j] - x[i, j])
                pull += 1.49618 * r2[i, j] * (best.g[j] - x[i, j])
                v[i, j] = clamp(0.7298 * v[i, j] + pull, 0.2 * WIDTH[j])
                step_and_absorb(x, v, i, j, 0.9 * v[i, j] + 0.1 * own)
        t += 1
        while len(x) > round(COUNT * 0.9 * 3.0 ** (-t / most)):
            worst = int(np.argmax(best.fp))
            x, v = np.delete(x, worst, axis=0), np.delete(v, worst, axis=0)
            del best.p[worst], best.fp[worst]


def pid(literal):
    """Return the loop of ELPIDSO with patience 2."""
    return lambda rng: pid_loop(rng, literal)


def pid_loop(rng, literal):
    x, told = scattered(rng), 0
    v, best = np.zeros_like(x), Memories(x)
    total, last = np.zeros_like(x), np.zeros_like(x)
    teacher = [[i] * DIM for i in range(COUNT)]
    waited = [0] * COUNT
    learning = [0.05 + 0.45 * (exp(2.0 * i) - 1.0) / (exp(10.0) - 1.0) for i in range(COUNT)]
    while True:
        yield x.copy()
        before = best.fg
        better = best.update(x)
        told += COUNT
        waited = [0 if b else n + 1 for b, n in zip(better, waited, strict=True)]
        if best.fg < before:
            k, j = int(rng.integers(COUNT)), int(rng.integers(DIM))
            mutant = best.g.copy()
            if k != int(np.argmin(best.fp)):
                mutant[j] = best.p[k][j]
            else:
                sigma = 1.0 - 0.9 * told / BUDGET
                mutant[j] += WIDTH[j] * sigma * rng.standard_normal()
            mutant = np.clip(mutant, LOWER, UPPER)
            yield mutant[None, :]
            told += 1
            if cost(mutant) < best.fg:
                best.g, best.fg = mutant, cost(mutant)
        stuck = [i for i in range(COUNT) if waited[i] >= 2]
        if stuck:
            one, two = rng.integers(COUNT, size=(2, len(stuck), DIM))
            chance = rng.random((len(stuck), DIM))
            forced = rng.integers(DIM, size=len(stuck))
            for k, i in enumerate(stuck):
                learns = [chance[k, j] < learning[i] for j in range(DIM)]
                if not any(learns):
                    learns[forced[k]] = True
                for j in range(DIM):
                    a, b = one[k, j], two[k, j]
                    elite = a if best.fp[a] < best.fp[b] else b
                    teacher[i][j] = elite if learns[j] else i
                waited[i] = 0
        s = told / BUDGET
        w = 1.0 / (1.0 + 1.5 * exp(-2.6 * (1.0 - s)))
        exemplar = [np.array([best.p[k][j] for j, k in enumerate(row)]) for row in teacher]
        if literal:
            best.p = exemplar
        r1, r2 = rng.random((2, COUNT, DIM))
        for i in range(COUNT):
            for j in range(DIM):
                E = 2.0 * (1.0 - s) * r1[i, j] * (exemplar[i][j] - x[i, j])
                E += 2.0 * s * r2[i, j] * (best.g[j] - x[i, j])
                total[i, j] = clamp(total[i, j] + E, WIDTH[j])
                change = w * v[i, j] + E + 0.05 * (1.0 - s) * total[i, j]
                change += 0.1 * (1.0 - s) * (E - last[i, j])
                last[i, j] = E
                v[i, j] = clamp(change, 0.2 * WIDTH[j])
                step_and_absorb(x, v, i, j, v[i, j])


def differences(rng):
    trial = scattered(rng)
    x, f = trial.copy(), [np.inf] * COUNT
    while True:
        yield trial.copy()
        for i in range(COUNT):
            if cost(trial[i]) <= f[i]:
                x[i], f[i] = trial[i], cost(trial[i])
        drawn = [rng.integers(1, COUNT - k, size=COUNT) for k in range(3)]
        crossed, forced = rng.random((COUNT, DIM)), rng.integers(DIM, size=COUNT)
        for i in range(COUNT):
            free = [k for k in range(COUNT) if k != i]
            free = free[i:] + free[:i]  # the circle that starts after the member
            b, r, s = (free.pop(d[i] - 1) for d in drawn)
            for j in range(DIM):
                mutant = x[b, j] + 0.5 * (x[r, j] - x[s, j])
                while not LOWER[j] <= mutant <= UPPER[j]:  # mirrored at the wall it passed
                    wall = UPPER[j] if mutant > UPPER[j] else LOWER[j]
                    mutant = 2.0 * wall - mutant
                trial[i, j] = mutant if crossed[i, j] < 0.9 or j == forced[i] else x[i, j]


def genes(rng):
    children, told, x, f = scattered(rng), 0, [], []
    while True:
        yield children.copy()
        costs = [cost(row) for row in children]
        old = np.argsort(f, kind="stable")[:2] if f else []
        new = np.argsort(costs, kind="stable")[: COUNT - len(old)]
        x, f = (
            [*(x[k] for k in old), *(children[k].copy() for k in new)],
            [*(f[k] for k in old), *(costs[k] for k in new)],
        )
        told += COUNT
        step = 0.1 - 0.099 * told / BUDGET
        parents = [
            [min(pair, key=lambda k: f[k]) for pair in rng.integers(COUNT, size=(COUNT, 2))]
            for _ in range(2)
        ]
        blend, crosses = rng.random((COUNT, DIM)), rng.random((COUNT, 1))
        mutates, nu = rng.random((COUNT, DIM)), rng.standard_normal((COUNT, DIM))
        for i in range(COUNT):
            a, b = x[parents[0][i]], x[parents[1][i]]
            for j in range(DIM):
                reach = abs(a[j] - b[j])
                low, high = min(a[j], b[j]) - 0.5 * reach, max(a[j], b[j]) + 0.5 * reach
                gene = low + (high - low) * blend[i, j] if crosses[i, 0] < 0.9 else a[j]
                gene += step * WIDTH[j] * nu[i, j] if mutates[i, j] < 0.05 else 0.0
                children[i, j] = clamp_to(gene, LOWER[j], UPPER[j])


def wolves(rng):
    x, told, known = scattered(rng), 0, []
    while True:
        yield x.copy()
        known = sorted([*known, *((cost(row), tuple(row)) for row in x)])[:3]
        told += COUNT
        a = 2.0 * (1.0 - told / BUDGET)
        r, s = rng.random((2, 3, COUNT, DIM))
        for i in range(COUNT):
            for j in range(DIM):
                total = 0.0
                for k, (_, y) in enumerate(known):
                    reach = abs(2.0 * s[k, i, j] * y[j] - x[i, j])
                    total += y[j] - (2.0 * a * r[k, i, j] - a) * reach
                x[i, j] = clamp_to(total / 3.0, LOWER[j], UPPER[j])


def whales(rng):
    x, told = scattered(rng), 0
    g, fg = x[0].copy(), np.inf
    while True:
        yield x.copy()
        costs = [cost(row) for row in x]
        if min(costs) < fg:
            g, fg = x[int(np.argmin(costs))].copy(), min(costs)
        told += COUNT
        s = told / BUDGET
        r, q = rng.random((COUNT, 1)), rng.random((COUNT, 1))
        other = rng.integers(COUNT, size=COUNT)
        t, coin = rng.random((COUNT, 1)), rng.random((COUNT, 1))
        old = x.copy()
        for i in range(COUNT):
            A = 2.0 * (1.0 - s) * (2.0 * r[i, 0] - 1.0)
            C, l = 2.0 * q[i, 0], (-1.0 - s - 1.0) * t[i, 0] + 1.0
            for j in range(DIM):
                y = g[j] if abs(A) < 1.0 else old[other[i], j]
                if coin[i, 0] < 0.5:
                    moved = y - A * abs(C * y - old[i, j])
                else:
                    moved = g[j] + abs(g[j] - old[i, j]) * exp(l) * cos(2.0 * pi * l)
                x[i, j] = clamp_to(moved, LOWER[j], UPPER[j])


def grasshoppers(rng):
    x, told = scattered(rng), 0
    g, fg = x[0].copy(), np.inf
    while True:
        yield x.copy()
        costs = [cost(row) for row in x]
        if min(costs) < fg:
            g, fg = x[int(np.argmin(costs))].copy(), min(costs)
        told += COUNT
        c = 1.0 - (1.0 - 4e-5) * told / BUDGET
        old = x / WIDTH
        for i in range(COUNT):
            for k in range(DIM):
                total = 0.0
                for j in range(COUNT):
                    if j != i:
                        gap, d = old[j, k] - old[i, k], 1.0 + 3.0 * abs(old[j, k] - old[i, k])
                        force = 0.5 * exp(-d / 1.5) - exp(-d)
                        total += c * WIDTH[k] / 2.0 * force * gap / np.linalg.norm(old[j] - old[i])
                x[i, k] = clamp_to(c * total + g[k], LOWER[k], UPPER[k])


def annealing(rng):
    proposed = scattered(rng)
    x, f, told, h, hot = proposed.copy(), [np.inf] * COUNT, 0, 0.1, None
    while True:
        yield proposed.copy()
        costs = [cost(row) for row in proposed]
        hot = 0.1 * np.std(costs) if hot is None else hot
        told += COUNT
        T = hot * 1e-10 ** (told / BUDGET)
        patience, went = rng.exponential(size=COUNT), 0
        for i in range(COUNT):
            if costs[i] - f[i] <= 0.0 or patience[i] >= (costs[i] - f[i]) / T:
                x[i], f[i] = proposed[i], costs[i]
                went += 1
        h *= exp(0.1 * (went / COUNT - 0.25))
        nu = rng.standard_normal((COUNT, DIM))
        for i in range(COUNT):
            for j in range(DIM):
                moved = x[i, j] + h * WIDTH[j] * nu[i, j]
                while not LOWER[j] <= moved <= UPPER[j]:
                    moved = 2.0 * (UPPER[j] if moved > UPPER[j] else LOWER[j]) - moved
                proposed[i, j] = moved


TEXTBOOK = {
    "pso": (swarm_of(constant_inertia, 0.5), {}),
    "ldw-pso": (swarm_of(linear_inertia, 0.2), {}),
    "constriction-pso": (swarm_of(constriction, 0.5), {}),
    "rwpso": (swarm_of(random_inertia(0.5, 0.4), 0.2), {}),
    "rwpso literal": (swarm_of(random_inertia(0.9, 1.0), 0.2), {"form": "literal"}),
    "mupso": (swarm_of(mutating, 0.2), {"patience": 100}),
    "qpso-delta": (delta_well, {}),
    "qpso-qubit": (qubits, {"patience": 100}),
    "bso": (beetles(-1.0), {}),
    "bso literal": (beetles(1.0), {"form": "literal"}),
    "sedsabso": (annealed_beetles, {}),
    "elpidso": (pid(literal=False), {"patience": 2}),
    "elpidso literal": (pid(literal=True), {"patience": 2, "form": "literal"}),
    "de": (differences, {}),
    "ga": (genes, {}),
    "gwo": (wolves, {}),
    "woa": (whales, {}),
    "goa": (grasshoppers, {}),
    "simulated-annealing": (annealing, {}),
}


@pytest.mark.parametrize("case", TEXTBOOK)
def test_update_equals_its_equation_written_as_a_loop(case):
    loop, options = TEXTBOOK[case]
    optimizer = OPTIMIZERS.build(case.split()[0], population=COUNT, **options)
    optimizer.start(LOWER, UPPER, np.random.default_rng(11), BUDGET)
    batches = islice(loop(np.random.default_rng(11)), BATCHES)
    for expected in batches:
        X = optimizer.ask()
        np.testing.assert_allclose(X, expected, rtol=ROUNDING, atol=ROUNDING)
        optimizer.tell(X, [cost(x) for x in X])


def test_a_laplace_variable_is_the_logarithm_of_a_uniform_one_with_random_sign():
    jump = np.sort(np.abs(np.random.default_rng(0).laplace(size=20_000)))
    share = (np.arange(jump.size) + 0.5) / jump.size
    distance = np.max(np.abs(np.exp(-jump) - (1.0 - share)))
    assert distance < 1.63 / sqrt(jump.size)  # Kolmogorov-Smirnov at 1 %


def test_hot_chains_climb_and_cold_ones_do_not():
    def rises(**options):
        """Return how often the best cost of a batch is above that of the batch before."""
        fun = sphere(3)
        optimizer = OPTIMIZERS.build("simulated-annealing", step=0.01, **options)
        optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 100_000)
        costs = []
        for _ in range(200):
            X = optimizer.ask()
            costs.append(np.median(fun(X)))
            optimizer.tell(X, fun(X))
        return costs[-1] / costs[0]

    assert rises(heat=1e-9) < 0.1
    assert rises(heat=1e3, cold=1.0) > 0.3


def test_the_elite_of_the_genetic_algorithm_is_not_lost():
    # Where all genes mutate, children alone do not keep what is good.
    fun = sphere(3)
    spread = {}
    for elite in (0, 2):
        optimizer = OPTIMIZERS.build(
            "ga", elite=elite, crossover=0.0, mutation=1.0, step_start=0.05, step_end=0.05
        )
        optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 20_000)
        best = []
        while optimizer.evals < 20_000:
            X = optimizer.ask()
            best.append(fun(X).min())
            optimizer.tell(X, fun(X))
        spread[elite] = np.median(best[len(best) // 2 :])
    assert spread[2] < spread[0]


def test_grasshoppers_at_one_place_stay_finite():
    optimizer = OPTIMIZERS.build("goa", region=1e-12)
    fun = sphere(3)
    optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 1000)
    for _ in range(5):
        X = optimizer.ask()
        assert np.isfinite(X).all()
        optimizer.tell(X, fun(X))
