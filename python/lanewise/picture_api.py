"""The verb `draw` as a function, `picture`: a topology as SVG, of a scenario, a run or a machine.

What is drawn is told from what it is: a run, a scenario, or else anything that `scan` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lanewise.errors import InputError
from lanewise.inputs import STANDARD_INPUT, read_file, read_input
from lanewise.machine.model import Machine
from lanewise.results import RunResult
from lanewise.runs.simulator import is_file
from lanewise.written import in_short

if TYPE_CHECKING:
    from lanewise.api import Overrides
    from lanewise.draw.model import LinkUse, Topology
    from lanewise.draw.svg import Theme

Drawable: TypeAlias = RunResult | Machine | Mapping[str, object] | str | Path | None
"""A run or its folder, a scenario or its file, a machine or a dump of one; ``-``; None for this machine."""

_MOST_LOOKED_AT = 1 << 18
"""Bytes of a file in which a heading of a scenario is looked for."""
_COMPONENTS = r"(?:host|switch|endpoint|storage|network|workload|run|firmware)"
_TOML = re.compile(rf"^[ \t]*\[\[?[ \t]*{_COMPONENTS}[ \t]*[.\]]".encode(), re.MULTILINE)
_TOML_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:\[|[\w.\"'-]+[ \t]*=)")
"""What stands first in a scenario; a message or a page may quote one further down."""
_JSON = re.compile(rf'^\s*\{{[^{{\[]*"{_COMPONENTS}"\s*:\s*[{{\[]'.encode())


@dataclass(frozen=True)
class Picture:
    """What is to be drawn: a topology, and for a run how much each link was in use, by its name."""

    topology: Topology
    use: Mapping[str, LinkUse] = field(default_factory=dict)

    def svg(self, theme: Theme = "auto", *, embedded: bool = False) -> str:
        """Return the text of an SVG file; `embedded` is for a page that has a title and a background."""
        from lanewise.draw.svg import topology_svg

        return topology_svg(self.topology, self.use or None, theme=theme, embedded=embedded)

    def save(self, path: str | Path, theme: Theme = "auto") -> Path:
        """Write a ``.svg`` or ``.png``, whole or not at all; raises `lanewise.InputError` for other names."""
        from lanewise.draw.files import save

        return save(self.svg(theme), Path(path))

    def __repr__(self) -> str:
        """Say what it shows."""
        return in_short(self, self.topology.title)

    def _repr_svg_(self) -> str:
        """Return what a notebook shows."""
        return self.svg()


def picture(
    source: Drawable = None,
    *,
    overrides: Overrides = (),
    overlays: Iterable[str | Path] = (),
    everything: bool = False,
) -> Picture:
    """Return the picture of the topology of a scenario, a run or a machine.

    `source` is a scenario (path, text or dictionary), a result or the folder of a run, a machine, anything
    that `scan` reads, or None for this machine. Of a run, links have their use. `overrides` are for
    scenarios, `overlays` for machines, as in `explain` and `scan`; with `everything`, functions of a machine
    that move no data are drawn, too. Raises `lanewise.InputError` as those do, and for
    options that do not go together.

    >>> import lanewise
    >>> lanewise.picture("scenarios/switch.toml").svg().startswith("<svg ")
    True
    >>> [top.head for top in lanewise.picture("examples/laptop.txt").topology.tops]
    ['host']
    """
    changes, on_top = list(overrides.items() if isinstance(overrides, Mapping) else overrides), list(overlays)
    match source:
        case RunResult():
            found = _of_run(source, None)
        case Machine():
            found = _of_machine(source, everything=everything)
        case Mapping():
            return _of_scenario(source, source, changes)
        case str() if not is_file(source):
            return _of_scenario(source, _tables(source.encode("utf-8", "replace")), changes)
        case _:
            return _of_file(source, changes, on_top, everything=everything)
    _refuse(changes, on_top, "that")
    return found


def _of_file(
    source: str | Path | None,
    changes: list[tuple[str, object]],
    overlays: list[str | Path],
    *,
    everything: bool,
) -> Picture:
    """Draw what a path, standard input or nothing leads to."""
    from lanewise.machine.reading import read, read_bytes
    from lanewise.machine.unpacking import MOST_BYTES

    if source is not None and _is_run(Path(source)):
        from lanewise.runs.folder import load_run

        _refuse(changes, overlays, f"the run '{source}'")
        return _of_run(load_run(Path(source)), Path(source))
    is_standard = str(source) == STANDARD_INPUT
    data = _beginning(source) if not is_standard else read_input(STANDARD_INPUT, MOST_BYTES)
    if str(source).endswith(".toml") or _is_scenario(data[:_MOST_LOOKED_AT]):
        if overlays:
            raise InputError("--with is for machines, and this is a scenario")
        if not is_standard:
            return _of_scenario(str(source), _tables(data), changes)
        text = data.decode("utf-8", "surrogateescape")
        return _of_scenario(text if "\n" in text else f"{text}\n", _tables(data), changes)
    if changes:
        raise InputError(
            "--set is for scenarios, and this is a machine; 'lanewise scan --scenario' makes one"
        )
    machine = read_bytes(data, overlays=overlays) if is_standard else read(source, overlays=overlays)
    return _of_machine(machine, everything=everything)


def _is_scenario(data: bytes) -> bool:
    """Whether something is a scenario by its looks, be it one with mistakes."""
    return bool(_JSON.match(data) or (_TOML_BEGINS.match(data) and _TOML.search(data)))


def _is_run(path: Path) -> bool:
    return path.is_dir() and (path / "manifest.json").is_file()


def _beginning(source: str | Path | None) -> bytes:
    """Return what a file begins with; nothing for what is no file, which the reader of it speaks about."""
    if source is None or not Path(source).is_file():
        return b""
    return read_file(source, _MOST_LOOKED_AT)


def _tables(data: bytes) -> Mapping[str, Any]:
    from lanewise.scenario_text import written_tables

    return written_tables(data.decode("utf-8", "replace"))


def _of_scenario(
    scenario: str | Path | Mapping[str, object], written: Mapping[str, Any], changes: list[tuple[str, object]]
) -> Picture:
    from lanewise.api import explain
    from lanewise.draw.scenario import of_scenario

    return Picture(of_scenario(explain(scenario, overrides=changes).document, written))


def _of_run(result: RunResult, folder: Path | None) -> Picture:
    from lanewise.draw.scenario import use_of
    from lanewise.draw.simulated import topology_of

    resolved = None
    if folder is not None:
        from lanewise.runs.folder import load_resolved

        resolved = load_resolved(folder)
    return Picture(topology_of(result, resolved=resolved), use_of(result.document))


def _of_machine(machine: Machine, *, everything: bool) -> Picture:
    from lanewise.draw.machine import of_machine

    return Picture(of_machine(machine, everything=everything))


def _refuse(changes: list[tuple[str, object]], overlays: list[str | Path], what: str) -> None:
    """Raise InputError where nothing of a source can be changed."""
    if changes or overlays:
        option = "--set" if changes else "--with"
        raise InputError(f"{option} changes nothing of {what}: give the scenario or the dump itself")
