"""What real tools printed: it is read whole, and what we write in their place looks the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import documents
import pytest

from lanewise import api
from lanewise.health.judge.detect import parse_measurement, read_measurement
from lanewise.results import ExplainResult, RunResult
from lanewise.tools.instruments import iperf3, osu
from lanewise.tools.instruments.measurement import ImportProblemError
from lanewise.tools.instruments.native import write_as

CAPTURED = Path(__file__).parents[1] / "captured"
SCENARIOS = Path(__file__).parents[3] / "scenarios"
OPTIONS = {
    "s": "size",
    "n": "iterations",
    "q": "queue_pairs",
    "t": "tx_depth",
    "b": "bidirectional",
}


def captured(name: str) -> str:
    return (CAPTURED / name).read_text()


OUTPUTS = [
    path
    for path in sorted(CAPTURED.glob("*.*"))
    if path.name not in ("README.md", "perftest-6.06-options.txt")
]


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.name)
def test_every_captured_output_is_read_and_nothing_is_left(path: Path) -> None:
    measurement = read_measurement(path)
    assert measurement.not_understood == ()
    # perftest does not print its own, nor does iperf3 to people.
    version = measurement.version or {"perftest": "6.06", "iperf3": "3.12"}[measurement.tool]
    assert path.name.startswith(f"{measurement.tool}-{version}-")
    json.dumps(measurement.document())


def test_tails_of_latency_are_percentiles_and_each_datatype_is_told() -> None:
    measurement = parse_measurement(captured("osu-7.4-osu_latency-tail.txt"))
    first, last = measurement.cases[0], measurement.cases[-1]
    assert (first.name, last.name) == ("Latency 8 B", "Latency 4096 B MPI_FLOAT")
    assert last.direction == "ping-pong"
    assert last.latency is not None
    assert last.latency.mean_ns == 1500
    assert last.latency.percentiles_ns == {50: 1480, 99: 1660}


def test_tails_and_validation_stand_beside_the_bandwidth() -> None:
    tails = parse_measurement(captured("osu-7.4-osu_bw-tail.txt")).cases[-1]
    assert tails.bandwidth_bytes_per_s == 775.10e6
    assert tails.raw["P99 Tail BW(MB/s)"] == 14168.08
    validated = parse_measurement(captured("osu-7.4-osu_bw-validation.txt")).cases[-1]
    assert validated.bandwidth_bytes_per_s == 49.31e6
    assert validated.raw["Validation"] == "Pass"


def test_several_pairs_have_bandwidth_and_message_rate() -> None:
    case = parse_measurement(captured("osu-7.4-osu_mbw_mr.txt")).cases[-1]
    assert (case.workers, case.queue_depth) == (2, 128)
    assert (case.bandwidth_bytes_per_s, case.operations_per_s) == (245.84e6, 3751.24)


@pytest.mark.parametrize(
    ("tool", "column"),
    [
        ("osu_bw", "Bandwidth (MB/s)"),
        ("osu_bibw", "Bandwidth (MB/s)"),
        ("osu_latency", "Latency (us)"),
    ],
)
def test_our_osu_tables_are_those_of_the_benchmark_to_the_letter(tool: str, column: str) -> None:
    real = captured(f"osu-5.3-{tool}.txt").splitlines()
    size, value = real[-1].split()
    document = documents.run_document()
    metrics = [{"name": "Size (B)", "value": float(size)}, {"name": column, "value": float(value)}]
    document["instruments"] = [{"workload": "mpi", "kind": "osu", "metrics": metrics}]
    parameters = [{"path": "workload.mpi.tool", "value": tool}]
    explained = ExplainResult({"title": "", "parameters": parameters, "links": []})
    title, simulated, header, row = write_as("osu", RunResult(document), explained).splitlines()
    assert simulated.startswith("# Simulated by Lanewise")
    assert re.sub(r" v[\d.]+$", "", title) == re.sub(r" v[\d.]+$", "", real[0])
    assert (header, row) == (real[1], real[-1])


def test_perftest_is_read_with_what_its_header_says() -> None:
    cases = parse_measurement(captured("perftest-6.06-ib_write_bw-all.txt")).cases
    assert [case.block_bytes for case in cases] == [2**power for power in range(1, 24)]
    last = cases[-1]
    assert (last.direction, last.target, last.workers, last.operations) == ("write", "copy0", 2, 200)
    assert last.bandwidth_bytes_per_s == 7.12e9 / 8
    both = parse_measurement(captured("perftest-6.06-ib_write_bw-both.txt")).cases[0]
    assert (both.direction, both.bandwidth_bytes_per_s) == ("both", 14623.44 * 2**20)
    for_a_time = parse_measurement(captured("perftest-6.06-ib_write_lat-duration.txt")).cases[0]
    assert for_a_time.latency is not None
    assert (for_a_time.latency.mean_ns, for_a_time.latency.max_ns) == (10924.85e3, None)


def test_perftest_of_a_web_page_has_lost_the_marks_of_its_columns() -> None:
    text = captured("perftest-6.06-ib_write_bw-all.txt")
    assert parse_measurement(text.replace("#iterations", "iterations")).cases == parse_measurement(text).cases


@pytest.mark.parametrize(
    "tool", ["ib_write_bw", "ib_read_bw", "ib_write_bw-both", "ib_write_lat", "ib_read_lat"]
)
def test_our_perftest_tables_are_those_of_the_program_to_the_letter(tool: str) -> None:
    real = captured(f"perftest-6.06-{tool}.txt").splitlines()
    row = [float(number) for number in real[-2].split()]
    bandwidth = ["BW peak (MiB/s)", "BW average (MiB/s)", "MsgRate (Mpps)"]
    times = ["t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99 % percentile", "99.9 % percentile"]
    names = [f"{name} (us)" for name in times] if "lat" in tool else bandwidth
    metrics = dict(zip(["bytes (B)", "iterations", *names], row, strict=True))
    document = documents.run_document()
    rows = [{"name": name, "value": value} for name, value in metrics.items()]
    document["instruments"] = [{"workload": "wire", "kind": "perftest", "metrics": rows}]
    options = {"tool": tool.removesuffix("-both"), "bidirectional": str(tool.endswith("-both")).lower()}
    parameters = [{"path": f"workload.wire.{name}", "value": value} for name, value in options.items()]
    explained = ExplainResult({"title": "", "parameters": parameters, "links": []})
    ours = write_as("perftest", RunResult(document), explained).splitlines()
    rule, title, *settings, header, values = ours[1:-1]
    assert [rule, title] == [line for line in real if line][:2]
    assert [header, values, ours[-1]] == real[-3:]
    assert set(settings) - {rule} <= {line.replace("copy0", "wire") for line in real}


@pytest.mark.parametrize("size", [2, 16, 32, 8388608])
def test_our_rows_in_gigabits_are_those_of_the_program_to_the_letter(size: int) -> None:
    """Also those of low rates, which have more digits."""
    real = captured("perftest-6.06-ib_write_bw-all.txt").splitlines()
    header = next(line for line in real if "#iterations" in line)
    row = next(line for line in real if line.split()[:1] == [str(size)])
    _, iterations, peak, average, rate = map(float, row.split())
    mib = 1e9 / 8 / 2**20
    metrics = {"bytes (B)": size, "iterations": iterations, "MsgRate (Mpps)": rate}
    metrics |= {"BW peak (MiB/s)": peak * mib, "BW average (MiB/s)": average * mib}
    document = documents.run_document()
    rows = [{"name": name, "value": value} for name, value in metrics.items()]
    document["instruments"] = [{"workload": "wire", "kind": "perftest", "metrics": rows}]
    options = {"tool": "ib_write_bw", "report_gbits": "true"}
    parameters = [{"path": f"workload.wire.{name}", "value": value} for name, value in options.items()]
    explained = ExplainResult({"title": "", "parameters": parameters, "links": []})
    ours = write_as("perftest", RunResult(document), explained).splitlines()
    assert ours[-3:-1] == [header, row]


def test_each_direction_of_a_bidirectional_test_has_its_own_round_trips() -> None:
    sent, received = iperf3.parse(captured("iperf3-3.12-bidir.json")).cases
    assert (sent.direction, received.direction) == ("send", "receive")
    assert sent.latency is not None
    assert (sent.latency.min_ns, sent.latency.max_ns) == (122e3, 679e3)
    assert received.latency is None, "who receives sees no round trip"


def test_udp_counts_what_arrived() -> None:
    (case,) = iperf3.parse(captured("iperf3-3.12-udp.json")).cases
    assert case.name == "UDP send"
    assert case.bandwidth_bytes_per_s == 199208025.13729775 / 8


def test_a_row_that_is_cut_off_is_refused_with_its_line() -> None:
    text = captured("osu-7.4-osu_mbw_mr.txt").rpartition(" ")[0]
    with pytest.raises(ImportProblemError, match=r"line 11: 1 numbers beside a size, under 2 columns"):
        osu.parse(text)


def defaults(tool: str) -> dict[str, str]:
    """Return what the tool's own help says it does when it is not told otherwise."""
    _, _, section = captured("perftest-6.06-options.txt").partition(f"$ {tool} ")
    found = re.findall(r"^  -(\w), .*default (\w+)\)", section.partition("\n$")[0], re.MULTILINE)
    return {OPTIONS[option]: value for option, value in found}


