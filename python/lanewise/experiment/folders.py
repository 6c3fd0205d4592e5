"""Where experiments are, and what one folder defines."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.data import data_folder
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.reading import read_folder

if TYPE_CHECKING:
    from lanewise.experiment.definition import Experiment


def load_experiment(folder: Path) -> Experiment:
    """Read an experiment folder; ExperimentError lists all that is wrong with it."""
    return read_folder(folder)


def find_experiments(root: Path) -> dict[str, Path]:
    """Return the experiment folders under `root` by their id, in the order of their names.

    A folder whose file cannot be read goes by its name: what is wrong is said when it is asked for.
    """
    found: dict[str, Path] = {}
    for path in sorted(root.glob("*/expected.toml")):
        id_ = _id_of(path)
        if id_ in found:
            raise ExperimentError(f"'{found[id_]}' and '{path.parent}' have the same id, {id_!r}")
        found[id_] = path.parent
    return found


def _id_of(path: Path) -> str:
    try:
        id_ = tomllib.loads(path.read_text(encoding="utf-8")).get("id")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        id_ = None
    return id_ if isinstance(id_, str) else path.parent.name.upper()


def experiments_root() -> Path:
    """Return the folder of experiments: of the checkout one stands in, or what comes with the package."""
    for start in (Path.cwd(), *Path.cwd().parents):
        if any((start / "experiments").glob("*/expected.toml")):
            return start / "experiments"
    return data_folder("experiments")
