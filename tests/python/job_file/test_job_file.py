"""fio's job files: read as fio reads them, translated into workloads, refused with the line, run on a rig."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.known_units import UNITS
from lanewise.tools.instruments import fio
from lanewise.tools.job_file import numbers
from lanewise.tools.job_file.drives import Drive, assign, paths_in
from lanewise.tools.job_file.options import ALIASES
from lanewise.tools.job_file.plan import JobPlan, plan_jobs
from lanewise.tools.job_file.text import JobFileError, parse_job_file

ROOT = Path(__file__).parents[3]
RIG = ROOT / "scenarios" / "nvme_fio.toml"
JOBS = ROOT / "scenarios" / "nvme_fio.fio"


def plan(folder: Path, text: str, **arguments: Any) -> JobPlan:
    """Plan a job file on the rig with four drives."""
    path = folder / "jobs.fio"
    path.write_text(text)
    return plan_jobs(RIG, path, **arguments)


def options(folder: Path, text: str) -> dict[str, str]:
    """Return what the core gets of the only job of a text."""
    ((job,),) = plan(folder, f"[a]\nfilename=/dev/nvme0n1\ndirect=1\n{text}\n").phases
    return {key: value for key, value, _ in job.options}


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        # As fio 3.33 reads them: bytes of an I/O with bs=TEXT.
        ("4096", 1024, 4096),
        ("4k", 1024, 4096),
        ("4K", 1024, 4096),
        ("4kb", 1024, 4096),
        ("4ki", 1024, 4096),
        ("4kib", 1024, 4000),
        ("4096b", 1024, 4096),
        ("0x1000", 1024, 4096),
        ("4k", 1000, 4000),
        ("4kb", 1000, 4000),
        ("4ki", 1000, 4000),
        ("4kib", 1000, 4096),
        ("1m", 1024, 2**20),
        ("1g", 1024, 2**30),
        ("4.5k", 1024, None),
        ("4 k", 1024, None),
        ("(2*2)k", 1024, None),
        ("", 1024, None),
        ("9" * 40, 1024, None),
    ],
)
def test_sizes_are_what_fio_makes_of_them(text: str, base: int, value: int | None) -> None:
    """Units are powers of 1024 unless they end in ib, and the other way round with kb_base=1000."""
    assert numbers.number(text, base) == value


def test_times_have_the_unit_of_their_option() -> None:
    """`runtime` counts seconds and `thinktime` microseconds when nothing else is said."""
    assert [numbers.microseconds("10", unit) for unit in ("s", "us")] == [10_000_000, 10]
    assert [numbers.microseconds(text, "s") for text in ("5ms", "2M", "1h", "1.5s")] == [
        5_000,
        120_000_000,
        3_600_000_000,
        None,
    ]


def test_sections_comments_and_globals() -> None:
    """[global] holds for what comes after it; a comment may follow a value; names may repeat."""
    file = parse_job_file(
        "x",
        "; top\n[global]\nbs = 4k ; small\ndirect=1\n[a b]\ntime_based\n[global]\nbs=8k\n# c\n[a b]\nbs=1k\n",
    )
    assert [(section.name, section.line) for section in file.sections] == [("a b", 5), ("a b", 10)]
    first, second = (section.effective(ALIASES) for section in file.sections)
    assert (first["bs"].value, first["bs"].line, first["time_based"].value) == ("4k", 3, None)
    assert (second["bs"].value, second["direct"].value) == ("1k", "1")


def test_variables_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`${NAME}` is what the environment says; one that is not set is an error with its line."""
    monkeypatch.setenv("LANEWISE_TEST_BS", "8k")
    file = parse_job_file("x", "[a]\nbs=${LANEWISE_TEST_BS}\n")
    assert file.sections[0].own[0].value == "8k"
    with pytest.raises(JobFileError, match="LANEWISE_TEST_NONE"):
        parse_job_file("x", "[a]\nbs=${LANEWISE_TEST_NONE}\n")


@pytest.mark.parametrize(
    "text", ["", "[global]\nbs=4k\n", "bs=4k\n[a]\n", "[a\nbs=4k\n", "[a]\ninclude other.fio\n"]
)
def test_what_is_no_job_file_is_refused(text: str) -> None:
    """With a line and what to do about it."""
    with pytest.raises(JobFileError, match=r"--> x:1|--> x:2"):
        parse_job_file("x", text)


