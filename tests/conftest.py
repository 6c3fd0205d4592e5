"""The order of all tests, and what they start from."""

from __future__ import annotations

import signal

import pytest

# A shell has SIGINT ignored in what it runs in the background, and whatever tests start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: begun last, it leaves all cores but one idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
