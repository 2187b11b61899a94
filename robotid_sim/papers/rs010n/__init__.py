"""Kou, Guo, Ren (2022): identification of a Kawasaki RS010N by an annealed beetle swarm."""

from robotid_sim.papers.rs010n.paper import AnnealedBeetlePaper

__all__ = ["AnnealedBeetlePaper"]
