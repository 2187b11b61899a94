"""Objects that must be closed; a module of its own, because it is needed without any engine."""

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """An object that must be closed; use it in a ``with`` block."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
