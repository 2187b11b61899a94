"""
Friction over speed
===================

Torque without rigid-body part over velocity, and the fitted law.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.friction(study)
