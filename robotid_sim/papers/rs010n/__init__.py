"""Kou, Guo, Ren (2022): identification of a Kawasaki RS010N by an annealed beetle swarm."""
