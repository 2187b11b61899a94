"""The engines: plants in PyBullet and MuJoCo, and distances between links."""
