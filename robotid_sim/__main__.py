"""``python -m robotid_sim``."""

import os
import sys


def forget_working_folder() -> None:
    """Remove the working folder, which ``python -m`` adds, from the path of modules.

    It stays if the package itself is there, as in a clone that is not installed.
    """
    try:
        folder = os.getcwd()  # noqa: PTH109 - a module that is loaded already
    except OSError:
        return
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if not sys.flags.safe_path and sys.path[0] == folder != source:
        del sys.path[0]


if __name__ == "__main__":
    forget_working_folder()
    from robotid_sim.cli.entry import entry

    entry()