@pytest.mark.parametrize(
    "tool", ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"]
)
def test_the_instrument_does_by_default_what_perftest_does(tool: str) -> None:
    explained = api.explain(SCENARIOS / "rdma_write.toml", overrides=[("workload.perftest0.tool", tool)])
    ours = {row["path"].rpartition(".")[2]: str(row["value"]) for row in explained.document["parameters"]}
    real = defaults(tool)
    assert {"size", "iterations"} <= real.keys()
    in_bytes = {"65536": "64 KiB", "2": "2 B"}
    said = real | {"size": in_bytes[real["size"]]}
    if "bidirectional" in said:
        said["bidirectional"] = {"unidirectional": "false"}[said["bidirectional"]]
    assert {name: ours[name] for name in said} == said


@pytest.mark.parametrize(
    ("output", "size", "name", "said"),
    [
        ("ib_write_bw", "64 KiB", "completion_moderation", " CQ Moderation   : {}"),
        ("ib_write_bw-small", "4 KiB", "completion_moderation", " CQ Moderation   : {}"),
        ("ib_write_bw", "64 KiB", "inline_size", " Max inline data : {}[B]"),
        ("ib_write_lat", "2 B", "inline_size", " Max inline data : {}[B]"),
    ],
)
def test_what_perftest_chooses_itself_is_chosen_alike(output: str, size: str, name: str, said: str) -> None:
    settings = {"tool": output.removesuffix("-small"), "size": size}
    overrides = [(f"workload.perftest0.{key}", value) for key, value in settings.items()]
    explained = api.explain(SCENARIOS / "rdma_write.toml", overrides=overrides)
    ours = {row["path"].rpartition(".")[2]: str(row["value"]) for row in explained.document["parameters"]}
    assert said.format(ours[name].removesuffix(" B")) in captured(f"perftest-6.06-{output}.txt").splitlines()
