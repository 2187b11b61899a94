"""The claims of the paper, with verdicts that follow from the measured numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

from robotid_sim.arrays import Float1D
from robotid_sim.papers.claims import Claim, Verdict, interval_of_mean, interval_of_ratio
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import Results, Rows, values
from robotid_sim.papers.irb120.optimum import PublishedMotion

SIGNIFICANCE = 0.05
EXACT = 1e-9
"""Relative error of noise-free least squares that counts as exact."""


def claims(
    found: Results,
    identified: lls.Identification,
    motions: Sequence[PublishedMotion],
    *,
    judged: bool,
) -> tuple[Claim, ...]:
    """Return all claims, in the order of the paper.

    Parameters
    ----------
    found, identified, motions
        What came out.
    judged : bool
        Whether bands of statistics are judged.
    """
    return (
        *_swarm_size(found, judged=judged),
        *_condition_number(found, judged=judged),
        _best_of_six(found, judged=judged),
        _not_worse_than_de(found, judged=judged),
        _mutation(found, judged=judged),
        _published_optimum(motions),
        *_identifiability(),
        *_identification(identified),
    )


def _condition_number(found: Results, *, judged: bool) -> list[Claim]:
    printed, runs = model.TABLE_3["mupso"], values(found.table_3["mupso"])
    raw = values(found.readings["Cartesian path, SI columns"], "condition_si").mean()
    condition = (
        "With the 15 base parameters and columns of unit length, and the limits kept by scaling. "
        f"With columns in SI units the same search ends at {raw:.3g} on the mean."
    )
    mean, spread = float(runs.mean()), _spread(runs)
    decisive = f"Lower is no failure, and what is not printed decides: {_range(found, np.mean)}."
    return [
        Claim(
            name="condition-number-minimum",
            claim="MuPSO reaches a condition number of 4.73 in the best of 30 runs (Table 3).",
            published=printed.least,
            ours=float(runs.min()),
            band=(4.0, 6.0),
            judged=judged,
            verdict=_level(float(runs.min()), 4.0, 6.0),
            reason=condition,
        ),
        Claim(
            name="condition-number-mean",
            claim="The mean of 30 runs is 7.16 (Table 3).",
            published=printed.mean,
            ours=mean,
            interval=interval_of_mean(runs),
            band=(6.5, 9.5),
            judged=judged,
            verdict=_level(mean, None, 9.5),
            reason=f"{condition} {decisive}",
        ),
        Claim(
            name="condition-number-spread",
            claim="The standard deviation over 30 runs is 1.17 (Table 3).",
            published=printed.std,
            ours=spread,
            band=(1.0, 2.0),
            judged=judged,
            verdict=_level(spread, None, 2.0),
            reason=f"Same conditions, and the same cause: {_range(found, _spread)}.",
        ),
    ]


def _spread(runs: Float1D) -> float:
    """Return the standard deviation; zero for a single run."""
    return float(runs.std(ddof=1)) if runs.size > 1 else 0.0


def _range(found: Results, statistic: Callable[[Float1D], float]) -> str:
    """Return between what values a statistic lies as the unprinted choices vary."""
    others = {name: float(statistic(values(rows))) for name, rows in found.unprinted.items()}
    ends = (f(others, key=lambda name: others[name]) for f in (min, max))
    return " to ".join(f"{others[name]:.3g} ({name})" for name in ends)


def _level(value: float, lower: float | None, upper: float) -> Verdict:
    """Return `conditional` if a level is reached: the paper does not print the conditions."""
    reached = value <= upper and (lower is None or value >= lower)
    return "conditional" if reached else "not-reproducible"


def _best_of_six(found: Results, *, judged: bool) -> Claim:
    studies = {"scaling": found.table_3, "penalty": found.penalty}
    standings = [standing(study) for study in studies.values()]
    ours, spso = (values(found.table_3[name]) for name in ("mupso", "spso"))
    printed = model.TABLE_3["mupso"].mean / model.TABLE_3["spso"].mean
    means = "; ".join(
        f"with limits by {handling} {model.METHODS[one.first]} has the lowest mean "
        f"({one.lowest:.3g}), MuPSO {one.ours:.3g} (Welch: p = {one.p:.1g})"
        for handling, one in zip(studies, standings, strict=True)
    )
    return Claim(
        name="mupso-best-of-six",
        claim="MuPSO has the lowest mean of six methods; ours is its mean over that of SPSO.",
        published=round(printed, 3),
        ours=float(ours.mean() / spso.mean()),
        interval=interval_of_ratio(ours, spso),
        band=(0.85, 1.15),
        judged=judged,
        verdict=best_of_six(standings),
        reason=f"{means[0].upper()}{means[1:]}. The printed lead over SPSO is 2 % of the mean, "
        "less than a fifth of the standard deviation.",
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """MuPSO among the methods of the paper."""

    first: str
    """Method of the lowest mean; if that is MuPSO, the next."""
    lowest: float
    """Its mean."""
    ours: float
    """Mean of MuPSO."""
    p: float
    """Of Welch's test that both means are alike."""

    @property
    def tied(self) -> bool:
        """Whether the runs do not tell MuPSO and the other apart."""
        return not self.p < SIGNIFICANCE


