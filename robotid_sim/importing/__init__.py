"""Import of machine logs in foreign file formats; columns are matched to the joints of a robot."""
