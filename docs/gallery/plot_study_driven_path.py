"""
The path that the loop drives
=============================

The circle of the tool in the closed loop, errors magnified.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.driven_path(study)
