"""Many trials: run in parallel, kept one by one, never run twice."""

from robotid_sim.campaign.trials import Trial, run_trials

__all__ = ["Trial", "run_trials"]
