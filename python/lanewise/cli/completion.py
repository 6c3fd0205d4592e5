"""What the shell offers for names that a verb takes. Asked while you type: nothing simulates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def parts(incomplete: str) -> list[str]:
    """Return parts of the catalog."""
    import json

    from lanewise import _core

    return _starting([part["name"] for part in json.loads(_core.parts())["parts"]], incomplete)


def examples(incomplete: str) -> list[str]:
    """Return example rigs."""
    from lanewise.examples import examples as known

    return _starting(known(), incomplete)


def experiments(incomplete: str) -> list[str]:
    """Return published experiments by their ids."""
    from lanewise.experiment.folders import experiments_root, find_experiments

    return _starting(find_experiments(experiments_root()), incomplete)


def scenarios_or_experiments(incomplete: str) -> list[str]:
    """Return published experiments, and files and folders that begin so."""
    from glob import escape
    from pathlib import Path

    files = [f"{path}/" if path.is_dir() else str(path) for path in Path().glob(f"{escape(incomplete)}*")]
    return [*experiments(incomplete), *sorted(files)]


def benchmarks(incomplete: str) -> list[str]:
    """Return benchmarks of the simulator."""
    from lanewise import _core

    return _starting(_core.benchmark_names(), incomplete)


def tools(incomplete: str) -> list[str]:
    """Return tools whose output can be written."""
    from lanewise.tools.instruments.native import WRITTEN

    return _starting(WRITTEN, incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in sorted(names) if name.lower().startswith(incomplete.lower())]
