"""Terms of joints chosen by evidence: how often the right ones are, and what that is worth.

One joint of a plant has a law missing from the model; logs of 30 s with the default sensors,
the default chain. A choice is right if it is that term of that joint and nothing else; the plant of
Coulomb and viscous friction has none. Columns: right choices; of those, the share of 95 % intervals
of the term's parameters that hold the truth; model error on the true motion with the chosen terms
and with the true ones given, RMS over seeds, worst joint; what else was chosen.

Run as ``python bench/structure.py [--seeds 5] [--robots irb140 ur10] [--laws cogging ...]
[--workers N] [--keep FILE]``; with a file it goes on where it was ended.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from faults import Bench, OneJoint, sensed
from kept import map_kept

from robotid_sim.arrays import rms
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.estimation.structure import Structure
from robotid_sim.measurement.log import Log
from robotid_sim.model.friction_law import FRICTION_LAWS, Asymmetric, LoadDependent, Stribeck
from robotid_sim.model.joint_terms import ALL, JointTerm, select_kinds
from robotid_sim.model.robot import Robot
from robotid_sim.model.term_laws import TransitionVelocity
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.validation.prediction import true_rows

SETTLED = 0.5
"""Time from which on predictions are judged [s]: nobody knows how far friction has built up."""

ROBOTS = ("irb140", "ur10")

KIND_OF = {
    "smooth-coulomb": "",
    "asymmetric": "asymmetric-friction",
    "cogging": "cogging",
    "coupled-joints": "coupled-joints",
    "curved-viscous": "curved-viscous",
    "transition-velocity": "transition-velocity",
    "load-dependent": "load-dependent-friction",
    "offset": "offset",
    "position-dependent": "position-dependent-friction",
    "presliding": "presliding",
    "spring": "spring",
    "stribeck": "stribeck",
    "warming": "warming",
}
"""Term that a law is, by its name."""

OPTIONS = {"warming": {"share": -0.8, "duration": 60.0}}
"""Of laws that are not by default a term from the first to the last sample of a log of 35 s."""


@dataclass(frozen=True, slots=True)
class Run:
    """One choice and how it is judged."""

    robot: str
    law: str
    seed: int
    right: bool
    covered: tuple[bool, ...]
    """Whether 95 % intervals hold the parameters of the term, if it was chosen."""
    error: float
    """Model error with the chosen terms, worst joint."""
    informed: float
    """That with the kind of the true term alone to choose from."""
    others: tuple[str, ...]
    """What else was chosen, or that the term is missing."""


def true_terms(one: OneJoint, robot: Robot) -> tuple[JointTerm, ...]:
    """Return what a law of one joint is as terms beside the friction of the model."""
    joint, law = robot.joints[one.joint], one.law
    Fv, Fc = joint.friction.Fv, joint.friction.Fc
    match law:
        case Asymmetric():
            numbers: tuple[tuple[float, ...], float | None] = (
                (law.viscous * Fv, law.coulomb * Fc),
                None,
            )
        case Stribeck():
            numbers = ((law.static - 1.0) * Fc,), law.velocity
        case LoadDependent():
            numbers = (law.share,), None
        case TransitionVelocity():
            numbers = (Fc,), law.factor * joint.friction.eps
        case _:
            return one.terms(robot)
    return (JointTerm(KIND_OF[FRICTION_LAWS.name_of(law)], joint.name, *numbers),)


def runs_of(task: tuple[str, str, int]) -> list[Run]:
    """Return the runs of a robot whose one joint has a law, a seed each."""
    name, law_name, seeds = task
    bench = Bench.of(name)
    found = []
    for first in range(0, seeds, 2):  # two logs of every plant
        joint = int(np.random.default_rng((len(law_name), first)).integers(bench.plant.dof))
        joint = bench.plant.dof - 1 if law_name == "coupled-joints" else joint
        law = FRICTION_LAWS.build(law_name, **OPTIONS.get(law_name, {}))
        one = None if not KIND_OF[law_name] else OneJoint(law, joint)
        clean = bench.log(friction=one)
        truth = () if one is None else true_terms(one, bench.plant)
        where = bench.plant.joint_names[joint]
        for seed in range(first, min(first + 2, seeds)):
            log = sensed(clean, "default", seed)
            fit = _fit(bench, log, ALL)
            chosen = [(t.term.kind, t.term.joint) for t in fit.structure.terms]
            wanted = [(KIND_OF[law_name], where)] if KIND_OF[law_name] else []
            others = [f"{kind} {joint}" for kind, joint in chosen if (kind, joint) not in wanted]
            others += ["missing"] * (not set(wanted) <= set(chosen))
            covered, error = tuple(_covered(fit.structure, truth)), _error(fit, clean)
            informed = error
            if others:  # a right choice is what a fit that knows the term has too
                informed = _error(_fit(bench, log, KIND_OF[law_name]), clean)
            run = Run(name, law_name, seed, not others, covered, error, informed, tuple(others))
            found.append(run)
    return found


def _fit(bench: Bench, log: Log, kind: str) -> Identification:
    """Return the default fit of a log, with terms of a kind to choose from; an empty name none."""
    kinds = select_kinds((kind,) if kind else ())
    plan = replace(build_fit(load_config(None, {})), joint_terms=kinds, terms_by_need=False)
    blind = replace(log, truth=None)
    return fit_logs(blind, bench.nominal, bench.basis, plan, np.random.default_rng(0))


def _covered(structure: Structure, truth: tuple[JointTerm, ...]) -> Iterator[bool]:
    """Yield whether the parameters of true terms lie within their intervals."""
    for fitted in structure.terms:
        for true in truth:
            if (fitted.term.kind, fitted.term.joint) == (true.kind, true.joint):
                for value, std, of in zip(fitted.term.values, fitted.std, true.values, strict=True):
                    yield abs(value - of) <= 1.96 * std
                if fitted.shape_std is not None:
                    yield abs(fitted.term.shape - true.shape) <= 1.96 * fitted.shape_std


def _error(fit: Identification, clean: Log) -> float:
    """Return the model error along the true motion, worst joint."""
    truth = true_rows(clean, clean.t >= SETTLED)
    state = (truth.q, truth.dq, truth.ddq)
    W = torque_regressor(fit.nominal, *state, fit.basis.columns)
    phi = fit.basis.complete(fit.chosen.beta, fit.nominal.parameters())
    model = fit.nominal.with_parameters(phi, formal=True)
    terms, middle = fit.structure.robot_terms(), 0.5 * (clean.t[0] + clean.t[-1])
    t = clean.t[clean.t >= SETTLED] - middle
    predicted = W @ fit.chosen.beta + terms_torque(model, terms, *state, t=t)
    return float((rms(truth.tau - predicted) / rms(truth.tau)).max())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8, help="seeds of every robot and law")
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS))
    parser.add_argument("--laws", nargs="+", default=list(KIND_OF), choices=list(KIND_OF))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of the runs, read and added to")
    options = parser.parse_args()
    tasks = [(n, law, options.seeds) for law in options.laws for n in options.robots]
    parts = map_kept(runs_of, tasks, options.keep, list[Run], options.workers)
    runs = [run for part in parts for run in part]
    print(f"{'law':20} {'right':>8} {'covered':>8} {'error':>8} {'informed':>8}  others")
    for law in options.laws:
        of_law = [run for run in runs if run.law == law]
        covered = [hit for run in of_law for hit in run.covered]
        error, informed = (
            np.sqrt(np.mean([getattr(run, name) ** 2 for run in of_law]))
            for name in ("error", "informed")
        )
        others = sorted({f"{run.robot} {other}" for run in of_law for other in run.others})
        share = f"{np.mean(covered):.0%}" if covered else "-"
        print(
            f"{law:20} {sum(r.right for r in of_law):3}/{len(of_law):<4} {share:>8} {error:8.3%} "
            f"{informed:8.3%}  {'; '.join(others)}"
        )
    print(f"right {sum(run.right for run in runs)} of {len(runs)}")


if __name__ == "__main__":
    main()
