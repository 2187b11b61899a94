"""
Torques of three models
=======================

What the model inside the controller changes in the torque.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.torque_differences(study)
