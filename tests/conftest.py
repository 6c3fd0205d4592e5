"""The order of all tests, and what they start from."""

from __future__ import annotations

import signal

import pytest

# What runs in the background may have SIGINT ignored, or SIGHUP, and whatever tests start would inherit that.
for number, own in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, own)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: begun last, it leaves all cores but one idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
