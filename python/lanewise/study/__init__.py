"""Studies: a scenario run at every point of a grid, kept in a folder that goes on where it was."""
