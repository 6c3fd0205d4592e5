"""Wheel and source distribution, installed where there is no checkout and no compiler, do their work there.

Both are built from this checkout, the wheel from the core that is built already. What they need is installed
as a user's pip would, from the package index, in the versions of ``constraints.txt``.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path

import pytest

import lanewise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DUMP = ROOT / "tests" / "python" / "machine" / "dumps" / "qemu.vvv"
MOST_MIB = 300
"""What an installation without extras may take on disk, Python's own files apart."""


@dataclass
class Installation:
    """An environment of its own, in a folder that is no checkout."""

    folder: Path

    @classmethod
    def empty(cls, folder: Path) -> Installation:
        venv.create(folder / "env")
        (folder / "empty").mkdir()
        return cls(folder)

    def look_into(self, other: Installation) -> None:
        """Find there what is not installed here: what was installed there is not installed twice."""
        (self.packages / "other.pth").write_text(f"{other.packages}\n")

    @property
    def bin(self) -> Path:
        return self.folder / "env" / ("Scripts" if os.name == "nt" else "bin")

    @property
    def packages(self) -> Path:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(self.run("python", "-c", code).stdout.strip())

    def run(self, program: str, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        kept = ("PYTHON", "VIRTUAL_ENV", "LANEWISE", "PATH")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(kept)}
        done = subprocess.run(
            [str(self.bin / program), *map(str, arguments)],
            cwd=self.folder / "empty",
            env={**environment, "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin", "NO_COLOR": "1"}
            | {"LANEWISE_CACHE": str(self.folder / "cache"), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, f"{program} {arguments}: {done.stdout}{done.stderr}"
        return done

    def install(self, *what: object) -> None:
        options = ("--quiet", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
        # With the pip of the tests: to unpack another one takes seconds.
        pip = (sys.executable, "-m", "pip", "--python", self.bin / "python")
        self.run(*pip, "install", *options, *what)

    def mebibytes(self) -> float:
        """Return the size of everything that was installed."""
        return sum(file.stat().st_size for file in self.packages.rglob("*") if file.is_file()) / 2**20


def build(*arguments: object, **environment: str) -> None:
    command = [str(Path(sys.executable).with_name("maturin")), *map(str, arguments)]
    environment_of = Path(sys.executable).parents[1]
    flags = {"VIRTUAL_ENV": str(environment_of), "PYO3_PYTHON": str(environment_of / "bin" / "python")}
    changed = {**os.environ, **flags, **environment}
    done = subprocess.run(command, cwd=ROOT, env=changed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def with_lab(folder: Path, wheel: Path, status: int = 0) -> str:
    """Put a lab into a wheel, as `make wheel` does, and return what is said."""
    command = [sys.executable, str(ROOT / ".ci" / "wheel_with_lab.py"), str(folder), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr


def without_the_core(wheel: Path, folder: Path) -> Path:
    """Return a copy that is packed in a moment."""
    small = folder / wheel.name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(small, "w") as copy:
        for info in archive.infolist():
            if not info.filename.startswith("lanewise/_core"):
                copy.writestr(info, archive.read(info))
    return small


def contents(wheel: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the lab that `make test-web` has built; a stand-in of the same files where there is none."""
    tested = ROOT / "target" / "lab-tested"
    folder = tmp_path_factory.mktemp("lab") / "lab"
    if (tested / "lanewise-lab.html").is_file():
        # Tests of the page write one with Python inside, which `make lab` does not.
        shutil.copytree(tested, folder, ignore=shutil.ignore_patterns("*-with-diagnosis.html"))
        return folder
    (folder / "assets").mkdir(parents=True)
    for name in ("lanewise-lab.html", "index.html", "THIRD-PARTY-LICENSES-PAGE.txt", "assets/index-1.js"):
        (folder / name).write_text(f"{name}\n")
    return folder


@pytest.fixture(scope="module")
def wheel(lab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the flags of `make setup`, so that what it compiled is not compiled again."""
    out = tmp_path_factory.mktemp("wheel")
    make = ["make", "--silent", "profile-flags"]
    profile = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    flags = f"{os.environ.get('RUSTFLAGS', '')} {profile}"
    build("build", "--release", "--compatibility", "linux", "--out", out, RUSTFLAGS=flags)
    (built,) = out.glob("*.whl")
    with_lab(lab, built)
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    installation = Installation.empty(tmp_path_factory.mktemp("installed"))
    installation.install(wheel)
    return installation


def does_its_work(installation: Installation) -> None:
    """Know all parts, reproduce a table as the core here does, run a scenario and check a machine.

    The table is one of short runs, as the core may be one that was not optimised.
    """
    parts = json.loads(installation.run("lanewise", "parts", "--json").stdout)
    assert parts == json.loads(lanewise.parts().to_json())
    table = json.loads(installation.run("lanewise", "reproduce", "WIS-1", "--no-report", "--json").stdout)
    (experiment,), (here,) = table["experiments"], lanewise.reproduce("WIS-1").experiments
    assert experiment["passed"]
    assert [cell["simulated"] for cell in experiment["cells"]] == [cell.simulated for cell in here.cells]
    scenario = installation.folder / "empty" / "switch.toml"
    shutil.copy(ROOT / "scenarios" / "switch.toml", scenario)
    run = json.loads(installation.run("lanewise", "run", scenario, "--json").stdout)
    assert sum(flow["goodput_gb_per_s"] for flow in run["flows"]) == pytest.approx(7.2, rel=0.02)
    diagnosis = json.loads(installation.run("lanewise", "doctor", DUMP, "--json", status=1).stdout)
    assert diagnosis["findings"]


def test_the_wheel_does_its_work(installed: Installation) -> None:
    code = "import lanewise, lanewise._core; print(lanewise.__file__, lanewise._core.__file__)"
    for place in installed.run("python", "-c", code).stdout.split():
        assert Path(place).is_relative_to(installed.folder)
    does_its_work(installed)


def test_a_run_folder_is_written_without_pyarrow(installed: Installation) -> None:
    out = installed.folder / "run"
    installed.run("lanewise", "run", ROOT / "scenarios" / "switch.toml", "--out", out)
    code = f"import polars; print(polars.read_parquet({str(out / 'flows.parquet')!r}).height)"
    assert installed.run("python", "-c", code).stdout == "2\n"


def test_the_installation_is_small(installed: Installation) -> None:
    assert installed.mebibytes() < MOST_MIB


def test_a_verb_says_which_extra_it_needs(installed: Installation) -> None:
    done = installed.run("lanewise", "calibrate", "IDT-T5", "--dry-run", status=2)
    assert "calibrate needs scipy and numpy (extra 'calibrate')" in done.stderr
    assert "\n  pip install 'scipy>=1.15' 'numpy>=2'" in done.stderr
    done = installed.run("lanewise", "reproduce", "OPP-3", "--report", "page.html", status=2)
    assert "--report needs altair" in done.stderr
    assert done.stdout == ""


def test_machine_verbs_need_nothing_else(wheel: Path, tmp_path: Path) -> None:
    alone = Installation.empty(tmp_path)
    alone.install("--no-deps", wheel)
    code = (
        "import lanewise, sys; machine = lanewise.scan(sys.argv[1]);"
        "lanewise.diagnose(machine).to_json(); lanewise.predict(machine, devices=['01:00.0']).to_json();"
        "lanewise.judge(sys.argv[2], machine).to_json()"
    )
    output = ROOT / "tests" / "python" / "captured" / "perftest-6.06-ib_write_bw.txt"
    alone.run("python", "-c", code, DUMP, output)
    # The command line itself is made with Typer, which brings Rich.
    alone.install("typer")
    alone.run("lanewise", "scan", DUMP)
    alone.run("lanewise", "doctor", DUMP, status=1)
    alone.run("lanewise", "predict", DUMP, "--device", "01:00.0")
    alone.run("lanewise", "import", output, "--machine", DUMP, status=2)
    done = alone.run("lanewise", "run", ROOT / "scenarios" / "switch.toml", status=2)
    assert "pip install 'polars" in done.stderr


def test_what_is_in_the_wheel(wheel: Path) -> None:
    assert re.fullmatch(r"lanewise-[\d.]+-cp311-abi3-\w+\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("examples", "experiments", "scenarios", "schema"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert files
        for file in files:
            assert f"lanewise/data/{file.relative_to(ROOT).as_posix()}" in names
    assert "lanewise/machine/pci.ids.gz" in names
    assert "lanewise/wireshark/lanewise.lua" in names
    for license_ in ("LICENSE", "THIRD-PARTY-LICENSES.txt", "python/lanewise/machine/pci.ids.LICENSE"):
        assert any(name.endswith(f".dist-info/licenses/{license_}") for name in names), license_


def test_each_file_of_the_wheel_is_as_its_list_says(wheel: Path, lab: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(name for name, _, _ in rows) == sorted(names)
        for name, digest, size in rows:
            content = archive.read(name)
            expected = urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (name == record and not digest) or (digest, size) == (
                f"sha256={expected}",
                str(len(content)),
            )
        for file in (path for path in lab.rglob("*") if path.is_file()):
            place = f"lanewise/data/lab/{file.relative_to(lab).as_posix()}"
            assert archive.read(place) == file.read_bytes()


def test_a_lab_replaces_another_one(wheel: Path, lab: Path, tmp_path: Path) -> None:
    small = without_the_core(wheel, tmp_path)
    before = contents(small)
    other = tmp_path / "lab"
    other.mkdir()
    for name in ("lanewise-lab.html", "index.html", "THIRD-PARTY-LICENSES-PAGE.txt", "other.js"):
        (other / name).write_text("other\n")
    with_lab(other, small)
    assert ("lanewise/data/lab/other.js", b"other\n") in contents(small)
    with_lab(lab, small)
    assert contents(small) == before


def test_what_is_no_lab_does_not_get_into_a_wheel(wheel: Path, tmp_path: Path) -> None:
    before = wheel.read_bytes()
    assert "it has no lanewise-lab.html, index.html" in with_lab(tmp_path, wheel, status=1)
    assert wheel.read_bytes() == before


def test_the_lab_is_installed(installed: Installation, lab: Path) -> None:
    done = installed.run("lanewise", "lab", "--out", "mine.html", "--json")
    written = installed.folder / "empty" / "mine.html"
    assert json.loads(done.stdout)["bytes"] == written.stat().st_size
    assert written.read_bytes() == (lab / "lanewise-lab.html").read_bytes()
    # What `lanewise serve` shows.
    folder = Path(
        installed.run("python", "-c", "import lanewise.lab; print(lanewise.lab.folder())").stdout.strip()
    )
    assert folder.is_relative_to(installed.folder)
    assert (folder / "index.html").read_bytes() == (lab / "index.html").read_bytes()


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack as pip does, as files of today: cargo takes files older than its results for unchanged."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    for file in folder.rglob("*"):
        os.utime(file)
    return folder / archive.name.removesuffix(".tar.gz")


def requirements(wheel: Path) -> list[str]:
    """Return what a wheel wants to have installed beside it."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    return [line for line in lines if line.startswith(("Requires-Dist:", "Requires-Python:"))]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says what is in a source distribution")
def test_the_source_distribution_builds_and_does_its_work(
    wheel: Path, installed: Installation, tmp_path: Path
) -> None:
    """Compiled without optimising, in a fraction of the time, with the libraries of the tests of the core."""
    build("sdist", "--out", tmp_path)
    own = ROOT / "target" / "sdist"
    source = unpacked(*tmp_path.glob("*.tar.gz"), own / "source")
    crates = [path.name for path in (ROOT / "crates").iterdir()]
    arguments = [
        "--profile dev",
        *(f"--config profile.dev.package.lanewise-{name}.opt-level=0" for name in crates),
    ]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    pip += ["--config-settings", f"build-args={' '.join(arguments)}"]
    pip += ["--wheel-dir", str(tmp_path), str(source)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(own)}
    environment |= {"CARGO_BUILD_BUILD_DIR": str(ROOT / "target"), "CARGO_INCREMENTAL": "0"}
    environment |= {"CARGO_PROFILE_DEV_DEBUG": "0"}
    done = subprocess.run(pip, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = tmp_path.glob("*.whl")
    assert requirements(built) == requirements(wheel)
    data = ["git", "ls-files", "examples", "experiments", "scenarios", "schema"]
    files = subprocess.run(data, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert files
    assert {f"lanewise/data/{file}" for file in files} <= set(zipfile.ZipFile(built).namelist())
    installation = Installation.empty(tmp_path)
    installation.install("--no-deps", built)
    installation.look_into(installed)
    does_its_work(installation)
    # Nothing but `make wheel` puts the lab there.
    done = installation.run("lanewise", "lab", "--out", tmp_path / "lab.html", status=2)
    assert "this installation of Lanewise has no lab" in done.stderr


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("pipx", ("run", "--spec")), ("uvx", ("--from",))],
)
def test_tools_that_install_and_run_at_once(
    program: str, arguments: tuple[str, ...], wheel: Path, tmp_path: Path
) -> None:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program} here")
    command = [found, *arguments, str(wheel), "lanewise", "doctor", str(DUMP)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert DUMP.name in done.stdout


def test_licences_of_others_are_those_of_today() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "third_party_licenses.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
