"""User-defined parts: base classes to derive from, and the registries of their names."""

from collections.abc import Callable
from typing import Any, TypeVar

from robotid_sim.control import CONTROLLERS as CONTROLLERS
from robotid_sim.control.controller import ModelController as ModelController
from robotid_sim.errors import PluginError
from robotid_sim.estimation import ESTIMATORS as ESTIMATORS
from robotid_sim.estimation.problem import Estimator as Estimator
from robotid_sim.excitation import CRITERIA as CRITERIA
from robotid_sim.excitation import FAMILIES as FAMILIES
from robotid_sim.excitation.criteria import Criterion as Criterion
from robotid_sim.excitation.space import ExcitationFamily as ExcitationFamily
from robotid_sim.experiment.conditions import CONDITIONS as CONDITIONS
from robotid_sim.experiment.conditions import Condition as Condition
from robotid_sim.measurement import SENSORS as SENSORS
from robotid_sim.measurement.sensors import Sensor as Sensor
from robotid_sim.model.friction_law import FRICTION_LAWS as FRICTION_LAWS
from robotid_sim.model.friction_law import FrictionLaw as FrictionLaw
from robotid_sim.model.plant_drives import PLANT_DRIVES as PLANT_DRIVES
from robotid_sim.model.plant_drives import PlantDrive as PlantDrive
from robotid_sim.optim.optimizer import OPTIMIZERS as OPTIMIZERS
from robotid_sim.optim.optimizer import Optimizer as Optimizer
from robotid_sim.papers import register_paper as register_paper
from robotid_sim.papers.paper import Paper as Paper
from robotid_sim.preprocess import PREPROCESSORS as PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor as Preprocessor
from robotid_sim.tasks import TASKS as TASKS
from robotid_sim.tasks.task import Task as Task

REGISTRIES = (
    *(OPTIMIZERS, ESTIMATORS, PREPROCESSORS, SENSORS, CONTROLLERS, CRITERIA),
    *(FAMILIES, TASKS, CONDITIONS, FRICTION_LAWS, PLANT_DRIVES),
)

T = TypeVar("T", bound=type)


def register(name: str) -> Callable[[T], T]:
    """Register a user-defined class in the registry of its base class.

    Parameters
    ----------
    name : str
        Name of the class in Python, TOML and on the command line, in kebab-case.

    Returns
    -------
    decorate : callable
        Class decorator to put above ``@dataclass``, as in ``@rid.register("mine")``.

    Raises
    ------
    PluginError
        If the name is not in kebab-case or taken, or the class derives from none of the base
        classes.
    """

    def decorate(cls: T) -> T:
        registry: Any = next((r for r in REGISTRIES if issubclass(cls, r.base)), None)
        if registry is None:
            bases = ", ".join(registry.base.__name__ for registry in REGISTRIES)
            raise PluginError(f"{cls.__name__} derives from none of {bases}")
        registry.register(name, cls)
        return cls

    return decorate
