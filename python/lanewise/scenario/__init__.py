"""Scenarios as documents: what programs write and the core reads."""
