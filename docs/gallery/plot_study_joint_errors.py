"""
Tracking errors of a joint
==========================

The same sliding-mode controller with the nominal, the true and the identified model inside.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.joint_errors(study)