def test_devices_get_drives_as_told_by_name_and_in_order() -> None:
    """Numbers in names count as numbers; a drive that is taken is not given twice."""
    drives = {name: Drive(name, 0) for name in ("ssd[0]", "ssd[1]", "ssd[2]")}
    paths = paths_in("/dev/nvme10n1:/dev/nvme2n1:ssd[0]")
    found = assign(paths, drives, {})
    assert {path: drive.name for path, drive in found.items()} == {
        "ssd[0]": "ssd[0]",
        "/dev/nvme2n1": "ssd[1]",
        "/dev/nvme10n1": "ssd[2]",
    }
    assert assign(["/dev/sda", "data"], drives, {"data": "ssd[0]"})["/dev/sda"].name == "ssd[1]"
    assert "data" not in assign(["data"], drives, {})
    assert paths_in(r"/dev/a\:b:c") == ["/dev/a:b", "c"]
    with pytest.raises(lanewise.InputError, match=r"did you mean 'ssd\[2\]'"):
        assign(["x"], drives, {"x": "sd[2]"})


def test_options_become_those_of_the_workload(tmp_path: Path) -> None:
    """Sizes in bytes, times in microseconds, keys alone as true, second names under the first."""
    got = options(
        tmp_path,
        "readwrite=randwrite\nblocksize=4k,16k\nthinktime=5ms\nruntime=2\nramp_time=1\ntime_based\nrate=,1m\nsize=50%",
    )
    assert got == {
        "rw": '"randwrite"',
        "bs": "16384 B",
        "thinktime": "5000 us",
        "runtime": "3000000 us",
        "time_based": "true",
        "direct": "true",
        "rate": "1048576 B/s",
        "size": "1920000000000 B",
        "filename": '["ssd[0]"]',
    }


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("rw=randread\nbssplit=4k/60:16k/40", {"bs": '"16384 B 40 %, 4096 B 60 %"'}),
        ("rw=randread\nbssplit=4k/60:16k/20", {"bs": '"16384 B 20 %, 4096 B 80 %"'}),
        ("rw=randread\nbssplit=4k/60:16k/50", {"bs": '"16384 B 50 %, 4096 B 50 %"'}),
        ("rw=randread\nbssplit=4k/30:8k/30:16k/30", {"bs": '"4096 B 30 %, 8192 B 30 %, 16384 B 40 %"'}),
        ("rw=randread\nbssplit=4k:16k/", {"bs": '"4096 B 50 %, 16384 B 50 %"'}),
        ("rw=randread\nbssplit=4k/60:16k/40\nbs=8k", {"bs": '"16384 B 40 %, 4096 B 60 %"'}),
        ("rw=randread\nbsrange=16k-4k", {"bs": '"4096 B to 16384 B"'}),
        ("rw=write\nbsrange=4k-16k,8k:32k", {"bs": '"8192 B to 32768 B"'}),
        ("rw=randrw\nbs=4k,64k", {"bs": "4096 B", "bs_write": "65536 B"}),
        ("rw=randrw\nbsrange=4k-16k", {"bs": '"4096 B to 16384 B"'}),
    ],
)
def test_several_sizes_are_those_that_fio_draws(tmp_path: Path, text: str, sizes: dict[str, str]) -> None:
    """Shares as counted in logs of fio 3.33: the largest takes what is missing to a hundred."""
    got = options(tmp_path, text)
    assert {key: value for key, value in got.items() if key.startswith("bs")} == sizes


def test_sections_of_a_group_are_one_entry_with_the_options_of_the_last(tmp_path: Path) -> None:
    """As fio 3.33 prints them; `new_group` begins another one."""
    text = (
        "[global]\nfilename=/dev/nvme0n1\ndirect=1\ngroup_reporting\nsize=1m\n"
        "[a]\nrw=randread\nnumjobs=2\n[b]\nrw=randwrite\n[c]\nnew_group\nrw=read\nbssplit=4k/60:16k/40\n"
    )
    path = tmp_path / "jobs.fio"
    path.write_text(text)
    runs = lanewise.run_fio(RIG, path, overrides={"run.warm_up": "0 ns"})
    first, second = json.loads(runs.to_fio_json())["jobs"]
    assert (first["jobname"], first["groupid"], first["job options"]) == ("a", 0, {"rw": "randwrite"})
    assert (first["read"]["io_bytes"], first["write"]["io_bytes"]) == (2 << 20, 1 << 20)
    assert (second["jobname"], second["groupid"], second["write"]["io_bytes"]) == ("c", 1, 0)
    assert 4096 < second["read"]["io_bytes"] / second["read"]["total_ios"] < 16384


