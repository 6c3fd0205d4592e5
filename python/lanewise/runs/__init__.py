"""Runs: executing them on the core, keeping them in folders, not doing the same one twice."""
