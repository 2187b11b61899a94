"""Import: logs of machines in foreign forms, matched to the joints of a robot."""
