"""Tang et al. (2023): ROCR6, weighted least squares with a random-weight swarm."""

from robotid_sim.papers.rocr6.paper import Rocr6WlsRwpso

__all__ = ["Rocr6WlsRwpso"]
