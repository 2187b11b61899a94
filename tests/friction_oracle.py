"""Friction of a plant by its formula, sample by sample; what the compiled kernels must give."""

import numpy as np

from robotid_sim.model.friction_law import column


def friction_torque(rows, dq, load):
    """Return the friction torques of coefficients (n, 11) at `dq` and `load`, each (N, n)."""
    forward = dq >= 0.0

    def side(name):
        return np.where(forward, column(rows, f"{name}_forward"), column(rows, f"{name}_backward"))

    Fc, Fs = side("Fc"), side("Fs")
    falling = np.exp(-((np.abs(dq) / column(rows, "velocity")) ** column(rows, "shape")))
    dry = Fc + (Fs - Fc) * falling + column(rows, "load") * np.abs(load)
    sign = np.tanh(dq / column(rows, "eps"))
    return side("Fv") * dq + dry * sign + column(rows, "Fo")
