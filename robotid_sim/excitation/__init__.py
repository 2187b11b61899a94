"""Excitation design: motions that make the parameters identifiable within the limits."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.excitation.criteria import Criterion
    from robotid_sim.excitation.space import ExcitationFamily

FAMILIES: "Registry[ExcitationFamily]" = Registry(
    "excitation family",
    "robotid_sim.excitation.space:ExcitationFamily",
    {
        "b-spline": "robotid_sim.excitation.rest_to_rest_space:BSplineOptions",
        "cartesian-fourier": "robotid_sim.excitation.cartesian_space:CartesianFourierOptions",
        "fourier": "robotid_sim.excitation.space:FourierOptions",
        "fourier-quintic": "robotid_sim.excitation.rest_to_rest_space:FourierQuinticOptions",
        "quintic": "robotid_sim.excitation.rest_to_rest_space:QuinticOptions",
    },
)

CRITERIA: "Registry[Criterion]" = Registry(
    "criterion",
    "robotid_sim.excitation.criteria:Criterion",
    {
        "a-optimality": "robotid_sim.excitation.criteria_spectrum:AOptimality",
        "combined-condition": "robotid_sim.excitation.criteria_spectrum:CombinedCondition",
        "condition-number": "robotid_sim.excitation.criteria_spectrum:ConditionNumber",
        "d-optimality": "robotid_sim.excitation.criteria:DOptimality",
        "e-optimality": "robotid_sim.excitation.criteria_spectrum:EOptimality",
        "normalized-condition-number": "robotid_sim.excitation.criteria_spectrum:"
        "NormalizedConditionNumber",
    },
)
