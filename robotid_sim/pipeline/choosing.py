"""Which estimate a fit chooses where the controller of its log has shaken the robot with noise."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.output_error import OutputError
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.simulation import can_simulate
from robotid_sim.measurement.log import Log, LoopNoise, loop_noise
from robotid_sim.pipeline.fit_plan import FitPlan

OUTPUT_ERROR = "output-error"

SHAKEN = 0.1
"""Share of noise in the torques from which output error is chosen.

`bench/feedback_noise.py`: with 3 to 6 % least squares errs as little; with 25 % it errs ten times
as much, and functions of the state that the model lacks come out of the noise alone.
"""


def heeding_loop_noise(plan: FitPlan, logs: Sequence[Log]) -> tuple[FitPlan, LoopNoise | None]:
    """Return a plan that runs output error too where noise in the loop shakes the robot, and where.

    Least squares takes motion and torque noise for independent, and rows keep next to nothing of
    what the noise does to the motion; output error uses it.
    """
    if not plan.heeds_loop_noise:
        return plan, None
    found = [noise for log in logs if (noise := loop_noise(log)) and noise.share > SHAKEN]
    if not found:
        return plan, None
    added = {} if OUTPUT_ERROR in plan.estimators else {OUTPUT_ERROR: OutputError()}
    return replace(plan, estimators={**plan.estimators, **added}), found[0]


def chosen_name(
    plan: FitPlan,
    estimates: Mapping[str, Estimate],
    found: LoopNoise | None,
    problem: LinearProblem,
) -> str:
    """Return the name of the estimate to take: the plan's, or that of output error.

    Where it cannot simulate, as with terms of joints, output error is least squares.
    """
    simulated = estimates.get(OUTPUT_ERROR)  # long logs have none
    if found is not None and simulated and simulated.success and can_simulate(problem):
        return OUTPUT_ERROR
    return plan.chosen


def loop_noise_sentence(found: LoopNoise, chosen: str) -> str:
    """Return in words that the loop saw noise, and what became of it."""
    taken = (
        "output error, which simulates, is chosen: rows of so shaken a motion mislead least "
        "squares, and what they lack may be the noise."
        if chosen == OUTPUT_ERROR
        else "output error, which would use that, gives no result; take a calmer loop."
    )
    return f"{found.sentence()[:-1]}; {taken}"
