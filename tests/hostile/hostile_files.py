"""The corpus: files that would run code, hang, fill memory, or read what is not theirs."""

from hostile_arrays import ARRAYS
from hostile_file import HostileFile
from hostile_models import MODELS
from hostile_stores import STORES
from hostile_texts import TEXTS

HOSTILE_FILES: tuple[HostileFile, ...] = (*TEXTS, *MODELS, *ARRAYS, *STORES)
