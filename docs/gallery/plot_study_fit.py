"""
Fit of the log
==============

Measured and modeled torque of every joint.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.fit(study)
