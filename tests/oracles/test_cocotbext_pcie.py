"""TLP and DLLP sizes against cocotbext-pcie, a bus functional model by other people. No simulator is needed.

Its faults as of 0.2.16, none of which reaches these tests unless one names it:

- ``Tlp.get_wire_size`` counts neither a digest (``td``) nor prefixes; ``pack`` writes no digest.
- ``Tlp.pack_header`` refuses messages ("Unknown TLP type"), so their header length is read, not packed.
- ``Tlp.get_lower_address`` binds ``&`` weaker than ``+`` and so masks with the wrong constant.
- ``Tlp.get_payload_size_dw`` rounds down: data must be padded to whole DW by the caller.
- ``port.get_max_update_latency`` leaves out the rounding to whole symbol times.
- It has no Flit Mode, so nothing here speaks for ours.
"""

from __future__ import annotations

from math import floor
from typing import Any

import pytest
from cocotbext.pcie.core import dllp, port
from cocotbext.pcie.core.tlp import Tlp, TlpType

from lanewise.oracle import ack, flow_control, wire

HIGH = 2**32 + 0x1000
LOW = 0x1000

CASES: list[tuple[str, wire.Kind, int, str]] = [
    ("MEM_READ", "memory read", LOW, "NP"),
    ("MEM_READ_64", "memory read", HIGH, "NP"),
    ("MEM_WRITE", "memory write", LOW, "P"),
    ("MEM_WRITE_64", "memory write", HIGH, "P"),
    ("IO_READ", "io read", LOW, "NP"),
    ("IO_WRITE", "io write", LOW, "NP"),
    ("CFG_READ_0", "config read", LOW, "NP"),
    ("CFG_WRITE_0", "config write", LOW, "NP"),
    ("CFG_READ_1", "config read", LOW, "NP"),
    ("CFG_WRITE_1", "config write", LOW, "NP"),
    ("FETCH_ADD", "atomic", LOW, "NP"),
    ("FETCH_ADD_64", "atomic", HIGH, "NP"),
    ("CAS_64", "atomic", HIGH, "NP"),
    ("CPL", "completion", LOW, "CPL"),
    ("CPL_DATA", "completion with data", LOW, "CPL"),
    ("MSG_TO_RC", "message", LOW, "P"),
    ("MSG_DATA_ID", "message with data", LOW, "P"),
]
PAYLOADS = {
    "memory write": (4, 64, 128, 256, 512, 1024, 2048, 4096),
    "io write": (4,),
    "config write": (4,),
    "atomic": (4, 8, 16, 32),
    "completion with data": (4, 60, 64, 128, 256, 4096),
    "message with data": (4, 64),
}


def other(name: str, address: int, payload: int) -> Any:
    tlp = Tlp()
    tlp.fmt_type = TlpType[name]
    tlp.address = address
    tlp.set_data(bytes(payload))
    return tlp


@pytest.mark.parametrize(("name", "kind", "address", "flow_class"), CASES)
def test_sizes_credits_and_classes_agree(name: str, kind: wire.Kind, address: int, flow_class: str) -> None:
    for payload in PAYLOADS.get(kind, (0,)):
        tlp = other(name, address, payload)
        assert tlp.get_header_size() == wire.header_bytes(kind, address=address)
        assert tlp.get_wire_size() == wire.tlp_bytes(kind, payload=payload, address=address)
        assert tlp.get_data_credits() == flow_control.data_credits(payload)
        assert tlp.get_fc_type().name == flow_class


@pytest.mark.parametrize(("name", "kind", "address", "flow_class"), CASES)
def test_packed_bytes_are_what_we_count(name: str, kind: wire.Kind, address: int, flow_class: str) -> None:
    for payload in PAYLOADS.get(kind, (0,)):
        tlp = other(name, address, payload)
        if kind.startswith("message"):
            with pytest.raises(Exception, match="Unknown TLP type"):
                tlp.pack()
            continue
        assert len(tlp.pack_header()) == wire.header_bytes(kind, address=address)
        assert len(tlp.pack()) + 8 == wire.tlp_bytes(kind, payload=payload, address=address), flow_class


def test_unaligned_writes_are_padded_to_whole_dwords() -> None:
    for address, length in ((1, 1), (3, 2), (2, 255), (5, 64)):
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_WRITE
        tlp.set_addr_be_data(address, bytes(length))
        touched = (address + length + 3) // 4 * 4 - address // 4 * 4
        assert tlp.get_wire_size() == wire.tlp_bytes("memory write", payload=touched)


def test_dllps_take_eight_bytes() -> None:
    packet = dllp.Dllp.create_ack(7)
    assert packet.get_wire_size() == wire.DLLP_BYTES
    assert len(packet.pack_crc()) + 2 == wire.DLLP_BYTES


@pytest.mark.parametrize("generation", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_latency_limits_and_symbols_agree(generation: int, lanes: int) -> None:
    for mps in (128, 256, 512, 1024, 2048, 4096):
        theirs = floor(port.get_max_update_latency(mps, lanes, generation) + 1e-9)
        assert theirs == ack.ack_latency_limit(mps=mps, lanes=lanes, generation=generation)
    symbol_ns = 1e9 * port.PCIE_GEN_SYMB_TIME[generation]
    assert symbol_ns == pytest.approx(float(wire.symbol_ns(generation)), rel=1e-12)


def test_its_faults_are_still_there() -> None:
    """When one of these fails, the package was mended: correct the list above."""
    tlp = other("MEM_WRITE", LOW, 64)
    tlp.td = True
    assert tlp.get_wire_size() == wire.tlp_bytes("memory write", payload=64, digest=True) - 4
    assert other("MEM_WRITE", LOW, 63).get_payload_size_dw() == 15
    read = other("MEM_READ", 0x1004, 0)
    read.first_be = 0b1000
    assert read.get_lower_address() != 0x07
