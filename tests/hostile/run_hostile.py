"""Reads the hostile files one after the other and prints a line of JSON of each.

A process of its own: a file that runs code, hangs or fills memory does it here.
"""

import contextlib
import faulthandler
import io
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

from hostile_file import MARKER, HostileFile, arm, log_text

from robotid_sim.cli.app import main

ADDRESSES = 8 << 30
"""Addresses that the process may have: an allocation that no memory could hold fails [bytes]."""

SOUND = (
    "check arm.urdf",
    "view arm.urdf --record a.png --size 64x48",
    "import log.csv --robot arm.urdf -o new.h5",
    "identify arm.urdf log.csv -o e.json",
    "run arm.urdf --quick --out out --dry-run",
    "campaign list",
)
"""What is done with sound files first."""

HANGS = 60.0
"""Time after which a file ends the process, with a traceback of where it hangs [s]."""


def measured(case: HostileFile, folder: Path) -> dict[str, object]:
    """Return what came of a file: code, lines, time, largest memory, and whether code ran."""
    folder.mkdir()
    (folder / "arm.urdf").write_text(arm())
    (folder / "log.csv").write_text(log_text())
    case.write(folder)
    os.chdir(folder)
    out, err = io.StringIO(), io.StringIO()
    Path("/proc/self/clear_refs").write_text("5")  # the largest memory counts from here
    faulthandler.dump_traceback_later(HANGS, exit=True)
    began = time.perf_counter()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: object = main(case.words.split())
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - began
    faulthandler.cancel_dump_traceback_later()
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()
    ran = any(MARKER == path.name for path in folder.rglob("*"))
    os.chdir(folder.parent)
    shutil.rmtree(folder)
    return {
        "name": case.name,
        "code": code,
        "said": err.getvalue(),
        "seconds": seconds,
        "memory": 1024 * int(status[0]),
        "ran": ran or MARKER in out.getvalue(),
    }


if __name__ == "__main__":
    from hostile_files import HOSTILE_FILES

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    sound = Path(sys.argv[1]) / "sound"
    for words in SOUND:  # modules are loaded, and kernels compiled, before it counts
        measured(HostileFile("sound", words, lambda _: None), sound)
    wanted = sys.argv[2:]
    for k, case in enumerate(HOSTILE_FILES):
        if not wanted or any(word in case.name for word in wanted):
            print(json.dumps(measured(case, Path(sys.argv[1]) / str(k))), flush=True)
