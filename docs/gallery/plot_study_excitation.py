"""
An optimal excitation
=====================

Share of the limits of position, velocity, acceleration and torque that a D-optimal Fourier
series uses. It starts from rest, repeats, and keeps the links apart.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.excitation(study)
