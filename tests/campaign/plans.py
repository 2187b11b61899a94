"""Plans of campaigns that are short enough for tests."""

from robotid_sim.campaign.plan import plan_of

SHORT = {
    "robot": "twolink",
    "seeds": 2,
    "record": ["model_error", "parameter_error", "nees"],
    "study": {
        "design": {"candidates": 5, "starts": 1, "iterations": 5, "period": 4.0, "periods": 2},
        "experiment": {"rate": 250.0},
        "preprocess": {"name": "rts"},
    },
    "factors": {"estimator": ["ols", "wls"], "sensors.encoder-noise.revolute": [1e-5, 1e-4]},
}


def short_plan(**changes):
    """Return a short plan with other values."""
    return plan_of({**SHORT, **changes})


def told(rows):
    """Return what does not depend on the clock of some rows."""
    return [
        (r.key, r.factors, r.seed, r.status, r.error, {**r.metrics, "fit_seconds": None})
        for r in rows
    ]