def standing(study: Mapping[str, Rows]) -> Standing:
    """Return where MuPSO stands by the means of the runs."""
    others = {name: study[name] for name in model.METHODS if name != "mupso"}
    first = min(others, key=lambda name: float(values(others[name]).mean()))
    ours, theirs = values(study["mupso"]), values(others[first])
    p = float(ttest_ind(ours, theirs, equal_var=False).pvalue) if ours.size > 1 else 1.0
    return Standing(first, float(theirs.mean()), float(ours.mean()), p)


def best_of_six(standings: Sequence[Standing]) -> Verdict:
    """Return the verdict: first everywhere, never clearly behind, or behind somewhere."""
    if any(one.ours > one.lowest and not one.tied for one in standings):
        return "not-reproducible"
    first = all(one.ours < one.lowest and not one.tied for one in standings)
    return "reproduced" if first else "conditional"


def _not_worse_than_de(found: Results, *, judged: bool) -> Claim:
    ours, de = (values(found.table_3[name]) for name in ("mupso", "de"))
    printed = model.TABLE_3["mupso"].mean / model.TABLE_3["de"].mean
    ratio = float(ours.mean() / de.mean())
    return Claim(
        name="mupso-against-de",
        claim="MuPSO is better than DE; ours is the ratio of the means.",
        published=round(printed, 3),
        ours=ratio,
        interval=interval_of_ratio(ours, de),
        band=(None, 1.0),
        judged=judged,
        verdict="conditional" if ratio <= 1.0 else "not-reproducible",
        reason="In this order, but not by a factor of four: with 1500 evaluations DE with CR = 1 "
        f"ends at {de.mean():.3g} on the mean.",
    )


def _mutation(found: Results, *, judged: bool) -> Claim:
    rows = found.table_3["mupso"]
    most = max(len(row["mutations"]) for row in rows)
    mutated = [row for row in rows if row["mutations"]]
    helped = sum(row["best_at"] > row["mutations"][0] for row in mutated)
    return Claim(
        name="mutation",
        claim="The swarm mutates at iteration 10, and the best was found before. Ours is the "
        "largest number of mutations in a run.",
        published=1.0,
        ours=float(most),
        band=(0.0, 1.0),
        judged=judged,
        verdict="conditional" if mutated else "not-reproducible",
        reason=f"{len(mutated)} of {len(rows)} runs mutate; {helped} of these find a better point "
        "afterwards. By eq. (5)-(6) the tenth count is after iteration 12 at the earliest, so a "
        "mutation at iteration 10 needs another rule than the printed one.",
    )


def _published_optimum(motions: Sequence[PublishedMotion]) -> Claim:
    evaluable = any(motion.followed and motion.start_speed < EXACT for motion in motions)
    best = min(motions, key=lambda motion: motion.condition)
    return Claim(
        name="published-optimum",
        claim="The published coefficients give a condition number of 7.3531.",
        published=model.OPTIMUM_CONDITION,
        ours=best.condition if evaluable else "not evaluable",
        verdict="conditional" if evaluable else "not-reproducible",
        reason="Center, duration and number of harmonics are not printed and c is one number for "
        f"three. In meters the radii sum to {sum(model.OPTIMUM_A):.2f} m, beyond the reach of "
        f"0.58 m, and the path starts at {best.start_speed:.2f} m/s, against eq. (48). Shrunk to "
        f"{best.scale:.2g} of its size, where the arm can follow, it gives {best.condition:.2g}.",
    )