def test_size_is_divided_between_the_files(tmp_path: Path) -> None:
    """`size` is what a clone moves on all its files together."""
    text = "[a]\ndirect=1\nfilename=/dev/nvme0n1:/dev/nvme1n1\nsize=1g\n"
    ((job,),) = plan(tmp_path, text).phases
    assert ("size", f"{2**29} B", 4) in job.options


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("bssplit=4k/60:8k/40\nbsrange=4k-8k", "leave one of the two out"),
        ("bssplit=4k/0:16k/100", "leave out sizes that never come"),
        ("bssplit=4k/100:16k/", "nothing is left"),
        ("bssplit=4k/half", "is no size with a share"),
        ("bsrange=4k", "two sizes are needed"),
        ("directory=/mnt", "no file system"),
        ("cpus_allowed=0-3", "a core of its own"),
        ("iodeph=4", "did you mean `iodepth`"),
        ("bs=4.5k", "no number"),
        ("thinktime=5x", "no time"),
        ("thinktime_spin=5", "value 0 only"),
        ("time_based=yes", "it is 0 or 1"),
        ("rw=randrw\nrate_iops=100", "each direction of a mix"),
        ("filename=data.bin", "is no device"),
        ("filename=/dev/a:/dev/b:/dev/c:/dev/d:/dev/e", "`/dev/e` is given no drive"),
    ],
)
def test_what_would_change_the_result_is_refused(tmp_path: Path, line: str, word: str) -> None:
    """With its line and what to do."""
    with pytest.raises(JobFileError) as caught:
        options(tmp_path, line)
    assert word in str(caught.value)
    assert f"jobs.fio:{3 + len(line.splitlines())}" in str(caught.value)
    assert "hint: " in str(caught.value)


@pytest.mark.parametrize(
    "text", ["rw=randread:8", "ioengine=posixaio", "iodepth=0", "bs=1", "rate=1m\nrate_iops=5"]
)
def test_values_are_the_core_s_to_refuse(tmp_path: Path, text: str) -> None:
    """It shows the line of the job file as well."""
    with pytest.raises(lanewise.ScenarioError) as caught:
        options(tmp_path, text)
    assert "jobs.fio:4" in str(caught.value)


def test_the_page_cache_is_not_modelled(tmp_path: Path) -> None:
    """Buffered I/O is fio's default, so it is an error to say nothing; one, however many jobs say nothing."""
    jobs = [f"[{name}]\nfilename=/dev/nvme0n1\n" for name in "abc"]
    said = r"`b` has no `direct=1`\n.*jobs.fio:4\n[^~]*page cache[^~]*1 problem"
    with pytest.raises(JobFileError, match=said):
        plan(tmp_path, f"{jobs[0]}direct=1\n{jobs[1]}{jobs[2]}")
    with pytest.raises(lanewise.ScenarioError, match="page cache"):
        plan(tmp_path, f"{jobs[0]}direct=0\n")


def test_every_mistake_is_reported_once(tmp_path: Path) -> None:
    """Also those of [global], which every job has."""
    with pytest.raises(JobFileError) as caught:
        plan(tmp_path, "[global]\nbssplit=4k/0\n[a]\nverify=md5\n[b]\n")
    assert "4 problems" in str(caught.value)


def test_a_line_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    """And nobody is blamed for what an unset variable would have said."""
    text = "[a]\nfilename=${LANEWISE_TEST_NONE}\ninclude b.fio\nbs=4x\nsize=${LANEWISE_TEST_NONE}\niodeph=1\n"
    with pytest.raises(JobFileError) as caught:
        plan(tmp_path, text)
    lines = re.findall(r"--> \S+:(\d+)", str(caught.value))
    assert lines == ["2", "3", "4", "5", "6"]


def test_a_rig_without_drives_is_told_so(tmp_path: Path) -> None:
    """Not that each device of the file is given none."""
    (tmp_path / "jobs.fio").write_text("[a]\nfilename=/dev/nvme0n1\n")
    with pytest.raises(lanewise.InputError, match="has no drive for the jobs"):
        plan_jobs(ROOT / "scenarios" / "first_rig.toml", tmp_path / "jobs.fio")


def test_stonewall_separates_runs_and_names_become_plain(tmp_path: Path) -> None:
    """Jobs beside each other are one run; names have what paths of parameters can have."""
    text = (
        "[global]\nfilename=/dev/nvme0n1\ndirect=1\n[seq read]\n[seq read]\n[mix]\nname=the mix!\nstonewall\n"
    )
    phases = plan(tmp_path, text).phases
    assert [[(job.title, job.workload) for job in phase] for phase in phases] == [
        [("seq read", "seq-read"), ("seq read", "seq-read-2")],
        [("the mix!", "the-mix")],
    ]


