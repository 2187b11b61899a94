"""The two ways to read an equation that its paper misprints."""

from typing import Literal, get_args

from robotid_sim.optim import checks

EquationForm = Literal["corrected", "literal"]
"""``literal`` is what the paper prints, ``corrected`` what it must mean; docstrings say why."""


def check_form(form: str) -> None:
    """Refuse an unknown name of `EquationForm`."""
    checks.one_of("form", form, get_args(EquationForm))
