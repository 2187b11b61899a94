"""The configurations that the five papers publish, and what is known to be wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from robotid_sim.errors import UnknownNameError
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import Moving, stability

FAZILAT = "Fazilat, Zioui (2025), Mathematics 13(16), 2631, doi:10.3390/math13162631"
UMAR = "Umar, Shi, Khlil, Farouk (2021), Nigerian J. Technology 40(4), doi:10.4314/njt.v40i4.14"
KOU = "Kou, Guo, Ren (2022), Actuators 11(1), 2, doi:10.3390/act11010002"
YAN = "Yan, Lu, Levy (2015), PLoS ONE 10(6), e0129157, doi:10.1371/journal.pone.0129157"
TANG = "Tang, Yan, An, Wang, Zhang (2023), Machines 11(2), 316, doi:10.3390/machines11020316"


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedSetting:
    """A published configuration of an optimizer: the options that are printed, and no others."""

    method: str
    """Name of the optimizer."""
    paper: str
    """Authors, journal, DOI."""
    place: str
    """Where the values stand."""
    max_evals: int
    """The published budget, population by iterations."""
    options: Mapping[str, Any]
    """Printed hyper-parameters."""
    missing: str = "velocity limit, bounds"
    """What the paper does not print; the defaults stand in."""

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """What the spectral radii say about it, in words; see `robotid_sim.optim.stability`."""
        optimizer = self.build()
        return stability(optimizer).flags if isinstance(optimizer, Moving) else ()

    def build(self, **changes: Any) -> Optimizer:
        """Return the optimizer; `changes` override or add options, as in ``form="literal"``."""
        return OPTIMIZERS.build(self.method, **{**self.options, **changes})


def setting(name: str) -> PublishedSetting:
    """Return a published configuration by name.

    Raises
    ------
    UnknownNameError
        If there is none; the text lists them.
    """
    if name not in SETTINGS:
        raise UnknownNameError(f"unknown setting '{name}'; known: {', '.join(SETTINGS)}")
    return SETTINGS[name]


SETTINGS: Mapping[str, PublishedSetting] = MappingProxyType(
    {
        "fazilat-2025-pso": PublishedSetting(
            method="pso",
            paper=FAZILAT,
            place="section 3, eq. (17)-(19)",
            max_evals=120 * 150,
            options={"population": 120, "w": 0.99, "c1": 2.5, "c2": 1.5},
            missing="smallest inertia of eq. (18), velocity limit, bounds",
        ),
        "fazilat-2025-qpso": PublishedSetting(
            method="qpso-qubit",
            paper=FAZILAT,
            place="section 3, eq. (28), Algorithm 2",
            max_evals=120 * 150,
            options={"population": 120, "w_start": 0.99, "w_end": 0.99, "c1": 2.5, "c2": 1.5},
            missing="reading of measurements, smallest inertia, perturbation, velocity limit",
        ),
        "umar-2021-mupso": PublishedSetting(
            method="mupso",
            paper=UMAR,
            place="section 2, eq. (1)-(8)",
            max_evals=50 * 30,
            options={
                "population": 50,
                "w_start": 2.1,
                "w_end": 0.6,
                "c1": 2.24,
                "c2_start": 1.8,
                "c2_end": 3.9,
                "threshold": 1e-8,
                "patience": 10,
            },
        ),
        "umar-2021-spso": PublishedSetting(
            method="pso",
            paper=UMAR,
            place="Table 2",
            max_evals=50 * 30,
            options={"population": 50, "w": 0.72, "c1": 1.45, "c2": 1.45},
        ),
        "umar-2021-woa": PublishedSetting(
            method="woa",
            paper=UMAR,
            place="Table 2",
            max_evals=50 * 30,
            options={"population": 50, "a_start": 2.0},
            missing="bounds",
        ),
        "umar-2021-gwo": PublishedSetting(
            method="gwo",
            paper=UMAR,
            place="Table 2",
            max_evals=50 * 30,
            options={"population": 50, "a_start": 2.0},
            missing="bounds",
        ),
        "umar-2021-goa": PublishedSetting(
            method="goa",
            paper=UMAR,
            place="Table 2",
            max_evals=50 * 30,
            options={"population": 50, "c_max": 1.0, "c_min": 4e-5},
            missing="intensity, length, bounds",
        ),
        "umar-2021-de": PublishedSetting(
            method="de",
            paper=UMAR,
            place="Table 2",
            max_evals=50 * 30,
            options={"population": 50, "F": 0.85, "CR": 1.0},
            missing="base of the mutant, bounds",
        ),
        "kou-2022-sedsabso": PublishedSetting(
            method="sedsabso",
            paper=KOU,
            place="section 5.2, eq. (10)-(16)",
            max_evals=3 * 29_467 + 3 * 600,
            options={
                "population": 90,
                "f_max": 0.9,
                "f_min": 0.3,
                "w": 0.8,
                "c1": 2.0,
                "c2": 2.0,
                "mix": 0.9,
                "step": 0.05,
                "disturbances": 3,
                "temperature": 1e4,
                "cooling": 0.93,
            },
            missing="size of the small initial region, velocity limit, bounds",
        ),
        "kou-2022-bso": PublishedSetting(
            method="bso",
            paper=KOU,
            place="section 5.2, eq. (10)-(13)",
            max_evals=3 * 50 * 600,
            options={"population": 50, "w": 0.8, "c1": 2.0, "c2": 2.0, "mix": 0.9, "step": 0.05},
            missing="size of the small initial region, velocity limit, bounds",
        ),
        "kou-2022-ldwpso": PublishedSetting(
            method="ldw-pso",
            paper=KOU,
            place="section 5.2",
            max_evals=50 * 600,
            options={"population": 50, "c1": 2.0, "c2": 2.0},
            missing="inertia weights, size of the small initial region, velocity limit, bounds",
        ),
        "yan-2015-elpidso": PublishedSetting(
            method="elpidso",
            paper=YAN,
            place="eq. (21), (25)-(28), Algorithm 1",
            max_evals=20 * 15_000,
            options={
                "population": 20,
                "c1_start": 2.0,
                "c1_end": 0.0,
                "c2_start": 0.0,
                "c2_end": 2.0,
                "patience": 5,
                "sigma_start": 1.0,
                "sigma_end": 0.1,
            },
            missing="gains of eq. (22)-(24), velocity limit, bounds",
        ),
        "yan-2015-spso": PublishedSetting(
            method="ldw-pso",
            paper=YAN,
            place="eq. (4)-(5); Table 2 is an image",
            max_evals=20 * 15_000,
            options={"population": 20},
            missing="all coefficients",
        ),
        "yan-2015-ga": PublishedSetting(
            method="ga",
            paper=YAN,
            place="Table 2 is an image",
            max_evals=20 * 15_000,
            options={"population": 20},
            missing="operators and all coefficients",
        ),
        "tang-2023-pso": PublishedSetting(
            method="pso",
            paper=TANG,
            place="section 5, eq. (13)-(14)",
            max_evals=200 * 200,
            options={"population": 200, "w": 1.3, "c1": 1.5, "c2": 3.0},
        ),
        "tang-2023-rwpso": PublishedSetting(
            method="rwpso",
            paper=TANG,
            place="section 5, eq. (13)-(15)",
            max_evals=200 * 200,
            options={"population": 200, "c1": 1.5, "c2": 3.0},
            missing="mu and sigma of eq. (15), velocity limit, bounds",
        ),
    }
)
"""The published configurations by name: first author, year, what the paper calls the method."""