def test_a_ramp_is_the_warm_up_when_it_fits(tmp_path: Path) -> None:
    """One of seconds is left to the run, which finds when it has settled; a note says so."""
    text = "[a]\nfilename=/dev/nvme0n1\ndirect=1\nramp_time="
    assert plan(tmp_path, f"{text}2ms").overrides_of(0) == [("run.warm_up", "2000 us")]
    long = plan(tmp_path, f"{text}5")
    assert long.overrides_of(0) == []
    assert any(note.startswith("ramp_time") for note in long.notes)


def test_overrides_reach_the_phase_of_their_job() -> None:
    """One about a job is not unknown in the runs of the others."""
    pairs = [("workload.seq-read.numjobs", "2"), ("ssd.nvme.dies", "64")]
    planned = plan_jobs(RIG, JOBS, overrides=pairs)
    assert [planned.overrides_of(phase) for phase in (0, 1)] == [pairs, pairs[1:]]
    with pytest.raises(lanewise.ScenarioError, match="nothing in the scenario has this name"):
        plan_jobs(RIG, JOBS, overrides=[("workload.seq-raed.numjobs", "2")])


def test_think_time_and_rate_in_closed_form(tmp_path: Path) -> None:
    """One job of eight I/Os in a round: their latencies and the pause; another held to its rate."""
    path = tmp_path / "jobs.fio"
    head = "[a]\nfilename=/dev/nvme0n1\ndirect=1\nrw=write\nbs=4k\nramp_time=1ms\n"
    path.write_text(f"{head}thinktime=200\nthinktime_blocks=8\n")
    job = json.loads(lanewise.run_fio(RIG, path, time_limit="21 ms").to_fio_json())["jobs"][0]["write"]
    # The thread's own time is not in the latency of an I/O of a synchronous engine.
    own = 500
    assert job["iops"] == pytest.approx(8e9 / (8 * (job["lat_ns"]["mean"] + own) + 200_000), rel=0.02)
    path.write_text(f"{head}rate=10m\nioengine=libaio\niodepth=4\n")
    job = json.loads(lanewise.run_fio(RIG, path, time_limit="21 ms").to_fio_json())["jobs"][0]["write"]
    assert job["bw_bytes"] == pytest.approx(10 * 2**20, rel=0.01)


def test_the_output_has_names_and_options_as_written() -> None:
    """And reads back as fio's own does."""
    text = lanewise.run_fio(RIG, JOBS, time_limit="1 ms").to_fio_json()
    document = json.loads(text)
    assert document["global options"]["filename"].startswith("/dev/nvme0n1:")
    assert document["global options"]["time_based"] == "1"
    jobs = document["jobs"]
    assert [(job["jobname"], job["groupid"]) for job in jobs] == [("seq-read", 0), ("rand-mix", 1)]
    assert jobs[0]["job options"] == {"rw": "read", "bs": "128k", "iodepth": "64", "numjobs": "8"}
    cases = fio.parse(text).cases
    assert [(case.name, case.queue_depth) for case in cases] == [
        ("seq-read read", 512),
        ("rand-mix read", 512),
        ("rand-mix write", 512),
    ]


def test_a_job_file_gives_what_the_scenario_gives() -> None:
    """The same options, written in TOML or in a job file, are the same run."""
    own = lanewise.run(RIG)
    (result,) = lanewise.run_fio(RIG, JOBS, sections=["seq-read"]).results
    assert result.document["fingerprint"] == own.document["fingerprint"]


def test_a_run_of_jobs_keeps_them_as_workloads_that_run_the_same(tmp_path: Path) -> None:
    """Also on a rig with workloads of other kinds and part files, and with overrides of the jobs."""
    (tmp_path / "own.toml").write_text('kind = "endpoint"\ntitle = "Own"\nlike = "samsung-990-pro"\n')
    rig = tmp_path / "rig.toml"
    text = RIG.read_text().replace('part = "generic-nvme-gen4-x4"', 'part = "own.toml"')
    rig.write_text(
        f'{text}\n[[workload]]\nkind = "dma"\ndevice = "ssd[0]"\ndirection = "write"\nsize = "4 KiB"\n'
    )
    folder = tmp_path / "run"
    options = ["--section", "rand-mix", "--time-limit", "1 ms", "--set", "workload.rand-mix.iodepth=3"]
    done = CliRunner().invoke(
        app, ["run", str(rig), "--fio", str(JOBS), *options, "--json", "--out", str(folder)]
    )
    assert done.exit_code == 0, done.stderr
    (tmp_path / "own.toml").unlink()
    kept = tomllib.loads((folder / "scenario.toml").read_text())["workload"]
    assert [each["kind"] for each in kept] == ["dma", "fio"]
    overrides = {
        each["path"]: each["value"]
        for each in json.loads((folder / "manifest.json").read_text())["overrides"]
    }
    again = lanewise.run(folder / "scenario.toml", overrides=overrides)
    assert again.fingerprint == json.loads(done.stdout)["fingerprint"]


