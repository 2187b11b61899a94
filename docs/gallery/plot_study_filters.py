"""
Torque filters side by side
===========================

Noise that filters leave in the torque. Less noise is no better fit: what filters the torque
must filter the regressor too.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.torque_filters(study)