def _identifiability() -> list[Claim]:
    ranks = lls.rank_analysis()
    found = {name: lls.counts(base) for name, base in ranks.items()}
    torques, wrenches = ranks[lls.JOINT_TORQUES], ranks[lls.WRENCHES]
    same = [name for name, counts in found.items() if counts == model.IDENTIFIABILITY]
    verdict: Verdict = "not-reproducible"
    if same:
        verdict = "reproduced" if lls.JOINT_TORQUES in same else "conditional"
    printed = " + ".join(map(str, model.IDENTIFIABILITY))
    alone, combined, none = found[lls.JOINT_TORQUES]
    near = found[lls.AS_PRINTED]
    return [
        Claim(
            name="identifiability",
            claim=f"Of 30 parameters {printed} are identifiable alone, in combinations, and not "
            "at all. Ours is the rank for joint torques.",
            published=float(sum(model.IDENTIFIABILITY[:2])),
            ours=float(torques.rank),
            band=(15.0, 15.0),
            verdict=verdict,
            reason=f"Joint torques show {alone} parameters alone "
            f"({', '.join(torques.identifiable_alone)}), {combined} only in combinations, and "
            f"{none} not at all. No model of measurement in the table gives {printed}. Nearest is "
            "the selector as printed, moments along z of frame i through its origin: rank "
            f"{ranks[lls.AS_PRINTED].rank}, {near[0]} + {near[1]} + {near[2]}; but no drive "
            "measures these moments.",
        ),
        Claim(
            name="identifiability-by-wrench",
            claim="More parameters show in full wrenches at the three joints; the paper models "
            "wrenches but measures torques. Ours is the rank.",
            published=None,
            ours=float(wrenches.rank),
            band=(26.0, 26.0),
            verdict="reproduced" if found[lls.WRENCHES] == (26, 0, 4) else "not-reproducible",
            reason="With force sensors in the joints {} parameters show alone and {} not at all "
            "({}).".format(
                found[lls.WRENCHES][0], found[lls.WRENCHES][2], ", ".join(wrenches.no_effect)
            ),
        ),
    ]


def _identification(found: lls.Identification) -> list[Claim]:
    scores = np.abs(found.scores)
    share = float((scores <= 3.0).mean())
    exact = found.exact_error <= EXACT
    listed = [symbol for symbol, _, _ in model.TABLE_4]
    alone = sum(symbol in found.basis.identifiable_alone for symbol in listed)
    return [
        Claim(
            name="identified-equals-ideal",
            claim="Least squares on noise-free torques returns the parameters with errors of at "
            "most 8e-4 kg mm² (Table 4). Ours is relative to the largest parameter.",
            published=model.LARGEST_ERROR,
            ours=found.exact_error,
            band=(None, EXACT),
            verdict="conditional" if exact else "not-reproducible",
            reason="On the 15 base parameters, to rounding. Of the 22 parameters of Table 4 only "
            f"{alone} show alone in joint torques; the others cannot be returned one by one.",
        ),
        Claim(
            name="identified-with-noise",
            claim="With torque noise of 1 % the errors stay within 3 standard deviations. Ours is "
            f"the share of {scores.size} errors.",
            published=None,
            ours=share,
            band=(0.98, None),
            verdict="reproduced" if share >= 0.98 else "not-reproducible",
            reason="The paper has no noise. 99.7 % is expected of Gaussian errors; the largest "
            f"error in {lls.DRAWS} logs is {scores.max():.2g} standard deviations.",
        ),
    ]


def _swarm_size(found: Results, *, judged: bool) -> list[Claim]:
    cost = {size: values(found.sizes[size]) for size in model.SWARM_SIZES}
    left = interval_of_ratio(cost[70], cost[50])
    ends = None if left is None else (100.0 * (1.0 - left[1]), 100.0 * (1.0 - left[0]))
    gain = float(100.0 * (1.0 - cost[70].mean() / cost[50].mean()))
    clear = ends is not None and ends[0] > 0.0
    (cost_50, _), (cost_70, _) = model.FIGURE_2[50], model.FIGURE_2[70]
    return [
        Claim(
            name="swarm-size-cost",
            claim="With 70 particles instead of 50 the best cost falls from 5.2 to 4.6, said to be "
            "13 %.",
            published=round(100.0 * (1.0 - cost_70 / cost_50), 1),
            ours=gain,
            unit="%",
            interval=ends,
            band=(None, 15.0),
            judged=judged,
            verdict="conditional" if clear and gain < 15.0 else "not-reproducible",
            reason=f"5.2 to 4.6 is 11.5 %. Our means of {found.effort.study_runs} runs of "
            f"{found.effort.study_iterations} iterations are {cost[50].mean():.3g} and "
            f"{cost[70].mean():.3g}"
            + (": a fall, but a small one." if clear else ", which may differ by chance."),
        ),
        _swarm_time(found, judged=judged),
    ]


def _swarm_time(found: Results, *, judged: bool) -> Claim:
    seconds = {size: values(found.sizes[size], "seconds") for size in (50, 70)}
    ratio = float(seconds[70].min() / seconds[50].min())
    (_, time_50), (_, time_70) = model.FIGURE_2[50], model.FIGURE_2[70]
    return Claim(
        name="swarm-size-time",
        claim="With 70 particles instead of 50 the time rises by 40 %. Ours is the ratio of the "
        "shortest CPU times, which other work on the machine disturbs least.",
        published=round(time_70 / time_50, 2),
        ours=ratio,
        band=(1.2, 1.6),
        judged=judged,
        verdict="reproduced" if 1.2 <= ratio <= 1.6 else "not-reproducible",
        reason="Time is proportional to the number of evaluations, 70/50 = 1.4.",
    )
