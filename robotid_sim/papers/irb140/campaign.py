"""The work of this reproduction, cut into trials, and what they found."""

from typing import Any

from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.irb140.network import NETWORKS, SAMPLES, TASK
from robotid_sim.papers.irb140.published import RUNS
from robotid_sim.papers.irb140.results import BOX, CASES, CLAMPS, COUNTED, Results
from robotid_sim.papers.paper import Lab

PACKAGE = "robotid_sim.papers.irb140"

LOGS = 12
"""Logs that the swarms on torque data are tried on."""

TRAININGS = 6
"""Trainings of the network that is held against the printed error."""

MORE = 20
"""Runs of the cases that iterations are counted on, over those of the others."""

POSES = 5000
"""Poses that the kinematics are compared in."""


def run_campaign(lab: Lab) -> Results:
    """Run what is not finished and return everything that was found."""
    networks = {name: _networks(lab, name) for name in NETWORKS}
    loops, torques = _loops(lab), _torques(lab)
    searches = {case: _search(lab, *case, more=case in COUNTED) for case in CASES}
    clamps = {
        (method, clamp): _search(lab, method, "relative", BOX, clamp=clamp)
        for method, clamp in CLAMPS
    }
    cad = Trial("cad", f"{PACKAGE}.torque:cad_step")
    kinematics = _trial(lab, "kinematics", "kinematics:compare_with_urdf", poses=POSES)
    # The longest first, so that no process is left alone with one at the end.
    every = [trial for trials in networks.values() for trial in trials]
    every += [*loops, *torques, *searches.values(), *clamps.values(), cad, kinematics]
    found = dict(zip((one.name for one in every), lab.run("irb140", every), strict=True))
    return Results(
        searches={case: found[trial.name] for case, trial in searches.items()},
        clamps={clamp: found[trial.name] for clamp, trial in clamps.items()},
        loops=[found[trial.name] for trial in loops],
        networks={name: [found[t.name] for t in trials] for name, trials in networks.items()},
        torques=[found[trial.name] for trial in torques],
        cad=found[cad.name],
        kinematics=found[kinematics.name],
        quick=lab.quick,
        judged=lab.judged(),
    )


def _trial(lab: Lab, name: str, function: str, **parameters: Any) -> Trial:
    return Trial(name, f"{PACKAGE}.{function}", {"seed": lab.seed, **parameters})


def _networks(lab: Lab, name: str) -> list[Trial]:
    own = NETWORKS[name]
    # More trainings than for an interval of the mean would take longer than all the rest.
    runs = min(TRAININGS, lab.runs_of(TRAININGS, 1)) if name == TASK else 1
    options = {
        "network": name,
        "samples": SAMPLES // 8 if lab.quick else SAMPLES,
        "iterations": own.quick if lab.quick else own.iterations,
    }
    return [
        _trial(lab, f"network-{name}-{run}", "network:train", run=run, **options)
        for run in range(runs)
    ]


def _loops(lab: Lab) -> list[Trial]:
    """Return one nominal run, in which nothing is drawn, and the disturbed ones."""
    lap = {"lap": 10.0} if lab.quick else {}
    runs = [("nominal", 0), *(("disturbed", run) for run in range(lab.runs_of(RUNS, 2)))]
    return [
        _trial(lab, f"loop-{scenario}-{run}", "control:track", scenario=scenario, run=run, **lap)
        for scenario, run in runs
    ]


def _torques(lab: Lab) -> list[Trial]:
    return [
        _trial(lab, f"torque-{run}", "torque:identify_from_torque", run=run)
        for run in range(lab.runs_of(LOGS, 1))
    ]


def _search(
    lab: Lab,
    method: str,
    scaling: str,
    box: float,
    *,
    more: bool = False,
    clamp: float | None = None,
) -> Trial:
    runs = lab.runs_of(RUNS, 6) * (MORE if more and not lab.quick else 1)
    own = {"method": method, "scaling": scaling, "half_width": box, "runs": runs}
    name = f"search-{method}-{scaling}-{box:g}"
    if clamp is None:
        return _trial(lab, name, "swarms:search", **own)
    return _trial(lab, f"{name}-clamp-{clamp:.4f}", "swarms:search", clamp=clamp, **own)
