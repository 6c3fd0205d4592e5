"""Copies of sysfs as people make and name them: whole, in parts, by relative paths, through links."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import pytest
from machine_dumps import DUMPS

from lanewise.machine import read, read_bytes
from lanewise.machine.model import Machine

ARCHIVE = DUMPS / "qemu-vfs.sysfs.tar.gz"


def said(machine: Machine) -> dict[str, tuple[object, ...]]:
    """Return what a copy says, without what it is called."""
    return {
        str(each.address): (
            each.kind,
            each.parent,
            each.driver,
            each.numa_node,
            each.identity,
            each.registers,
        )
        for each in machine
    }


WHOLE = said(read(ARCHIVE))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of copies, each named for how it was made."""
    folder = tmp_path_factory.mktemp("copies")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder / "full", filter="tar")
    sys = folder / "full" / "sys"
    for name, parts in {
        # cp -a /sys/bus/pci /sys/devices .
        "apart": ("bus/pci", "devices"),
        # cp -a /sys/devices/pci* .
        "bare": tuple(f"devices/{each.name}" for each in (sys / "devices").glob("pci*")),
    }.items():
        for part in parts:
            shutil.copytree(sys / part, folder / name / Path(part).name, symlinks=True)
    # A folder whose parts are joined by relative links.
    shutil.copytree(sys / "devices", folder / "joined" / "store" / "devices", symlinks=True)
    shutil.copytree(sys / "bus", folder / "joined" / "sys" / "bus", symlinks=True)
    (folder / "joined" / "sys" / "devices").symlink_to("../store/devices")
    (folder / "linked").symlink_to("full/../full")
    return folder


@pytest.mark.parametrize(
    ("named", "within"),
    [
        (".", "full"),
        (".", "full/sys"),
        (".", "full/sys/bus"),
        (".", "full/sys/bus/pci"),
        (".", "full/sys/bus/pci/devices"),
        (".", "full/sys/devices"),
        (".", "full/sys/devices/pci0000:00"),
        ("..", "full/sys/bus/pci"),
        ("../../sys", "full/sys/bus"),
        ("bus/pci", "full/sys"),
        ("bus", "full/sys"),
        ("sys/devices/pci0000:00", "full"),
        ("full/../full/sys/", "."),
        ("linked", "."),
        ("linked/sys/bus/pci/devices", "."),
        ("apart", "."),
        ("pci/devices", "apart"),
        (".", "apart/pci"),
        ("joined", "."),
    ],
)
def test_a_copy_is_the_same_machine_however_it_is_named(
    copies: Path, named: str, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copies / within)
    machine = read(named)
    assert said(machine) == WHOLE
    assert machine.notes == ()


@pytest.mark.parametrize("named", ["bare", "bare/pci0000:00", "apart/devices/pci0000:00"])
def test_folders_of_host_bridges_alone_are_whole_trees(copies: Path, named: str) -> None:
    """Names of slots and nodes are in other folders; nothing else is missing."""
    machine = read(copies / named)
    assert said(machine) == WHOLE


def test_an_archive_of_host_bridges_alone_is_a_whole_tree(copies: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(copies / "bare", arcname=".")
    assert said(read_bytes(file.getvalue())) == WHOLE


def test_links_without_what_they_lead_to_are_said_to_be_that(copies: Path, tmp_path: Path) -> None:
    shutil.copytree(copies / "full/sys/bus/pci/devices", tmp_path / "sys/bus/pci/devices", symlinks=True)
    machine = read(tmp_path)
    assert set(said(machine)) == set(WHOLE)
    assert any("links to functions and not the functions" in note for note in machine.notes)
