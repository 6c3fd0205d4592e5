"""Parameters of a scenario, fitted to one's own measurements: intervals, parts, and what is refused."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_output_schema import check

import lanewise as package
from lanewise.calibration import joint
from lanewise.calibration.joint import JointFit, fit_together
from lanewise.calibration.measures import measured_column, split_unit
from lanewise.calibration.named import Wanted
from lanewise.calibration.table import read_table
from lanewise.errors import InputError, ScenarioError
from lanewise.experiment.definition import Cell, Experiment, Fit
from lanewise.experiment.trials import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.testing import Result

    from lanewise.calibration.fitting import OwnCalibration

ROOT = Path(__file__).parents[2]
HIDDEN_NS = 520
RIG = """\
title = "A card in a server"

[host.server]
part = "generic-gen4-server"

[endpoint.nic]
part = "generic-gen4-x16"
attach = "server.slot1"

[[workload]]
kind = "dma"
name = "read"
device = "nic"
direction = "read"
size = "4 KiB"
outstanding = 1
"""
SIZES = ("64 B", "256 B", "1 KiB", "4 KiB", "16 KiB")
LATENCY = "server.memory_latency=300 ns..900 ns"
PATH = "nic.path_latency=0 ns..300 ns"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a scenario and what was measured on a machine whose memory is slower."""
    monkeypatch.chdir(tmp_path)
    Path("rig.toml").write_text(RIG)
    Path("measured.csv").write_text(measured())
    return tmp_path


_KEPT: dict[str, str] = {}


def measured(role_of: Sequence[str] = ("", "", "held out", "", "held out"), unit: str = "GB/s") -> str:
    """Return a table of what the scenario gives with the hidden value, with four digits."""
    key = f"{role_of} {unit}"
    if key not in _KEPT:
        lines = [f"size,goodput {unit},role"]
        for size, role in zip(SIZES, role_of, strict=True):
            result = package.run(
                RIG, overrides={"workload.read.size": size, "server.memory_latency": f"{HIDDEN_NS} ns"}
            )
            lines.append(f"{size},{result.document['goodput_gb_per_s']:.4g},{role}")
        _KEPT[key] = "\n".join(lines) + "\n"
    return _KEPT[key]


def number(text: str | int | None) -> float:
    """Return the number of a value with a unit."""
    assert text is not None
    return float(str(text).split()[0])


def only(found: OwnCalibration) -> tuple[float, float, float]:
    """Return value and interval of the one parameter."""
    (one,) = found.parameters
    return number(one.value), number(one.low), number(one.high)


@pytest.mark.usefixtures("rig")
def test_a_hidden_value_is_found_within_its_interval() -> None:
    found = package.calibrate("rig.toml", "measured.csv", LATENCY)
    value, low, high = only(found)
    assert low <= HIDDEN_NS <= high
    assert low <= value <= high
    assert high - low < 10
    assert found.is_determined
    assert found.remarks == []
    fitted, held_out, before = (
        found.spread("fit"),
        found.spread("held out"),
        found.spread("fit", "before_percent"),
    )
    assert fitted is not None
    assert held_out is not None
    assert before is not None
    assert (fitted.cells, held_out.cells) == (3, 2)
    assert fitted.worst_percent < 0.2
    assert held_out.worst_percent < 0.2
    assert before.median_percent > 5
    for null in ("null_percent", "line_percent"):
        without = found.spread("held out", null)
        assert without is not None
        assert without.worst_percent > 10 * held_out.worst_percent


@pytest.mark.usefixtures("rig")
def test_the_start_and_the_range_decide_nothing_and_neither_does_the_time() -> None:
    texts = [
        package.calibrate(
            "rig.toml", "measured.csv", LATENCY, overrides={"server.memory_latency": start}
        ).to_json()
        for start in ("350 ns", "350 ns", "880 ns")
    ]
    assert texts[0] == texts[1]
    ranges = [
        only(package.calibrate("rig.toml", "measured.csv", each))
        for each in (LATENCY, "server.memory_latency")
    ]
    for value, low, high in ranges:
        assert low <= HIDDEN_NS <= high
        assert value == pytest.approx(HIDDEN_NS, rel=0.005)


