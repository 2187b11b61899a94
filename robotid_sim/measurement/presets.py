"""Presets: sensors of typical cells, in one table.

The numbers are orders of magnitude, chosen so that the presets lie apart; where no source is named
they are assumptions. `describe_presets` gives the table with the reasons.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robotid_sim.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class _Row:
    """A sensor in one or more presets; None where a preset is without it."""

    sensor: str
    reason: str
    lab: Mapping[str, Any] | None = None
    industrial: Mapping[str, Any] | None = None
    harsh: Mapping[str, Any] | None = None


# In the order in which they apply: what happens to the torque, to the position, then to the file.
_TABLE = (
    _Row(
        "torque-ripple",
        "assumed share of the RMS torque; two per motor revolution as of harmonic drives, Ghorbel "
        "et al. (2001), doi:10.1115/1.1334379",
        industrial={"relative": 0.005, "orders": [2.0], "shares": [1.0], "gear": 100.0},
        harsh={"relative": 0.02, "orders": [1.0, 2.0], "shares": [0.5, 1.0], "gear": 100.0},
    ),
    _Row(
        "motor-current",
        "assumed: drive gains from data sheets are a few percent off, which is why Gautier, Briot "
        "(2014), doi:10.1115/1.4027506, identify them; noise in A of 10 A at the peak torque",
        industrial={"error_std": 0.02, "noise": 0.02},
        harsh={"error_std": 0.05, "noise": 0.1, "offset": 0.05},
    ),
    _Row(
        "torque-offset",
        "assumed: zero drift of strain gauges and current sensors, share of the RMS torque",
        lab={"relative": 0.001},
        industrial={"relative": 0.005},
        harsh={"relative": 0.02},
    ),
    _Row(
        "torque-noise",
        "assumed: joint torque sensors reach some 0.3 % of the RMS torque; 1 % is the usual figure "
        "of simulation studies",
        lab={"relative": 0.003},
        industrial={"relative": 0.01},
        harsh={"relative": 0.03},
    ),
    _Row(
        "torque-delay",
        "assumed: current loop and bus take a part of a sample to some samples",
        industrial={"samples": 0.5},
        harsh={"samples": 2.5},
    ),
    _Row(
        "encoder-harmonics",
        "assumed eccentricity at the joint: some arc seconds of a good disk, up to an arc minute",
        lab={"revolute": 2e-5, "prismatic": 2e-6},
        industrial={"revolute": 1e-4, "prismatic": 1e-5},
        harsh={"revolute": 3e-4, "prismatic": 3e-5},
    ),
    _Row(
        "sample-jitter",
        "assumed: a real-time bus keeps microseconds, an ordinary operating system a tenth of a "
        "millisecond",
        lab={"std": 1e-6},
        industrial={"std": 1e-5},
        harsh={"std": 1e-4},
    ),
    _Row(
        "encoder-colored-noise",
        "assumed: vibration and interpolation error of the encoder, half of the white noise",
        industrial={"revolute": 1e-5, "prismatic": 1e-6, "correlation_time": 0.02},
        harsh={"revolute": 1e-4, "prismatic": 1e-5, "correlation_time": 0.02},
    ),
    _Row(
        "encoder-noise",
        "assumed: from 1e-5 rad of a fine encoder to 2e-4 rad",
        lab={"revolute": 1e-5, "prismatic": 1e-6},
        industrial={"revolute": 2e-5, "prismatic": 2e-6},
        harsh={"revolute": 2e-4, "prismatic": 2e-5},
    ),
    _Row(
        "encoder-quantization",
        "assumed: 20 bits at the joint; 17 and 12 bits at a motor that turns 100 and 10 times",
        lab={"bits": 20, "prismatic": 1e-7},
        industrial={"bits": 17, "gear": 100.0, "prismatic": 1e-6},
        harsh={"bits": 12, "gear": 10.0, "prismatic": 1e-5},
    ),
    _Row(
        "outliers",
        "assumed: bit errors and commutation spikes, in torques only",
        harsh={"probability": 1e-3, "torque": 5.0},
    ),
    _Row(
        "dropped-samples",
        "assumed: a logger without real time",
        industrial={"probability": 1e-4},
        harsh={"probability": 0.01},
    ),
)

_NAMES = ("lab", "industrial", "harsh")

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ideal": {},
    **{
        name: {row.sensor: dict(getattr(row, name)) for row in _TABLE if getattr(row, name)}
        for name in _NAMES
    },
}
"""Sensors with their options, by preset, in the order in which they apply; `ideal` has none."""


def preset(name: str) -> dict[str, dict[str, Any]]:
    """Return the sensors of a preset with their options, a copy.

    Raises
    ------
    UnknownNameError
        If there is no such preset; lists those there are.
    """
    if name not in PRESETS:
        raise UnknownNameError(f"unknown sensor preset '{name}'; known: {', '.join(PRESETS)}")
    return {sensor: dict(options) for sensor, options in PRESETS[name].items()}


def describe_presets() -> list[dict[str, Any]]:
    """Return the table: a row per preset and sensor with its options and the reason for them."""
    return [
        {"preset": name, "sensor": row.sensor, "options": dict(options), "reason": row.reason}
        for name in _NAMES
        for row in _TABLE
        if (options := getattr(row, name))
    ]
