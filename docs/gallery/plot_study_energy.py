"""
Energy of a lap
===============

Work of the drives along a lap, by model.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.energy(study)
