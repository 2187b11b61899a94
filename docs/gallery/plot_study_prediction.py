"""
Prediction of an unseen motion
==============================

The test that counts: another motion, which the fit has not seen.
"""

from shared import study

import robotid_sim as rid

figure = rid.plot.prediction(study)
