"""Swarm and evolutionary optimizers with an ask/tell interface; knows no robots."""
