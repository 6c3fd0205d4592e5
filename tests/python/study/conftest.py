"""What tests of studies share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def switch() -> Path:
    """A scenario of which a point takes little time."""
    return Path(__file__).parents[3] / "scenarios" / "switch.toml"