def test_what_limits_jobs_is_proven_and_reported(tmp_path: Path) -> None:
    runner, page = CliRunner(), tmp_path / "page.html"
    base = ["run", str(RIG), "--fio", str(JOBS), "--time-limit", "1 ms"]
    proof = runner.invoke(app, [*base, "--why", "--section", "seq-read"])
    assert proof.exit_code == 0, proof.stderr
    assert "read_path" in proof.stdout.splitlines()[0]
    assert "brings" in proof.stdout
    assert runner.invoke(app, [*base, "--why"]).exit_code == 2
    assert runner.invoke(app, [*base, "--report", str(page)]).exit_code == 0
    text = page.read_text()
    assert "seq-read" in text
    assert "rand-mix" in text


def test_a_rig_may_be_text_or_a_dictionary() -> None:
    text = RIG.read_text()
    given = [text, tomllib.loads(text), RIG]
    runs = [lanewise.run_fio(each, JOBS, sections=["seq-read"], time_limit="1 ms") for each in given]
    assert len({run.results[0].document["fingerprint"] for run in runs}) == 1
    with pytest.raises(lanewise.InputError, match="'<text>' has no drive"):
        lanewise.run_fio((ROOT / "scenarios" / "first_rig.toml").read_text(), JOBS)


def test_command_line(tmp_path: Path) -> None:
    """Notes on stderr, results on stdout; --json has a run for each group of jobs, --out is about one."""
    runner = CliRunner()
    base = ["run", str(RIG), "--fio", str(JOBS), "--time-limit", "1 ms"]
    done = runner.invoke(app, [*base, "--map", "/dev/nvme0n1=ssd[3]"])
    assert done.exit_code == 0
    assert "Run 2 of 2: rand-mix" in done.stdout
    assert "/dev/nvme0n1 is ssd[3]" in done.stderr
    one = runner.invoke(app, [*base, "--json", "--section", "rand-mix", "--out", str(tmp_path / "run")])
    assert one.exit_code == 0
    assert json.loads(one.stdout)["flows"]
    assert (tmp_path / "run" / "manifest.json").is_file()
    both = runner.invoke(app, [*base, "--json"])
    assert both.exit_code == 0
    groups = json.loads(both.stdout)["groups"]
    assert [(group["jobs"], bool(group["run"]["flows"])) for group in groups] == [
        (["seq-read"], True),
        (["rand-mix"], True),
    ]
    for wrong in (
        ["--out", str(tmp_path / "two")],
        ["--map", "x"],
        ["--section", "none"],
        ["--as", "osu"],
        ["--sizes", "all"],
    ):
        assert runner.invoke(app, [*base, *wrong]).exit_code == 2, wrong
    assert runner.invoke(app, ["run", str(RIG), "--map", "a=b"]).exit_code == 2


def test_a_share_of_a_drive_of_whole_terabytes_is_no_less_than_of_others(tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(re.sub(r"(\[endpoint\.ssd\]\npart = ).*", r'\1"crucial-p3"', RIG.read_text()))
    assert '"crucial-p3"' in rig.read_text()
    jobs = tmp_path / "jobs.fio"
    jobs.write_text("[a]\nfilename=/dev/nvme0n1\ndirect=1\nsize=25%\n")
    ((job,),) = plan_jobs(rig, jobs).phases
    assert ("size", "250000000000 B", 4) in job.options


def test_a_capacity_that_nobody_understands_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(UNITS, "TB")
    rig = tmp_path / "rig.toml"
    rig.write_text(re.sub(r"(\[endpoint\.ssd\]\npart = ).*", r'\1"crucial-p3"', RIG.read_text()))
    jobs = tmp_path / "jobs.fio"
    jobs.write_text("[a]\nfilename=/dev/nvme0n1\ndirect=1\nsize=25%\n")
    with pytest.raises(ValueError, match="'1 TB' is stated, and is no amount in B"):
        plan_jobs(rig, jobs)
