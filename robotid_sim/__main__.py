"""``python -m robotid_sim``."""

from robotid_sim.cli.entry import entry

if __name__ == "__main__":
    entry()