@pytest.mark.usefixtures("rig")
def test_two_that_do_the_same_are_both_open_and_named() -> None:
    found = package.calibrate("rig.toml", "measured.csv", [LATENCY, PATH])
    assert not found.is_determined
    for one, other in zip(found.parameters, reversed(found.parameters), strict=True):
        assert one.status == "not determined"
        assert one.value is None
        assert one.low is None
        assert one.high is None
        assert one.known.alike == (other.name,)
    (remark,) = found.remarks
    assert "server.memory_latency and nic.path_latency cannot be told apart" in remark
    # The sum of both is as good as ever: rows are met.
    fitted = found.spread("fit")
    assert fitted is not None
    assert fitted.worst_percent < 0.2


@pytest.mark.usefixtures("rig")
def test_what_rows_leave_open_has_no_digits() -> None:
    both = package.calibrate("rig.toml", "measured.csv", [LATENCY, "server.store_cost"])
    latency, store = both.parameters
    assert latency.status == "determined"
    assert (store.status, store.value, store.low, store.high) == ("no effect", None, None, None)
    far = package.calibrate("rig.toml", "measured.csv", "server.memory_latency=300 ns..400 ns")
    (one,) = far.parameters
    assert one.known.is_at_bound
    assert one.value is None
    assert "fits best at the end of what was searched, 400 ns" in one.remark


@pytest.mark.usefixtures("rig")
def test_one_number_that_no_value_gives_determines_nothing() -> None:
    Path("one.csv").write_text("size,goodput GB/s\n4 KiB,25\n")
    found = package.calibrate("rig.toml", "one.csv", LATENCY)
    assert [one.status for one in found.parameters] == ["not met"]
    assert found.parameters[0].value is None
    Path("one.csv").write_text(measured().splitlines()[0] + "\n" + measured().splitlines()[4] + "\n")
    met = package.calibrate("rig.toml", "one.csv", LATENCY)
    _, low, high = only(met)
    assert low <= HIDDEN_NS <= high


@pytest.mark.usefixtures("rig")
def test_rows_that_are_far_from_the_scenario_are_told() -> None:
    text = measured().replace("size,goodput GB/s", "size,goodput MB/s")
    Path("slow.csv").write_text(text)
    found = package.calibrate("rig.toml", "slow.csv", LATENCY)
    assert any("the scenario lacks something" in remark for remark in found.remarks)


@pytest.mark.usefixtures("rig")
def test_a_count_is_a_whole_number() -> None:
    lines = ["size,goodput GB/s"]
    settings = {"nic.tags": "10", "workload.read.outstanding": "16"}
    for size in ("16 KiB", "32 KiB", "64 KiB"):
        result = package.run(RIG, overrides={"workload.read.size": size, **settings})
        lines.append(f"{size},{result.document['goodput_gb_per_s']:.4g}")
    Path("tags.csv").write_text("\n".join(lines))
    found = package.calibrate(
        "rig.toml", "tags.csv", "nic.tags=2..64", overrides={"workload.read.outstanding": "16"}
    )
    assert found.parameters[0].value == 10
    assert found.parameters[0].known.wanted.is_whole


@pytest.mark.usefixtures("rig")
def test_what_to_write_for_a_part_is_said(lanewise: Callable[..., Result]) -> None:
    done = lanewise("calibrate", "rig.toml", "measured.csv", "--fit", LATENCY, "--out", "parts/mine.toml")
    assert done.exit_code == 0, done.output
    assert 'write part = "parts/mine.toml" instead of "generic-gen4-server" in [host.server]' in done.stderr
    written = tomllib.loads(Path("parts/mine.toml").read_text())
    assert (written["kind"], written["part"]) == ("host", "generic-gen4-server")
    Path("mine.toml").write_text(RIG.replace('"generic-gen4-server"', '"parts/mine.toml"'))
    assert explained("mine.toml", "server.memory_latency")["provenance"] == "calibrated"


