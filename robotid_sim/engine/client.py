"""A PyBullet client whose functions need no client number."""

from functools import partial
from typing import Any

from robotid_sim.engine.closing import Closing
from robotid_sim.engine.quiet import captured_output

with captured_output():  # prints its build time
    import pybullet

EngineError: type[Exception] = pybullet.error
"""What PyBullet raises."""


class EngineClient(Closing):
    """PyBullet's names, its functions bound to a client; use it in a ``with`` block.

    Parameters
    ----------
    window : str, optional
        Options of PyBullet's window, which ends the process if there is no display; without them
        the client has no window.
    """

    def __init__(self, window: str | None = None) -> None:
        # Bullet prints its options, so that a client without a window gets none.
        self.number: int = (
            pybullet.connect(pybullet.DIRECT)
            if window is None
            else pybullet.connect(pybullet.GUI, options=window)
        )

    def __getattr__(self, name: str) -> Any:
        value = getattr(pybullet, name)
        if callable(value) and not isinstance(value, type):
            value = partial(value, physicsClientId=self.number)
        setattr(self, name, value)  # the next access is a plain attribute's
        return value

    def close(self) -> None:
        """Disconnect from the engine."""
        if self.number >= 0:
            pybullet.disconnect(physicsClientId=self.number)
            vars(self).clear()  # the number may soon be another client's
            self.number = -1
