"""Every registered part keeps the contract of its family, by the checks that users have too."""

import pytest

from robotid_sim import testing
from robotid_sim.control import CONTROLLERS
from robotid_sim.errors import OptionError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.experiment.conditions import CONDITIONS
from robotid_sim.measurement import SENSORS
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.plant_drives import PLANT_DRIVES
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.tasks import TASKS

CHECKS = (
    (SENSORS, testing.check_sensor),
    (PREPROCESSORS, testing.check_preprocessor),
    (ESTIMATORS, testing.check_estimator),
    (OPTIMIZERS, testing.check_optimizer),
    (CRITERIA, testing.check_criterion),
    (FAMILIES, testing.check_family),
    (TASKS, testing.check_task),
    (CONDITIONS, testing.check_condition),
    (FRICTION_LAWS, testing.check_friction_law),
    (PLANT_DRIVES, testing.check_plant_drive),
)
EVERY = [(registry, name, check) for registry, check in CHECKS for name in registry]


@pytest.mark.parametrize(
    ("registry", "name", "check"), EVERY, ids=[f"{r.noun}-{name}" for r, name, _ in EVERY]
)
def test_it_keeps_the_contract(registry, name, check, tmp_path):
    options = dict(getattr(registry[name], "check_options", {}))
    if getattr(registry[name], "needs_file", False):
        options["path"] = str(tmp_path / "path.csv")
        (tmp_path / "path.csv").write_text(
            "joint_1,joint_2\n0.0,0.2\n0.1,0.3\n0.2,0.5\n0.1,0.4\n0.0,0.2\n"
        )
    check(registry.build(name, **options))


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_keeps_the_contract(name):
    testing.check_controller(CONTROLLERS[name].from_gains)


@pytest.mark.parametrize(("registry", "name", "check"), EVERY)
def test_options_that_it_does_not_have_are_refused(registry, name, check):
    with pytest.raises(OptionError, match="has no option 'color'"):
        registry.build(name, color=1.0)


def test_checks_see_what_is_wrong():
    class Peeking(type(SENSORS.build("torque-noise"))):
        """A sensor that returns the truth."""

        def __call__(self, log, rng):
            from dataclasses import replace

            return log if log.truth is None else replace(log, tau_meas=log.truth.tau)

    with pytest.raises(AssertionError, match="looks at the truth"):
        testing.check_sensor(Peeking())

    class Drifting(ESTIMATORS["ols"]):
        """An estimator that draws, although it says that it does not."""

        def fit(self, problem, rng):
            from dataclasses import replace

            estimate = super().fit(problem, rng)
            return replace(estimate, beta=estimate.beta + rng.standard_normal(estimate.beta.size))

    with pytest.raises(AssertionError, match="draws, although"):
        testing.check_estimator(Drifting())