def explained(scenario: str, path: str) -> dict[str, object]:
    """Return what `explain` says of one parameter."""
    rows = package.explain(scenario).document["parameters"]
    (row,) = [dict(row) for row in rows if row["path"] == path]
    return row


def test_a_part_goes_round(
    rig: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fit, write the part, name it in the scenario: the same value, with its cells, wherever one stands."""
    found = package.calibrate("rig.toml", "measured.csv", LATENCY, out="server.toml")
    (rig / "calibrated.toml").write_text(RIG.replace('"generic-gen4-server"', '"server.toml"'))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    scenario = str(rig / "calibrated.toml")
    latency = explained(scenario, "server.memory_latency")
    assert latency["value"] == found.parameters[0].value
    assert latency["provenance"] == "calibrated"
    assert latency["fitted_on"] == [
        "measured.csv size 64 B",
        "measured.csv size 256 B",
        "measured.csv size 4 KiB",
    ]
    assert "95 % interval" in str(latency["source"])
    assert str(latency["place"]).startswith(str(rig / "server.toml"))
    before = explained(str(rig / "rig.toml"), "server.read_bandwidth")
    after = explained(scenario, "server.read_bandwidth")
    assert after == before, "what is known of the part holds on"
    for cell in found.cells:
        size = {"workload.read.size": dict(cell.cell.overrides)["workload.read.size"]}
        with_part = package.run(scenario, overrides=size).document["goodput_gb_per_s"]
        assert with_part == pytest.approx(cell.simulated, rel=1e-4)


def test_a_part_in_a_file_is_fitted_further(rig: Path) -> None:
    package.calibrate("rig.toml", "measured.csv", LATENCY, out="server.toml")
    (rig / "again.toml").write_text(RIG.replace('"generic-gen4-server"', '"server.toml"'))
    package.calibrate("again.toml", "measured.csv", "server.core_latency=1 ns..300 ns", out="other.toml")
    assert not Path("other.toml").exists(), "what changes no row is in no part"
    package.calibrate("again.toml", "measured.csv", "server.memory_latency", out="other.toml")
    other = tomllib.loads(Path("other.toml").read_text())
    assert other["part"] == "generic-gen4-server"
    assert "with again.toml" in other["parameters"]["memory_latency"]["source"]


@pytest.mark.usefixtures("rig")
def test_several_components_have_a_part_each(lanewise: Callable[..., Result]) -> None:
    fits = ("--fit", LATENCY, "--fit", "nic.tags=2..64", "--set", "workload.read.outstanding=16")
    refused = lanewise("calibrate", "rig.toml", "measured.csv", *fits, "--out", "one.toml")
    assert refused.exit_code == 2
    assert "nic.toml" in refused.stderr
    assert "server.toml" in refused.stderr
    assert not Path("one.toml").exists()


@pytest.mark.usefixtures("rig")
def test_what_no_part_can_have_is_refused_before_anything_is_fitted(lanewise: Callable[..., Result]) -> None:
    for fit, says in [
        ("nic.link.propagation=2 ns..400 ns", "is of a link, which no part has"),
        ("server.memory_latency", "cannot be written"),
    ]:
        done = lanewise("calibrate", "rig.toml", "measured.csv", "--fit", fit, "--out", "measured.csv/x.toml")
        assert done.exit_code == 2, done.output
        assert says in done.stderr
        assert done.stdout == ""


@pytest.mark.usefixtures("rig")
def test_a_scenario_in_python_is_fitted_too() -> None:
    for scenario in (RIG, tomllib.loads(RIG)):
        found = package.calibrate(scenario, "measured.csv", LATENCY, out="server.toml")
        _, low, high = only(found)
        assert low <= HIDDEN_NS <= high
        written = Path("server.toml").read_text()
        assert "Made by `lanewise.calibrate` with a scenario in Python" in written
        assert tomllib.loads(written)["part"] == "generic-gen4-server"


@pytest.mark.usefixtures("rig")
def test_what_the_scenario_states_stands_above_the_part_and_that_is_said(
    lanewise: Callable[..., Result],
) -> None:
    Path("stated.toml").write_text(
        RIG.replace("[host.server]\n", '[host.server]\nmemory_latency = "450 ns"\n')
    )
    done = lanewise("calibrate", "stated.toml", "measured.csv", "--fit", LATENCY, "--out", "server.toml")
    assert "delete server.memory_latency (stated.toml:4)" in done.stderr


@pytest.mark.usefixtures("rig")
def test_the_command_line_ends_as_it_says(lanewise: Callable[..., Result]) -> None:
    asked = ("calibrate", "rig.toml", "measured.csv", "--fit", LATENCY)
    done = lanewise(*asked, "--json", "--dry-run", "--out", "server.toml")
    assert done.exit_code == 0
    check("calibrated", json.loads(done.stdout))
    assert not Path("server.toml").exists()
    table = lanewise(*asked).stdout
    for said in ("server.memory_latency", "450 ns", "held out", "a straight line through the two nearest"):
        assert said in table
    assert all(len(line) <= 100 for line in table.splitlines())
    open_ = lanewise(*asked, "--fit", PATH, "--json", "--out", "parts")
    assert open_.exit_code == 1
    document = json.loads(open_.stdout)
    check("calibrated", document)
    assert [one["value"] for one in document["parameters"]] == [None, None]
    assert not Path("parts").exists()
    assert "is not written: no value is determined" in open_.stderr


@pytest.mark.usefixtures("rig")
@pytest.mark.parametrize(
    ("fit", "says"),
    [
        ((), "nothing is fitted: name a parameter with --fit"),
        (("nic.path_latncy",), "did you mean 'nic.path_latency'?"),
        (("nic.path_latency",), "is 0 ns: say between which values it is looked for"),
        (("nic.mps",), "which a specification fixes"),
        (("workload.read.outstanding",), "says what was asked of the machine"),
        (("run.warm_up=1..2 ms",), "says what was asked of the machine"),
        (("nic.collects_reads",), "a choice and no amount"),
        (("nic.mps_supported",), "takes certain values only"),
        (("server.memory_latency=1..3 GB/s",), "a data rate, but a time"),
        (("server.memory_latency=300..100 ns",), "ends before it begins"),
        (("server.memory_latency=100 ns",), "is written LOW..HIGH"),
        (("server.memory_latency=1 ns..1 s",), "has to lie between 0 ns and 1 ms"),
        (("nic.tags=1..100000",), "has to lie between 1 and 15360"),
        (("nic.tags", "nic.tags"), "is named twice"),
        (("workload.read.size",), "says what was asked"),
        (
            ("nic.tags", "server.memory_latency", "server.store_cost", "server.poll_cost"),
            "cannot be fitted to 3 numbers",
        ),
        (("nic.path_latncy", "nic.mps"), "a specification fixes"),
    ],
)
def test_a_parameter_that_cannot_be_fitted_is_refused(
    fit: tuple[str, ...], says: str, lanewise: Callable[..., Result]
) -> None:
    options = [word for each in fit for word in ("--fit", each)]
    done = lanewise("calibrate", "rig.toml", "measured.csv", *options)
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("rig")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("siz,goodput GB/s\n64 B,1\n", ["column 'siz' is nothing that is measured", "did you mean 'size'?"]),
        ("size\n64 B\n", ["no column says what was measured"]),
        (
            "size,goodput\n64 B,1\n",
            ["m.csv:2: 'goodput' is 1 without a unit: call the column 'goodput GB/s'"],
        ),
        ("size,goodput us\n64 B,1\n", ["is in us, but the simulation has it in GB/s"]),
        (
            "size,goodput GB/s\n64 B,x\n1 KiB,0\n",
            ["m.csv:2: 'goodput GB/s' is 'x'", "m.csv:3: 'goodput GB/s' is 0"],
        ),
        (
            "size,goodput GB/s\n64 B,\n,2\n",
            ["m.csv:2: nothing was measured", "m.csv:3: there is no value of 'size'"],
        ),
        ("size,goodput GB/s\n64 B,2 us\n", ["m.csv:2: 'goodput GB/s' is 2 us, but GB/s"]),
        ("size,goodput GB/s\n64 Bytes,2\n", ["m.csv:2:", "`Bytes` is not a unit"]),
        ("size,goodput GB/s\n64 B,2,3\n", ["m.csv:2: 3 values for 2 columns"]),
        (
            "size,size B,goodput GB/s\n64 B,64,2\n",
            ["columns 'size' and 'size B' both set 'workload.read.size'"],
        ),
        ("size,size\n64 B,64\n", ["two columns are called 'size'"]),
        ("size,goodput GB/s,role\n64 B,2,no\n", ["m.csv:2: role is 'no'; it is 'fit' or 'held out'"]),
        ("size,goodput GB/s,plus_minus\n64 B,2,-1\n", ["m.csv:2: plus_minus is '-1'"]),
        ("size,goodput GB/s\n", ["'m.csv' has no rows"]),
        ("", ["'m.csv' has no rows"]),
        ("generation,goodput GB/s\ngen9,2\n", ["m.csv:2:", "generations are gen1 to gen7"]),
        ("tags,goodput GB/s\n64,2\n", ["'nic.tags' is set by each row of the measurements"]),
    ],
)
def test_measurements_that_mean_nothing_are_refused_with_their_line(
    text: str, says: Sequence[str], lanewise: Callable[..., Result]
) -> None:
    Path("m.csv").write_text(text)
    done = lanewise("calibrate", "rig.toml", "m.csv", "--fit", "nic.tags")
    assert done.exit_code == 2, done.output
    for each in says:
        assert each in done.stderr


@pytest.mark.usefixtures("rig")
def test_words_that_do_not_go_together_are_refused(lanewise: Callable[..., Result]) -> None:
    for arguments, says in [
        (("rig.toml",), "name their file, too"),
        (("rig.toml", "--fit", "nic.tags"), "--fit needs measurements"),
        (("IDT-T5", "--hold-out", "3"), "--hold-out needs measurements"),
        (("rig.toml", "none.csv", "--fit", "nic.tags"), "none.csv"),
        (("none.toml", "measured.csv", "--fit", "nic.tags"), "none.toml"),
        (("rig.toml", "rig.toml", "--fit", "nic.tags"), "a table [[row]] for each"),
        (("rig.toml", "measured.csv", "--fit", "nic.tags", "--hold-out", "9"), "rows 1 to 5"),
        (
            ("rig.toml", "measured.csv", "--fit", "nic.tags", "--hold-out", "1..5"),
            "cannot be fitted to 0 numbers",
        ),
        (
            ("rig.toml", "measured.csv", "--fit", "nic.tags", "--hold-out", "size=5 B"),
            "no row of 'measured.csv' has",
        ),
        (("rig.toml", "measured.csv", "--fit", "nic.tags", "--hold-out", "x=5"), "has no column 'x'"),
        (("rig.toml", "measured.csv", "--fit", "nic.tags", "--hold-out", "x"), "give numbers of rows"),
    ]:
        done = lanewise("calibrate", *arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert says in done.stderr, (arguments, done.stderr)
    with pytest.raises(InputError, match="'fit' goes with a scenario"):
        package.calibrate("IDT-T5", fit="nic.tags")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="seeds"):
        package.calibrate("rig.toml", "measured.csv", "nic.tags", seeds=0)
    with pytest.raises(ScenarioError):
        package.calibrate("[hots.x]\n", "measured.csv", "nic.tags")


@pytest.mark.usefixtures("rig")
def test_toml_and_csv_with_other_marks_say_the_same() -> None:
    rows = [line.split(",") for line in measured().splitlines()[1:]]
    toml = "".join(
        f'[[row]]\nworkload.read.size = "{size}"\ngoodput = "{float(value) * 8:.6g} Gb/s"\nrole = "{role}"\n'
        for size, value, role in rows
    )
    Path("m.toml").write_text(toml)
    text = "# a remark\nsize [B];goodput (MB/s);role\n"
    for size, value, role in rows:
        amount, unit = size.split()
        in_bytes = int(amount) * (1024 if unit == "KiB" else 1)
        text += f"{in_bytes};{float(value) * 1e3:.6g};{role}\n"
    Path("m.txt").write_text(text)
    value = only(package.calibrate("rig.toml", "measured.csv", LATENCY))
    for other in ("m.toml", "m.txt"):
        found = package.calibrate("rig.toml", other, LATENCY)
        assert only(found) == pytest.approx(value, abs=2)
        assert [one.role for one in found.cells] == ["fit", "fit", "held out", "fit", "held out"]
    assert found.cells[0].cell.unit == "MB/s"
    assert found.cells[0].simulated == pytest.approx(found.cells[0].cell.measured, rel=0.01)


@pytest.mark.usefixtures("rig")
def test_rows_are_held_out_by_number_and_by_value() -> None:
    text = "\n".join(line.rpartition(",")[0] for line in measured().splitlines())
    Path("m.csv").write_text(text)
    for hold_out in ("3,5", ["3", "5..5"], "size=1 KiB,16384 B", "workload.read.size=1 KiB,16 KiB"):
        found = package.calibrate("rig.toml", "m.csv", LATENCY, hold_out=hold_out)
        assert [one.cell.row for one in found.cells if one.role == "held out"] == [3, 5], hold_out
        assert "--hold-out" in found.command


@pytest.mark.usefixtures("rig")
def test_latencies_and_operations_are_measured_too() -> None:
    lines = ["size,latency us,p99 us,IOPS"]
    for size in (*SIZES[:2], SIZES[4]):
        result = package.run(
            RIG,
            overrides={
                "workload.read.size": size,
                "server.memory_latency": f"{HIDDEN_NS} ns",
                "run.until": "latency",
            },
        )
        flow = result.document["flows"][0]
        # A read of 16 KiB is 32 requests: a tool times all of them together.
        latency = flow.get("operation_latency_ns") or flow["latency_ns"]
        assert latency["mean"] is not None
        assert latency["p99"] is not None
        lines.append(
            f"{size},{latency['mean'] / 1e3:.4f},{latency['p99'] / 1e3:.4f},{flow['operations_per_s']:.6g}"
        )
    Path("m.csv").write_text("\n".join(lines))
    found = package.calibrate("rig.toml", "m.csv", LATENCY)
    _, low, high = only(found)
    assert low <= HIDDEN_NS <= high
    assert len(found.cells) == 9
    assert max(abs(one.error_percent) for one in found.cells) < 0.5
    assert ("run.until", "latency") in found.overrides
    assert [one.cell.id for one in found.cells[:3]] == [
        "size 64 B: latency",
        "size 64 B: p99",
        "size 64 B: IOPS",
    ]


@pytest.mark.usefixtures("rig")
def test_an_uncertain_number_widens_the_interval() -> None:
    lines = measured().splitlines()
    alone = [line.rpartition(",")[0] for line in (lines[0], lines[4])]
    Path("sure.csv").write_text("\n".join(alone))
    Path("unsure.csv").write_text(f"{alone[0]},plus_minus\n{alone[1]},0.3\n")
    _, low, high = only(package.calibrate("rig.toml", "sure.csv", LATENCY))
    _, lower, higher = only(package.calibrate("rig.toml", "unsure.csv", LATENCY))
    assert higher - lower > 10 * (high - low)


@pytest.mark.usefixtures("rig")
def test_the_output_of_a_tool_is_rows_of_sizes_and_depths() -> None:
    output = ROOT / "tests" / "python" / "captured" / "perftest-6.06-ib_write_bw-all.txt"
    scenario = ROOT / "scenarios" / "rdma_write.toml"
    found = package.calibrate(scenario, output, "nic*.path_latency=0 ns..300 ns", hold_out="1..20")
    assert len(found.cells) == 23
    last = found.cells[-1].cell
    assert dict(last.overrides)["workload.perftest0.size"] == "8388608 B"
    assert (last.measured, last.unit) == (0.89, "GB/s")
    assert found.parameters[0].known.wanted.parameters == ("nic0.path_latency", "nic1.path_latency")
    for other, says in [
        ("iperf3-3.12-tcp.json", "iperf3, which is not read here"),
        ("fio-3.33-two-jobs.json", "fio, which goes with a workload of kind fio or iometer or gdsio or dma"),
    ]:
        with pytest.raises(InputError, match=says):
            package.calibrate(scenario, output.with_name(other), "nic*.path_latency=0 ns..300 ns")
    with pytest.raises(InputError, match="has results of read and write"):
        package.calibrate("rig.toml", output.with_name("fio-3.33-two-jobs.json"), "nic.tags")
    with pytest.raises(InputError, match="Or write a table"):
        package.calibrate("rig.toml", __file__, "nic.tags")


@pytest.mark.usefixtures("rig")
def test_latencies_of_a_tool_are_those_that_the_same_tool_prints_of_the_simulation() -> None:
    """The output of a simulated `ib_write_lat` gives back what it was simulated with, and OSU's mean, too."""
    scenario = ROOT / "scenarios" / "rdma_write.toml"
    tool = {"workload.perftest0.tool": "ib_write_lat", "nic0.path_latency": "180 ns"}
    rows = []
    for size in (2, 4096):
        values = {**tool, "workload.perftest0.size": f"{size} B", "nic1.path_latency": "180 ns"}
        (instrument,) = package.run(scenario, overrides=values).document["instruments"]
        numbers = {one["name"]: one["value"] for one in instrument["metrics"]}
        rows.append((size, numbers["t_typical (us)"], numbers["t_avg (us)"]))
    head = "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec]"
    lines = [f"{size} 1000 {median:.2f} {median:.2f} {median:.2f} 9.99 0.01" for size, median, _ in rows]
    Path("lat.txt").write_text("\n".join(["RDMA_Write Latency Test", head, *lines]))
    lines = [f"{size} {mean:.2f}" for size, _, mean in rows]
    Path("osu.txt").write_text("\n".join(["# OSU MPI Latency Test v5.3", "# Size  Latency (us)", *lines]))
    both = "nic*.path_latency=0 ns..400 ns"
    for name in ("lat.txt", "osu.txt"):
        found = package.calibrate(scenario, name, both, overrides={"workload.perftest0.tool": "ib_write_lat"})
        medians_or_means = [row[1 if name == "lat.txt" else 2] for row in rows]
        assert [one.cell.measured for one in found.cells] == [round(us, 2) for us in medians_or_means]
        _, low, high = only(found)
        assert low <= 180.0 <= high
    with pytest.raises(InputError, match=r"perftest0\.tool' is 'ib_write_bw', which prints none"):
        package.calibrate(scenario, "lat.txt", both)
    with pytest.raises(InputError, match="kind 'dma' does not print"):
        package.calibrate("rig.toml", "lat.txt", "nic.tags")


@pytest.mark.usefixtures("rig")
def test_a_fit_that_predicts_no_better_than_before_is_told() -> None:
    """Fitted rows of another machine: what is held out is of this one."""
    here = package.run(RIG, overrides={"workload.read.size": "4 KiB"}).document["goodput_gb_per_s"]
    rows = measured().splitlines()
    Path("m.csv").write_text("\n".join([*rows[:3], f"4 KiB,{here:.4g},held out"]))
    found = package.calibrate("rig.toml", "m.csv", LATENCY)
    assert found.is_determined
    (remark,) = found.remarks
    assert "the scenario before the fit meets held-out rows better than the fit" in remark


TRUTH = {"lat": 437.0, "bw": 8.0}


def noisy(seed: int, names: Sequence[str]) -> JointFit:
    """Fit a line in the inverse of goodput to cells of it with noise of 2 %."""
    draw = random.Random(seed)
    ranges = {"lat": (100.0, 900.0, "ns"), "bw": (2.0, 32.0, "GB/s")}
    wanted = [
        Wanted(name, (f"x.{name}",), ranges[name][2], *ranges[name][:2], None, "none", "assumed", "default")
        for name in names
    ]
    cells = [
        Cell(
            id=str(size),
            unit="GB/s",
            published=line(TRUTH, size) * (1 + draw.gauss(0, 0.02)),
            verdict="C",
            role="calibrated",
            printed_to=1e-9,
        )
        for size in (64, 128, 256, 512, 1024, 2048, 4096, 8192)
    ]
    ids = tuple(cell.id for cell in cells)
    fits = tuple(Fit(one.name, one.parameters, ids, one.unit, (one.low, one.high), "", "h") for one in wanted)
    return fit_together(Experiment("h", "", "", Path(), tuple(cells), (), fits, {}), wanted, cells)


def line(values: dict[str, float], size: float) -> float:
    """Goodput of one read at a time, GB/s."""
    return size / (values["lat"] + size / values["bw"])


@pytest.mark.parametrize("names", [("lat",), ("lat", "bw")], ids=" and ".join)
def test_intervals_of_profiles_cover_in_19_cases_of_20(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 tables with noise, 95 intervals have the truth in them; 88 to 100 may, by chance."""

    def answers_of(
        trials: Sequence[Experiment], cells: Sequence[Cell], **_: object
    ) -> tuple[list[Answer], int]:
        values = [
            {**TRUTH, **{name: number(value.value) for name, value in trial.fitted.items()}}
            for trial in trials
        ]
        means = [tuple(line(each, float(cell.id)) for cell in cells) for each in values]
        return [Answer(each, (0.0,) * len(cells)) for each in means], len(trials) * len(cells)

    monkeypatch.setattr(joint, "answers_of", answers_of)
    fits = [noisy(seed, names) for seed in range(100)]
    for at, name in enumerate(names):
        assert all(fit.known[at].is_determined for fit in fits)
        covered = sum(fit.known[at].low <= TRUTH[name] <= fit.known[at].high for fit in fits)
        assert 88 <= covered < 100, name
    assert sum(fit.runs for fit in fits) / 100 / 8 < (50 if len(names) == 1 else 150), "runs of each row"


def test_heads_of_columns_are_measures_and_units() -> None:
    assert split_unit("size [KiB]") == ("size", "KiB")
    assert split_unit("queue depth") == ("queue depth", None)
    for head, column, unit in [
        ("goodput GB/s", "goodput_gb_per_s", "GB/s"),
        ("Bandwidth (MiB/s)", "goodput_gb_per_s", "MiB/s"),
        ("IOPS", "operations_per_s", "IOPS"),
        ("p99.9 [us]", "latency_ns_p99_9", "us"),
        ("goodput_mib_per_s", "goodput_mib_per_s", "MiB/s"),
        ("max links.goodput_gb_per_s where link=nic", "goodput_gb_per_s", "GB/s"),
    ]:
        found = measured_column(head)
        assert found is not None, head
        assert (found.metric.column, found.unit) == (column, unit), head
    assert measured_column("size") is None


def test_a_table_says_where_it_is_broken() -> None:
    with pytest.raises(InputError, match="is not TOML"):
        read_table("a.toml", "[[row")
    with pytest.raises(InputError, match=r"a\.toml:2: 'size' is neither a text nor a number"):
        read_table("a.toml", "\n[[row]]\nsize = [1]\n")
