"""What Dask loads into the processes of a local cluster: they end with their parent."""

import os
from typing import Any

from robotid_sim.parallel import begin_worker


def dask_setup(_worker: Any) -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    begin_worker(os.getppid())
