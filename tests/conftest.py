"""The order of all tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: begun last, it leaves all cores but one idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
