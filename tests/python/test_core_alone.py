"""Verbs about machines need the standard library and the core; their command line, Typer besides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DUMP = HERE / "machine" / "dumps" / "qemu.vvv"
OUTPUT = HERE / "captured" / "perftest-6.06-ib_write_bw.txt"
BLOCK = """
import sys

class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

allowed = {"lanewise", *sys.stdlib_module_names, *sys.argv.pop(1).split()}
sys.meta_path.insert(0, Only())
"""
API = """
import lanewise
machine = lanewise.scan(sys.argv[1])
print(machine.to_json() if hasattr(machine, "to_json") else len(list(machine)))
print(lanewise.diagnose(machine).to_json())
print(lanewise.predict(machine, devices=["01:00.0"]).to_json())
print(lanewise.judge(sys.argv[2], machine).to_json())
"""
COMMAND_LINE = """
from lanewise.cli import main
main()
"""
BROUGHT_BY_TYPER = "typer shellingham annotated_doc rich pygments markdown_it mdurl colorama"


def run(code: str, allowed: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCK + code, allowed, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_functions_need_the_standard_library_and_the_core() -> None:
    done = run(API, "", DUMP, OUTPUT)
    assert done.returncode == 0, done.stderr
    assert "ceiling_gb_per_s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("scan", DUMP), 0),
        (("scan", DUMP, "--json"), 0),
        (("scan", DUMP, "--scenario"), 0),
        (("doctor", DUMP), 1),
        (("doctor", DUMP, "--json"), 1),
        (("doctor", DUMP, "--format", "sarif"), 1),
        (("predict", DUMP, "--device", "01:00.0"), 0),
        (("import", OUTPUT, "--machine", DUMP, "--device", "04:00.0"), 0),
        (("--help",), 0),
    ],
)
def test_verbs_need_typer_besides(arguments: tuple[object, ...], status: int) -> None:
    done = run(COMMAND_LINE, BROUGHT_BY_TYPER, *arguments)
    assert done.returncode == status, done.stderr
    assert done.stdout


def test_without_typer_the_command_line_says_so() -> None:
    done = run(COMMAND_LINE, "", "scan", DUMP)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: this needs typer, which is not installed: type\n  pip install 'typer"
    )


def test_what_is_missing_is_named_with_the_command_to_type() -> None:
    done = run(COMMAND_LINE, BROUGHT_BY_TYPER, "parts")
    assert done.returncode == 2
    assert "this needs polars, which is not installed: type\n  pip install 'polars>=" in done.stderr


def test_a_module_of_nobody_is_our_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanewise.extras import explained

    assert explained(ModuleNotFoundError("No module named 'nowhere'", name="nowhere")) is None


def test_each_extra_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from lanewise import extras

    assert extras.missing("calibrate", "calibrate") is None
    installed = metadata.distribution

    def without_scipy(name: str) -> metadata.Distribution:
        if name == "scipy":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "distribution", without_scipy)
    with pytest.raises(extras.MissingPackageError, match=r"(?s)calibrate needs scipy .*pip install 'scipy>="):
        extras.need("calibrate", "calibrate")
    extras.need("report", "--report")
