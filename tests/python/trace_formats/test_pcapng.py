"""Traces for Wireshark: blocks and records beside the rows, headers and DLLPs as other people decode them."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pcapng_reader
import pytest
from cocotbext.pcie.core.dllp import Dllp
from cocotbext.pcie.core.tlp import Tlp

import lanewise
from lanewise.trace_files import DISSECTOR

ROOT = Path(__file__).parents[3]
SCENARIOS = ROOT / "scenarios"
WINDOWS: list[tuple[str, str]] = [
    ("switch.toml", "20 us"),
    ("replay.toml", "0 ns"),
    ("mmio.toml", "0 ns"),
    ("virtual_channels.toml", "5 us"),
    ("flit.toml", "5 us"),
    ("nvme_direct.toml", "100 us"),
    ("rdma_write.toml", "0 ns"),
]
KINDS = ["tlp", "dllp"]


@pytest.mark.parametrize(("scenario", "start"), WINDOWS)
def test_packets_are_the_rows_and_headers_say_what_the_rows_say(
    scenario: str, start: str, tmp_path: Path
) -> None:
    out, file = tmp_path / "trace.pcapng", str(SCENARIOS / scenario)
    end = lanewise.write_trace(file, out, form="pcapng", start=start, span="20 us")
    _, interfaces, packets = pcapng_reader.read(out)
    rows = lanewise.trace(file, start=start, span="20 us", kinds=KINDS).rows.to_dicts()
    assert len(packets) == len(rows) == end["rows"] > 50
    names = [interface.options[2].decode() for interface in interfaces]
    assert len(set(names)) == len(names)
    for packet, row in zip(packets, rows, strict=True):
        assert names[packet.interface] == f"{row['link']} {row['direction']}"
        assert packet.options == {2: bytes([1 if row["direction"] == "upstream" else 2, 0, 0, 0])}
        assert packet.ns == row["at_ticks"] // 1_024_000
        for name in ("at_ticks", "span_ticks", "sequence", "tag", "length_bytes", "queue_depth"):
            assert getattr(packet, name) == row[name], name
        assert (packet.header_credits, packet.data_credits) == (row["header_credits"], row["data_credits"])
        assert [ticks for _, ticks in packet.waits] == [wait["ticks"] for wait in row["waits"]]
        if row["kind"] == "dllp":
            _same_dllp(packet, row)
        elif packet.flags & 4:
            _same_tlp(packet, row)
        else:
            assert (packet.content, row["note"]) == (b"", "again, the receiver has it")


def _same_dllp(packet: pcapng_reader.Packet, row: dict[str, Any]) -> None:
    dllp = Dllp.unpack_crc(packet.content)
    name = dllp.type.name
    assert name.replace("_", "").lower() == row["what"].replace("-", "").lower()
    if name in ("ACK", "NAK"):
        assert dllp.seq == row["sequence"]
        return
    steps = {0: 1, 1: 1, 2: 4, 3: 16}
    assert dllp.vc == row["channel"]
    header, data = dllp.hdr_fc * steps[dllp.hdr_scale], dllp.data_fc * steps[dllp.data_scale]
    # Infinite ones are said as 0 in InitFC.
    assert header in (row["header_credits"], 0 if row["header_credits"] is None else -1)
    assert data in (row["data_credits"], 0 if row["data_credits"] is None else -1)


def _same_tlp(packet: pcapng_reader.Packet, row: dict[str, Any]) -> None:
    tlp = Tlp.unpack_header(packet.content)
    assert len(packet.content) == tlp.get_header_size()
    kinds = {"MRd": "MEM_READ", "MWr": "MEM_WRITE", "CplD": "CPL_DATA", "Cpl": "CPL"}
    assert tlp.fmt_type.name.removesuffix("_64") == kinds[row["what"]]
    assert f"0000:{tlp.requester_id}" == row["requester_id"]
    assert tlp.tc == row["traffic_class"]
    assert tlp.ep == ("poisoned" in row["note"])
    address = int(row["address"], 16)
    assert packet.address == address
    if row["tag"] is not None and row["tag"] < 1024:
        assert tlp.tag == row["tag"]
    if row["what"].startswith("Cpl"):
        assert tlp.lower_address == (address & 0x7F)
        assert int(tlp.status) == 0 or row["what"] == "Cpl"
        return
    assert tlp.address == address & ~3
    assert tlp.get_be_byte_count() == max(row["length_bytes"], 1)
    assert tlp.get_first_be_offset() == address & 3 or row["length_bytes"] == 0
    assert tlp.length == -(-((address & 3) + row["length_bytes"]) // 4) or row["length_bytes"] == 0


def test_byte_counts_lead_from_the_request_to_its_last_completion(tmp_path: Path) -> None:
    out = tmp_path / "trace.pcapng"
    lanewise.write_trace(SCENARIOS / "switch.toml", out, form="pcapng", span="60 us", kinds=["tlp"])
    asked: dict[tuple[int, int | None, int], int] = {}
    counts = defaultdict(list)
    for packet in pcapng_reader.read(out)[2]:
        tlp = Tlp.unpack_header(packet.content)
        key = (packet.link, packet.tag, packet.issued_at_ticks)
        if tlp.fmt_type.name.startswith("MEM_READ"):
            asked[key] = tlp.length * 4
        elif tlp.fmt_type.name == "CPL_DATA":
            assert packet.flags & 8
            counts[key].append((tlp.byte_count, tlp.length * 4, bool(packet.flags & 16)))
    whole = {key: found for key, found in counts.items() if found[-1][2]}
    assert len(whole) > 300
    for key, found in whole.items():
        left = asked[key]
        for count, length, is_last in found:
            assert (count, is_last) == (left, left == length)
            left -= length
        assert left == 0


def test_the_causes_of_the_page_and_of_the_dissector_have_the_numbers_of_the_core(tmp_path: Path) -> None:
    out = tmp_path / "trace.pcapng"
    dissector = DISSECTOR.read_text(encoding="utf-8")
    listed = re.search(r"local CAUSES = \{(.*?)\}", dissector, re.DOTALL)
    assert listed is not None
    causes = re.findall(r'"(\w+)"', listed[1])
    page = " ".join((ROOT / "docs" / "reference" / "trace-formats.md").read_text("utf-8").split())
    assert f"in this order: {', '.join(causes)}." in page
    core = (ROOT / "crates" / "observe" / "src" / "cause.rs").read_text("utf-8")
    names = core[core.index("pub const fn name") : core.index("pub const fn words")]
    assert causes == re.findall(r'"(\w+)"', names)
    seen = set()
    for scenario, start in WINDOWS:
        file = str(SCENARIOS / scenario)
        lanewise.write_trace(file, out, form="pcapng", start=start, span="20 us")
        rows = lanewise.trace(file, start=start, span="20 us", kinds=KINDS).rows.to_dicts()
        for packet, row in zip(pcapng_reader.read(out)[2], rows, strict=True):
            said = [causes[cause - 1] for cause, _ in packet.waits]
            assert said == [wait["cause"] for wait in row["waits"]]
            seen |= set(said)
    assert len(seen) > 6
