"""Umar, Shi, Khlil, Farouk (2021): excitation of an ABB IRB 120 by a mutating particle swarm."""
