"""The experiment: the loop of plant, controller and reference, and what acts on it."""
