"""What the package raises when its input is wrong: one family, with `InputError` at its head.

Scenario files have `ScenarioError`, which lists every mistake; experiments, run folders and outputs of
benchmarks have classes of their own beside what reads them. The two here are made by the core, so that it can
raise them. What cannot be opened or written is an OSError, as everywhere in Python.
"""

from __future__ import annotations

from lanewise._core import InputError, ScenarioError

__all__ = ["InputError", "ScenarioError"]
