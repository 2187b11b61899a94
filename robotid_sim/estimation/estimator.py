"""What an estimator is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem


class Estimator(ABC):
    """A method of estimation: hyper-parameters in the constructor, data in `fit`.

    An estimator never changes itself; all it learns comes back in the Estimate.
    """

    check_options: ClassVar[Mapping[str, Any]] = {}
    """Options with which `robotid_sim.testing` tries it in a second."""

    random: ClassVar[bool] = False
    """Whether `fit` draws anything, so that another stream gives another estimate."""

    uses_instruments: ClassVar[bool] = False
    """Whether `fit` looks at the instruments of a problem, which take time to make."""

    uses_recordings: ClassVar[bool] = False
    """Whether `fit` looks at the recordings of a problem."""

    @abstractmethod
    def fit(self, problem: LinearProblem, rng: np.random.Generator) -> Estimate:
        """Return the estimate; numerical failure is data, not an exception.

        Parameters
        ----------
        problem : LinearProblem
            Rows of the fit.
        rng : numpy.random.Generator
            Source of what is drawn; estimators that draw nothing ignore it.

        Returns
        -------
        estimate : Estimate
            With success False and a message where the fit failed.
        """
