"""What the package raises when its input is wrong; scenario files have `lanewise.ScenarioError`."""

from __future__ import annotations


class InputError(Exception):
    """Wrong input; the text says what was found, what is allowed, and what to do about it."""
