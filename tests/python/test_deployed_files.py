"""Files of the how-tos that run the check on machines: what can be checked without a fleet.

Tools that judge such files (promtool, systemd-analyze, ansible-playbook, kubernetes-validate) are asked where
they are installed; what they would say of syntax and names is checked here without them, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from lanewise.cli.commands import app

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "how-to" / "files"
PAGES = ROOT / "docs" / "how-to"
DUMP = ROOT / "tests" / "python" / "machine" / "dumps" / "qemu-vfs.vvv"
COUNTED = 'format = 1\n[[count]]\nwhat = "adapters"\nclass = "network"\ncount = {}\n'
ADAPTERS = 3
"""Network adapters of that dump."""


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool}")


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **more,  # type: ignore[call-overload]
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program called lanewise that is the one under test."""
    path = tmp_path / "lanewise"
    path.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c 'from lanewise.cli import main; main()' \"$@\"\n")
    path.chmod(0o755)
    return path


def test_every_file_is_on_a_page_and_every_page_is_in_the_index() -> None:
    said = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    files = [file.relative_to(PAGES).as_posix() for file in FILES.rglob("*") if file.is_file()]
    assert len(files) > 8
    assert [file for file in files if f"({file})" not in said] == []
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES.glob("*.md") if f"how-to/{page.name}" not in index] == []


def test_every_option_exists() -> None:
    """Options of `lanewise doctor` that the files and pages give are those of the verb."""
    doctor = typer.main.get_command(app).commands["doctor"]  # type: ignore[attr-defined]
    known = {option for parameter in doctor.params for option in parameter.opts} | {"--no-cost"}
    used = set()
    pages = [PAGES / f"check-{name}.md" for name in ("with-systemd", "in-provisioning", "a-fleet")]
    for file in (*FILES.rglob("*"), *pages):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            for command in re.findall(r"(?:lanewise\S* doctor|lanewise_options:|\"args\":)(.*)", text):
                used |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", command))
    assert {"--expect", "--format", "--out", "--json", "--no-cost", "--watch"} <= used
    assert used - known == set()


def test_metrics_in_alerts_exist() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    rules = (FILES / "prometheus" / "lanewise.rules.yml").read_text(encoding="utf-8")
    names = set(re.findall(r"\blanewise_\w+", rules))
    assert names
    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_service_writes_where_it_may(program: Path) -> None:
    """What the service runs, with its folders moved, ends as it says it does."""
    unit = (FILES / "systemd" / "lanewise-doctor.service").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    (writable,) = re.findall(r"^ReadWritePaths=(.*)$", unit, re.MULTILINE)
    command = line.split()
    assert command[command.index("--out") + 1].startswith(f"{writable}/")
    fleet = program.parent / "fleet.toml"
    fleet.write_text(COUNTED.format(ADAPTERS + 1))
    out = program.parent / "lanewise.prom"
    moved = {"/usr/local/bin/lanewise": program, "/etc/lanewise/fleet.toml": fleet}
    moved[command[command.index("--out") + 1]] = out
    words = [str(moved.get(word, word)) for word in command]
    done = run(*words[:2], DUMP, *words[2:])
    assert (done.returncode, done.stderr) == (1, "")
    assert "SuccessExitStatus=1" in unit
    assert f'lanewise_present_devices{{what="adapters"}} {ADAPTERS}' in out.read_text()


@pytest.mark.parametrize(
    ("count", "source", "status", "said"),
    [
        (ADAPTERS, DUMP, 0, "PCI Express is as it should be"),
        (ADAPTERS + 1, DUMP, 1, f"{ADAPTERS} of {ADAPTERS + 1} adapters"),
        (ADAPTERS, "/no/such/file", 2, "the check could not be made"),
    ],
)
def test_the_plugin_of_node_problem_detector(
    program: Path, count: int, source: Path | str, status: int, said: str
) -> None:
    fleet = program.parent / "fleet.toml"
    fleet.write_text(COUNTED.format(count))
    environment = {**os.environ, "LANEWISE": str(program), "PYTHON": sys.executable}
    plugin = FILES / "kubernetes" / "pcie-problem.sh"
    done = run("sh", plugin, source, "--expect", fleet, "--fail-on", "error", env=environment)
    assert done.returncode == status
    (line,) = done.stdout.splitlines()
    assert line.startswith(said)
    assert os.access(plugin, os.X_OK)


