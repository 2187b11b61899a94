"""Where a campaign works: in processes of this machine, or on a Dask cluster."""

import asyncio
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config

from robotid_sim.errors import OptionError
from robotid_sim.parallel import kept_workers

LOCAL = "local"
"""The cluster of processes of this machine."""

PRELOAD = "robotid_sim.campaign.dask_worker"
"""What a process of the local cluster loads."""


@contextmanager
def working_in(cluster: str | None, workers: int | None) -> Iterator[int]:
    """Send the work of the block to processes and give their number.

    The cluster is ``local``, or the address of a Dask scheduler; by default processes of joblib.
    `workers` are those of this machine, by default one a core. Raises `OptionError` if Dask is not
    installed or no scheduler answers.
    """
    count = workers or os.cpu_count() or 1
    if cluster is None:
        with kept_workers():
            yield count
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise OptionError(
            "--cluster needs Dask's distributed: pip install 'robotid_sim[cluster]'"
        ) from error
    if cluster == LOCAL:
        # What it says of processes that come and go is said by the campaign where it matters.
        logging.getLogger("distributed").propagate = False
        options = {"threads_per_worker": 1, "dashboard_address": None, "preload": [PRELOAD]}
        with LocalCluster(n_workers=count, silence_logs=logging.ERROR, **options) as local:
            with Client(local), parallel_config(backend="dask"):
                try:
                    yield count
                finally:
                    local.sync(_end, local.workers.values())
        return
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler answers at --cluster {cluster}: {error}") from error
    with client, parallel_config(backend="dask"):
        yield max(1, sum(client.nthreads().values()))


async def _end(workers: Iterable[Any]) -> None:
    """Kill processes of Dask: asked to retire they take seconds, and longer when at work."""
    closing = [worker.close(timeout=0.1) for worker in workers]
    await asyncio.gather(*closing, return_exceptions=True)  # late on a busy machine
