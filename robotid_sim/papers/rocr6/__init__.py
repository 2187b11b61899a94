"""Tang et al. (2023): ROCR6, weighted least squares with a random-weight swarm."""