def test_the_configuration_of_the_plugin_fits_the_manifests() -> None:
    """What node-problem-detector checks when it starts: timeouts, conditions, and files that exist."""
    folder = FILES / "kubernetes"
    config = json.loads((folder / "pcie-problem.json").read_text(encoding="utf-8"))
    manifest = (folder / "daemonset.yaml").read_text(encoding="utf-8")
    (rule,) = config["rules"]
    seconds = {"s": 1, "m": 60, "h": 3600}
    as_seconds = {
        text: int(text[:-1]) * seconds[text[-1]]
        for text in (
            rule["timeout"],
            config["pluginConfig"]["timeout"],
            config["pluginConfig"]["invoke_interval"],
        )
    }
    assert list(as_seconds.values()) == sorted(as_seconds.values())
    assert [condition["type"] for condition in config["conditions"]] == [rule["condition"]]
    mount = "/lanewise"
    assert f"mountPath: {mount}\n" in manifest
    assert f"--config.custom-plugin-monitor={mount}/pcie-problem.json" in manifest
    kustomization = (folder / "kustomization.yaml").read_text(encoding="utf-8")
    for path in (rule["path"], rule["args"][1]):
        assert path.rpartition("/")[0] == mount
        assert f"- {path.rpartition('/')[2]}\n" in kustomization
    assert "- name: lanewise-doctor\n" in kustomization
    assert "configMap:\n            name: lanewise-doctor\n" in manifest


@needs("promtool")
def test_promtool_accepts_the_alerts_and_they_fire_as_they_should() -> None:
    folder = FILES / "prometheus"
    for command in ("check", "test"):
        file = folder / ("lanewise.rules.yml" if command == "check" else "lanewise.rules.test.yml")
        done = run("promtool", command, "rules", file)
        assert done.returncode == 0, done.stdout + done.stderr


@needs("systemd-analyze")
def test_systemd_accepts_the_units(program: Path) -> None:
    for unit in sorted((FILES / "systemd").iterdir()):
        text = unit.read_text(encoding="utf-8").replace("/usr/local/bin/lanewise", str(program))
        (program.parent / unit.name).write_text(text)
    units = sorted(program.parent.glob("lanewise-doctor.*"))
    done = run("systemd-analyze", "verify", "--man=no", *units)
    assert (done.returncode, done.stderr) == (0, "")


@needs("kubernetes-validate")
def test_the_manifests_are_of_kubernetes() -> None:
    done = run("kubernetes-validate", "--strict", FILES / "kubernetes" / "daemonset.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@needs("ansible-playbook")
@pytest.mark.parametrize(("count", "failed"), [(ADAPTERS, 0), (ADAPTERS + 1, 1)])
def test_the_playbook_keeps_machines_out(program: Path, count: int, failed: int) -> None:
    folder = program.parent
    (folder / "fleet.toml").write_text(COUNTED.format(count))
    book = folder / "check-pcie.yml"
    book.write_text((FILES / "ansible" / "check-pcie.yml").read_text(encoding="utf-8"))
    values = {
        "lanewise": str(program),
        "lanewise_become": False,
        "lanewise_folder": str(folder / "etc"),
        "lanewise_source": str(DUMP),
        "lanewise_fail_on": "error",
        "ansible_python_interpreter": sys.executable,
    }
    environment = {**os.environ, "ANSIBLE_LOCALHOST_WARNING": "0", "HOME": str(folder)}
    options = ("-i", "localhost,", "-c", "local", "-e", json.dumps(values))
    done = run("ansible-playbook", *options, book, env=environment, cwd=folder)
    assert f"failed={failed}" in done.stdout, done.stdout + done.stderr
    assert (f"{ADAPTERS} of {count} adapters" in done.stdout) is bool(failed)
