"""Excitation design: which motion makes the parameters visible within the limits."""

from robotid_sim.excitation.cartesian_space import CartesianFourierOptions
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.criteria_spectrum import (
    AOptimality,
    CombinedCondition,
    ConditionNumber,
    EOptimality,
    NormalizedConditionNumber,
)
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.rest_to_rest_space import (
    BSplineOptions,
    FourierQuinticOptions,
    QuinticOptions,
)
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.registry import Registry

FAMILIES: Registry[ExcitationFamily] = Registry(
    "excitation family",
    ExcitationFamily,
    {
        "b-spline": BSplineOptions,
        "cartesian-fourier": CartesianFourierOptions,
        "fourier": FourierOptions,
        "fourier-quintic": FourierQuinticOptions,
        "quintic": QuinticOptions,
    },
)

CRITERIA: Registry[Criterion] = Registry(
    "criterion",
    Criterion,
    {
        "a-optimality": AOptimality,
        "combined-condition": CombinedCondition,
        "condition-number": ConditionNumber,
        "d-optimality": DOptimality,
        "e-optimality": EOptimality,
        "normalized-condition-number": NormalizedConditionNumber,
    },
)
