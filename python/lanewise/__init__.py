"""Lanewise: a PCI Express performance lab.

The functions mirror the verbs of the command line and return frozen dataclasses whose tables are Polars
frames, with the unit of every quantity in its column name:

    import lanewise

    result = lanewise.run("rig.toml")
    print(result.flows)

Nothing heavy is imported before it is used, so that ``import lanewise`` and ``lanewise --help`` feel instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanewise._core import VERSION as __version__  # noqa: N811  (a constant there, the customary name here)

if TYPE_CHECKING:
    from lanewise._core import ScenarioError as ScenarioError
    from lanewise.api import bench as bench
    from lanewise.api import calibrate as calibrate
    from lanewise.api import compare as compare
    from lanewise.api import explain as explain
    from lanewise.api import parts as parts
    from lanewise.api import reproduce as reproduce
    from lanewise.api import run as run
    from lanewise.api import sensitivity as sensitivity

_HOMES = {
    **dict.fromkeys(
        ("bench", "calibrate", "compare", "explain", "parts", "reproduce", "run", "sensitivity"),
        "lanewise.api",
    ),
    "ScenarioError": "lanewise._core",
}

__all__ = [
    "ScenarioError",
    "__version__",
    "bench",
    "calibrate",
    "compare",
    "explain",
    "parts",
    "reproduce",
    "run",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lanewise' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
