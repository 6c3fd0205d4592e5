"""The command line as a script sees it: exit statuses, stdout and stderr apart, JSON shapes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import documents
import pytest

from lanewise import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result
    from fake_core import FakeCore

    CommandLine = Callable[..., Result]


def test_json_goes_to_stdout_and_nothing_else_does(core: FakeCore, lanewise: CommandLine) -> None:
    result = lanewise("run", "rig-switch.toml", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"format": 1, **documents.run_document()}
    assert result.stderr == ""


@pytest.mark.parametrize(
    "arguments", [["explain", "a"], ["parts"], ["parts", "lsi-sas3801e"], ["bench"], ["compare", "a", "b"]]
)
def test_every_verb_prints_a_table_or_json(
    core: FakeCore, lanewise: CommandLine, arguments: list[str]
) -> None:
    table = lanewise(*arguments)
    assert (table.exit_code, table.stderr) == (0, "")
    assert table.stdout.strip()
    assert json.loads(lanewise(*arguments, "--json").stdout)


def test_tables_have_no_colour_in_a_pipe_and_fit_the_width(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs = (["run", "switch"], ["compare", "direct", "switch"], ["explain", "a"], ["parts"])
    for columns, arguments in product((60, 80), verbs):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = lanewise(*arguments).stdout
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= columns
        assert not any(line.endswith(" ") for line in text.splitlines())


def test_what_a_verb_does_is_not_cut_off() -> None:
    """On a terminal: there two of its columns stay free, which click's runner of tests does not know."""
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "--help"]
    done = subprocess.run(
        command, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True
    )
    listed = done.stdout.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def test_the_ladder_of_a_fast_link_fits_80_columns(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    document = documents.run_document()
    core.answer = lambda *_: document
    for link in document["links"]:
        link |= {"name": "ssd[0]", "generation": "gen5", "width": "x16", "mps_bytes": 4096}
        for direction in ("upstream", "downstream"):
            link[direction]["ladder"] = dict.fromkeys(link[direction]["ladder"], 63.015)
            link[direction]["utilisation"] = 1.0
    text = lanewise("run", "switch").stdout
    assert "100.0 %" in text
    assert max(map(len, text.splitlines())) <= 80


def test_long_and_short_latencies_in_one_table_fit_80_columns(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write of a packet takes 147.94 ns and an operation 9,514.63 ns, as below a switch of a GPU node."""
    monkeypatch.setenv("COLUMNS", "80")
    document = documents.run_document()
    core.answer = lambda *_: document
    for flow in document["flows"]:
        short = {key: 147.94 for key, value in flow["latency_ns"].items() if isinstance(value, float)}
        flow["latency_ns"] |= short | {"max": 9514.63}
    text = lanewise("run", "switch").stdout
    latency = text[text.index("Latency") :].partition("\n\n")[0]
    assert "147.9 " in latency
    assert "9,515" in latency
    assert max(map(len, text.splitlines())) <= 80


def test_requests_of_a_long_copy_have_a_unit_of_their_own(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    flow = document["flows"][0]
    numbers = {name: value for name, value in flow["latency_ns"].items() if isinstance(value, float)}
    flow["latency_ns"] |= dict.fromkeys(numbers, 147.94)
    flow["operation_latency_ns"] = flow["latency_ns"] | {"count": 6} | dict.fromkeys(numbers, 20.9e6)
    document["flows"] = [flow]
    text = lanewise("run", "switch").stdout
    of_copies, of_requests = (part.partition("\n\n")[0] for part in text.split("\nLatency")[1:])
    assert "ms, of n samples" in of_copies
    assert "20.90 " in of_copies
    assert "ns, of n samples" in of_requests
    assert "147.94 " in of_requests


def test_short_latencies_beside_long_ones_have_three_digits_when_compared(
    core: FakeCore, lanewise: CommandLine
) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    long, short = document["flows"][0], {**document["flows"][0], "name": "short"}
    long["latency_ns"] = {**long["latency_ns"], "mean": 45_190.0}
    short["latency_ns"] = {**short["latency_ns"], "mean": 43.21}
    document["flows"] = [long, short]
    text = lanewise("compare", "switch", "switch").stdout
    assert "45.19 " in text
    assert "0.0432 " in text


def test_flows_of_two_kinds_and_of_many_requests_fit_80_columns(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns come closer together where they do not fit: operations of drives, many requests of a card."""
    document = documents.run_document()
    core.answer = lambda *_: document
    operations, requests = document["flows"][0], document["flows"][0].copy()
    operations |= {"counted": "operations", "device": "ssd_a[0]+ssd_a[1]+ssd_a[2]+ssd_a[3]"}
    requests |= {"flow": "read at initiator", "device": "nic_client_a", "counted": "requests"}
    for flow in (operations, requests):
        flow |= {"goodput_gb_per_s": 24.465, "goodput_mib_per_s": 23331.5}
        flow |= {"operations_per_s": 47_987_500.0, "confidence_half_width_percent": 1.58}
    document["flows"] = [operations, requests]
    head = {}
    for columns in (80, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = lanewise("run", "switch").stdout.splitlines()
        assert max(map(len, lines)) <= columns
        head[columns] = next(line for line in lines if line.startswith("flow") and "MiB/s" in line)
    assert head[80].split() == head[100].split()


def test_a_narrow_terminal_cuts_no_name_and_no_number(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit beside the names of the rows is below, with the names again."""
    monkeypatch.setenv("COLUMNS", "40")
    text = lanewise("run", "switch").stdout
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= 40
    ladder = text[text.index("Efficiency ladder") :].partition("Where the time")[0].splitlines()
    monkeypatch.setenv("COLUMNS", "100")
    wide = lanewise("run", "switch").stdout
    row = next(line for line in wide[wide.index("Efficiency ladder") :].splitlines() if line[:3] == "sw0")
    pieces = [line.split() for line in ladder if line[:3] == "sw0"]
    assert len(pieces) > 1
    assert [piece[:5] for piece in pieces] == [row.split()[:5]] * len(pieces)
    assert [cell for piece in pieces for cell in piece[5:]] == row.split()[5:]


def test_non_posted_is_one_word(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    document["links"][0]["upstream"]["time_attribution"]["blocked_non_posted_header"] = 0.2
    core.answer = lambda *_: document
    assert "blocked non-posted header 20.0 %" in lanewise("run", "switch").stdout


def test_brackets_in_names_are_no_markup(core: FakeCore, lanewise: CommandLine) -> None:
    core.answer = lambda *_: {**documents.run_document(), "title": "[red]a[/red]", "end_detail": "x [bold]"}
    text = lanewise("run", "switch").stdout
    assert text.startswith("[red]a[/red]\n")
    assert "x [bold]" in text


def test_a_table_says_whether_requests_or_operations_are_counted(
    core: FakeCore, lanewise: CommandLine
) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    assert "operations/s" in lanewise("run", "switch").stdout
    for flow in document["flows"]:
        flow["counted"] = "requests"
    text = lanewise("run", "switch").stdout
    assert "requests/s" in text
    assert "write request" in text
    assert "all data" in text
    document["flows"][0]["counted"] = "operations"
    text = lanewise("run", "switch").stdout
    assert "per second  of" in text
    assert "all data" not in text, "an operation and the requests that move its data count the same bytes"


def test_frames_have_their_name_beside_the_requests_of_their_data(
    core: FakeCore, lanewise: CommandLine
) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    for flow in document["flows"]:
        flow["counted"] = "requests"
    frames = {"direction": "frames", "counted": "frames", "bytes": 0, "operations_per_s": 48.5}
    document["flows"].append({**document["flows"][0], **frames})
    text = lanewise("run", "switch").stdout
    assert "per second  of" in text
    assert re.search(r"frames +\N{EN DASH} +\N{EN DASH} +\S+ .* 4[89]  frames\n", text)
    assert re.search(r"all data +1\.\d{3} +[\d,.]+ +\N{EN DASH}\n", text), (
        "bytes have a sum, requests and frames have none"
    )


def test_numbers_of_tools_have_all_digits_before_the_point(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    metrics = [
        {"name": f"n{at}", "value": value} for at, value in enumerate((939_850.0, 1_162_901.4, 48.50412))
    ]
    document["instruments"] = [{"workload": "game", "kind": "frames", "metrics": metrics}]
    text = lanewise("run", "switch").stdout
    assert [line.split()[-1] for line in text.splitlines() if re.match(r"(game +frames)? +n\d", line)] == [
        "939,850",
        "1,162,901",
        "48.5041",
    ]


def test_rates_that_rest_on_few_operations_are_told_so(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    said = f"Only 29 operations of {document['flows'][0]['name']} ended in the measured time"
    assert said in lanewise("run", "switch").stdout
    for flow in document["flows"]:
        flow["operations"] = 200
    assert "less exact" not in lanewise("run", "switch").stdout


def test_the_unit_of_latencies_suits_those_that_are_shown(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    document["flows"].append({**document["flows"][0], "name": "frame", "bytes": 0})
    for flow in document["flows"][:-1]:
        numbers = {name: value for name, value in flow["latency_ns"].items() if name != "buckets"}
        flow["latency_ns"] = {name: value and value / 1e4 for name, value in numbers.items()}
    text = lanewise("run", "switch").stdout
    assert "Latency   ns, of n samples" in text
    assert "1,420 " in text


def test_a_report_too_long_for_the_table_is_pointed_to(core: FakeCore, lanewise: CommandLine) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    assert "--as" not in lanewise("run", "switch").stdout
    metrics = [{"name": f"number {number}", "value": 1.0} for number in range(40)]
    document["instruments"] = [{"workload": "disks", "kind": "iometer", "metrics": metrics}]
    text = lanewise("run", "switch").stdout
    assert "'--as iometer' prints the report of iometer itself" in text
    assert "number 3" not in text


def test_a_scenario_without_a_workload_is_told_so(core: FakeCore, lanewise: CommandLine) -> None:
    core.answer = lambda *_: {**documents.run_document(), "flows": []}
    assert "no [[workload]]" in lanewise("run", "switch").stdout


def test_a_scenario_comes_from_standard_input(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import BytesIO, TextIOWrapper

    from lanewise import api
    from lanewise.runs import simulator

    simulator.standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b'title = "from a pipe"')))
    api.run("-")
    api.run("-")
    assert [text for text, _ in core.asked] == ['title = "from a pipe"'] * 2
    simulator.standard_input.cache_clear()


def test_overrides_reach_the_core_in_order(core: FakeCore, lanewise: CommandLine) -> None:
    lanewise(
        "run", "a", "--set", "sw0.latency=150 ns", "--set", "a.b = c=d", "--seed", "7", "--time-limit", "2 ms"
    )
    assert core.asked == [
        ("a", {"sw0.latency": "150 ns", "a.b": "c=d", "run.seed": "7", "run.time_limit": "2 ms"})
    ]


def test_bad_overrides_are_all_named(core: FakeCore, lanewise: CommandLine) -> None:
    result = lanewise("run", "a", "--set", "latency", "--set", "=x")
    assert result.exit_code == 2
    assert "found 'latency', '=x'" in result.stderr
    assert core.asked == []


@pytest.mark.parametrize(
    ("reason", "status"), [("Converged", 0), ("TimeLimit", 0), ("Stalled", 1), ("Interrupted", 130)]
)
def test_the_end_of_a_run_is_the_exit_status(
    core: FakeCore, lanewise: CommandLine, reason: str, status: int
) -> None:
    core.answer = lambda *_: documents.run_document(end_reason=reason)
    result = lanewise("run", "a")
    assert result.exit_code == status
    if reason == "Stalled":
        assert "hba0 waits for posted credits" in result.stdout


def test_run_writes_a_folder_and_compare_reads_it(
    core: FakeCore, lanewise: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert lanewise("run", "direct", "--out", out).exit_code == 0
    result = lanewise("compare", out, "switch", "--json")
    assert json.loads(result.stdout)["totals"][0]["ratio"] == pytest.approx(0.8367 / 1.2514)
    again = lanewise("run", "direct", "--out", out)
    assert (again.exit_code, len(core.asked)) == (2, 2)
    assert "exists already" in again.stderr


def test_compare_has_no_empty_table_of_what_changed(core: FakeCore, lanewise: CommandLine) -> None:
    assert "Where the time went instead" in lanewise("compare", "direct", "switch").stdout
    text = lanewise("compare", "switch", "switch").stdout
    assert "Where the time went" not in text
    assert "spent its time differently" in text


def test_the_unit_of_compared_latencies_suits_those_that_are_shown(
    core: FakeCore, lanewise: CommandLine
) -> None:
    document = documents.run_document()
    core.answer = lambda *_: document
    document["flows"].append({**document["flows"][0], "name": "frame", "bytes": 0, "goodput_mib_per_s": 0.0})
    for flow in document["flows"][:-1]:
        flow["latency_ns"] = {**flow["latency_ns"], "mean": 1_210.1}
    text = lanewise("compare", "switch", "switch").stdout
    assert "1,210.10" in text


def test_compare_fails_outside_its_tolerance(core: FakeCore, lanewise: CommandLine) -> None:
    assert lanewise("compare", "direct", "switch", "--within", "50").exit_code == 0
    result = lanewise("compare", "direct", "switch", "--within", "3")
    assert result.exit_code == 1
    assert "differs by more than 3 %" in result.stderr


def test_a_tolerance_is_a_number_from_zero(core: FakeCore, lanewise: CommandLine) -> None:
    assert lanewise("compare", "direct", "switch", "--within", "-1").exit_code == 2
    for arguments in (["compare", "a", "b", "--within", "nan"], ["run", "a", "--live", "nan"]):
        result = lanewise(*arguments)
        assert (result.exit_code, core.asked) == (2, []), arguments
        assert "nan is not a number" in result.stderr


def test_what_is_wrong_with_the_second_is_said_before_the_first_is_run(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explain(path: str, *_: object) -> str:
        if path == "missing":
            raise _core.ScenarioError("cannot read `missing`")
        return json.dumps(documents.explain_document())

    monkeypatch.setattr(_core, "explain", explain)
    assert lanewise("compare", "direct", "missing").exit_code == 2
    assert core.asked == []


def test_an_override_that_fits_one_of_two_scenarios_says_which_it_does_not_fit(
    lanewise: CommandLine,
) -> None:
    scenarios = Path(__file__).parents[2] / "scenarios"
    one, other = (scenarios / f"{name}.toml" for name in ("first_rig", "switch"))
    outcome = lanewise("compare", one, other, "--set", "nvme0.width=x2")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.endswith(f"1 problem in the scenario '{other}'\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "a", "--as", "fio", "--json"],
        ["reproduce", "IDT-S1", "--report", "x.html", "--no-report"],
        ["scan", "dump.txt", "--json", "--scenario"],
    ],
)
def test_options_that_exclude_each_other_are_refused(
    core: FakeCore, lanewise: CommandLine, arguments: list[str]
) -> None:
    result = lanewise(*arguments)
    assert (result.exit_code, core.asked) == (2, [])
    assert "not both" in result.stderr
    # Who asks for JSON gets what is wrong as JSON, too.
    said = json.loads(result.stdout)["errors"][0]["message"] if result.stdout else result.stderr
    assert "not both" in said
    assert bool(result.stdout) == ("--json" in arguments)


def test_a_core_of_another_version_is_told_apart_from_a_mistake(
    lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lanewise import api

    def old_core() -> None:
        raise ImportError("cannot import name 'ladder' from 'lanewise._core'")

    monkeypatch.setattr(api, "parts", old_core)
    result = lanewise("parts")
    assert result.exit_code == 3
    assert "make setup" in result.stderr
    assert "please report" not in result.stderr


def test_an_unknown_part_gets_a_suggestion(core: FakeCore, lanewise: CommandLine) -> None:
    for wrong in ("lsi-sas3810e", "sas3810e"):
        result = lanewise("parts", wrong)
        assert result.exit_code == 2
        assert "did you mean 'lsi-sas3801e'?" in result.stderr


def test_a_part_is_found_by_a_piece_of_its_name(core: FakeCore, lanewise: CommandLine) -> None:
    for piece in ("lsi-sas3801", "SAS3801E", "lsi sas"):
        assert json.loads(lanewise("parts", piece, "--json").stdout)["parts"][0]["name"] == "lsi-sas3801e"


def test_parts_are_listed_by_words_of_their_titles(lanewise: CommandLine) -> None:
    listed = lanewise("parts", "epyc")
    assert listed.exit_code == 0
    assert all(part in listed.stdout for part in ("amd-genoa", "amd-milan", "amd-rome"))
    assert "intel" not in listed.stdout
    assert lanewise("parts", "amd", "epyc").stdout == lanewise("parts", "amd epyc").stdout
    assert lanewise("parts", "epyc-7763").stdout.startswith("amd-milan   EPYC 7003 (Milan) (host)")


def test_an_unknown_experiment_lists_the_known(lanewise: CommandLine) -> None:
    result = lanewise("reproduce", "IDT-T99")
    assert result.exit_code == 2
    assert "IDT-S1" in result.stderr


def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    core: FakeCore, lanewise: CommandLine, tmp_path: Path
) -> None:
    outcome = lanewise("reproduce", "--report", tmp_path, "OPP-4")
    assert outcome.exit_code == 2
    assert "it is a folder" in outcome.stderr
    assert core.asked == []


def test_who_interrupts_reproduce_hears_what_is_kept(
    lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: str, cache: object, on_progress: Callable[[int, int], None]) -> None:
        on_progress(1, 3)
        raise KeyboardInterrupt

    monkeypatch.setattr("lanewise.api.reproduce", interrupted)
    outcome = lanewise("reproduce", "OPP-4")
    assert outcome.exit_code == 130
    assert outcome.stderr == (
        "interrupted: 1 of 3 runs are finished and kept; the next 'lanewise reproduce' starts from there\n"
    )


def test_our_own_mistake_is_status_3(
    core: FakeCore, lanewise: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise AssertionError("credits do not add up")

    monkeypatch.setattr(_core, "run", broken)
    result = lanewise("run", "a")
    assert result.exit_code == 3
    assert "This is a mistake in Lanewise" in result.stderr
    assert "Traceback" not in result.stderr
    assert "shows where it happened; please report it with the scenario." in result.stderr
    verbose = lanewise("-v", "run", "a").stderr
    assert "Traceback" in verbose
    assert "not in what you gave it. Please report it with the scenario." in verbose


def test_the_version_is_that_of_the_core(lanewise: CommandLine) -> None:
    assert lanewise("--version").stdout == f"lanewise {_core.VERSION}\n"


def test_wrong_usage_is_status_2(lanewise: CommandLine) -> None:
    assert lanewise("run").exit_code == 2
    assert lanewise("fly").exit_code == 2


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['lanewise', '--help']\n"
        "import lanewise, lanewise.cli\n"
        "try: lanewise.cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'rich.table', 'scipy', 'pyarrow', 'numpy'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reproduce" in done.stdout


def test_the_exact_ladder_of_the_published_switch(lanewise: CommandLine) -> None:
    result = lanewise("reproduce", "IDT-S1", "--json")
    assert result.exit_code == 0
    (experiment,) = json.loads(result.stdout)["experiments"]
    cells = {cell["cell"]: cell["simulated"] for cell in experiment["cells"]}
    assert cells["raw_bits"] == 120
    assert cells["switch_throughput"] == 96
    assert cells["switch_utilization"] == pytest.approx(81.6, rel=1e-12)
    assert cells["switch_efficiency"] == pytest.approx(81.6 * 128 / 148, rel=1e-12)
