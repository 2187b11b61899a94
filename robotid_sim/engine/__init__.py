"""The PyBullet engine: plants, and distances between links."""
