"""The experiment: the loop of plant, controller and reference, and its disturbances."""
