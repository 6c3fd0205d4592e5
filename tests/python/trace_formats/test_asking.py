"""What is said where a trace in a form for other tools cannot be written; and that a view can be."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import perfetto_reader
import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app

SWITCH = str(Path(__file__).parents[3] / "scenarios" / "switch.toml")


def test_a_form_that_there_is_not_is_said_with_those_there_are(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["trace", SWITCH, "--format", "pcap", "--out", str(tmp_path / "x")])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: no format of traces is called 'pcap'; there are text, jsonl, ")
    assert not list(tmp_path.iterdir())
    with pytest.raises(lanewise.InputError, match="no format of traces"):
        lanewise.write_trace(SWITCH, tmp_path / "x", form="pcap")  # type: ignore[arg-type]


def test_json_has_a_form_of_its_own() -> None:
    done = CliRunner().invoke(app, ["trace", SWITCH, "--format", "perfetto", "--json"])
    assert done.exit_code == 2
    assert "--json or --format" in done.stderr


def test_a_terminal_gets_no_bytes_but_a_hint() -> None:
    main, terminal = pty.openpty()
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "trace", SWITCH]
    done = subprocess.run(
        [*command, "--format", "perfetto"], stdout=terminal, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(terminal)
    os.close(main)
    assert done.returncode == 2
    assert done.stderr == "error: perfetto is not text for a terminal\nhint: name a file with --out FILE\n"


def test_a_pipe_gets_what_a_file_has(tmp_path: Path) -> None:
    out = tmp_path / "trace.pftrace"
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "trace", SWITCH]
    piped = subprocess.run([*command, "--format", "perfetto"], stdout=subprocess.PIPE, check=True).stdout
    lanewise.write_trace(SWITCH, out, form="perfetto")
    assert piped == out.read_bytes()


def test_what_led_to_something_and_a_transaction_are_written_too(tmp_path: Path) -> None:
    out = tmp_path / "trace.pftrace"
    view = ["trace", SWITCH, "--around", "first-blocked", "--for", "1 us", "--format", "perfetto"]
    assert CliRunner().invoke(app, [*view, "--out", str(out)]).exit_code == 0
    read = perfetto_reader.read(out)
    assert any(track[-1].startswith("held up") for track in read.slices)
    end = lanewise.write_trace(SWITCH, out, form="perfetto", start="10 us", transaction=7)
    flows = {
        one.flows[0] for slices in perfetto_reader.read(out).slices.values() for one in slices if one.flows
    }
    assert (len(flows), end["rows"] > 1) == (1, True)
