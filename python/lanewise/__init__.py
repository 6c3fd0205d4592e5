"""Lanewise: a PCI Express performance lab.

The functions mirror the verbs of the command line and return frozen dataclasses whose tables are Polars
frames, with the unit of every quantity in its column name. About systems described in scenario files:

>>> import lanewise
>>> result = lanewise.run("scenarios/switch.toml", time_limit="40 us")
>>> result.flows.columns[:4]
['flow', 'device', 'direction', 'goodput_gb_per_s']

and about real machines (``doctor`` is `diagnose` here, ``import`` is `judge`, and ``draw`` is `picture`):

>>> machine = lanewise.scan("tests/python/machine/dumps/qemu.vvv")
>>> lanewise.diagnose(machine).table.columns[:5]
['severity', 'rule', 'bdf', 'device', 'title']

What cannot be used raises `InputError`, or `ScenarioError`, which is one. Nothing heavy is imported before it
is used, so that ``import lanewise`` and ``lanewise --help`` feel instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanewise._core import VERSION as __version__  # noqa: N811  (a constant there, the customary name here)

if TYPE_CHECKING:
    from lanewise.api import bench as bench
    from lanewise.api import compare as compare
    from lanewise.api import copy_matrix as copy_matrix
    from lanewise.api import explain as explain
    from lanewise.api import parts as parts
    from lanewise.api import reproduce as reproduce
    from lanewise.api import run as run
    from lanewise.api import run_fio as run_fio
    from lanewise.api import run_sizes as run_sizes
    from lanewise.api import sensitivity as sensitivity
    from lanewise.api import trace as trace
    from lanewise.api import whatif as whatif
    from lanewise.api import why as why
    from lanewise.api import write_trace as write_trace
    from lanewise.calibration_api import calibrate as calibrate
    from lanewise.errors import InputError as InputError
    from lanewise.errors import ScenarioError as ScenarioError
    from lanewise.machine_api import baseline as baseline
    from lanewise.machine_api import diagnose as diagnose
    from lanewise.machine_api import judge as judge
    from lanewise.machine_api import measure as measure
    from lanewise.machine_api import predict as predict
    from lanewise.machine_api import predict_peers as predict_peers
    from lanewise.machine_api import scan as scan
    from lanewise.picture_api import picture as picture
    from lanewise.report_api import write_report as write_report
    from lanewise.session import Session as Session
    from lanewise.study_api import load_study as load_study
    from lanewise.study_api import query_study as query_study
    from lanewise.study_api import search as search
    from lanewise.study_api import sweep as sweep

_NAMES = {
    "lanewise.api": (
        "bench",
        "compare",
        "copy_matrix",
        "explain",
        "parts",
        "reproduce",
        "run",
        "run_fio",
        "run_sizes",
        "sensitivity",
        "trace",
        "whatif",
        "why",
        "write_trace",
    ),
    "lanewise.calibration_api": ("calibrate",),
    "lanewise.errors": ("InputError", "ScenarioError"),
    "lanewise.machine_api": ("baseline", "diagnose", "judge", "measure", "predict", "predict_peers", "scan"),
    "lanewise.picture_api": ("picture",),
    "lanewise.report_api": ("write_report",),
    "lanewise.session": ("Session",),
    "lanewise.study_api": ("load_study", "query_study", "search", "sweep"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "InputError",
    "ScenarioError",
    "Session",
    "__version__",
    "baseline",
    "bench",
    "calibrate",
    "compare",
    "copy_matrix",
    "diagnose",
    "explain",
    "judge",
    "load_study",
    "measure",
    "parts",
    "picture",
    "predict",
    "predict_peers",
    "query_study",
    "reproduce",
    "run",
    "run_fio",
    "run_sizes",
    "scan",
    "search",
    "sensitivity",
    "sweep",
    "trace",
    "whatif",
    "why",
    "write_report",
    "write_trace",
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
