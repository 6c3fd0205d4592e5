"""`scan --scenario` then `run`, and `predict`, give one answer for all devices at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from machine_dumps import DUMPS, corpus_files
from test_machine_scenario import PORT

from lanewise import _core
from lanewise.health.predict import predict
from lanewise.health.predict.as_scenario import scenario_of
from lanewise.machine import read, read_bytes
from lanewise.machine.scenario import endpoint_name

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

WITHIN = 0.005
CARD = "Ethernet controller [0200]: Mellanox Technologies MT28908 Family [ConnectX-6] [15b3:101b]"
DRIVE = "Non-Volatile memory controller [0108]: Intel Corporation NVMe Datacenter SSD [8086:0a54]"


def two_ports() -> Machine:
    """Return a host with an adapter and a drive at root ports of its own."""
    link = {"status": "Speed 16GT/s, Width x16", "mps": 256, "tags": "+"}
    text = PORT.format(port="00:01.0", bus="01", name=CARD, **link)
    return read_bytes((text + PORT.format(port="00:02.0", bus="02", name=DRIVE, **link)).encode())


def check(machine: Machine) -> None:
    """Compare what each device reaches by both routes, in both directions."""
    rows = predict(machine).rows
    compared = 0
    for direction in ("write", "read"):
        flows = json.loads(_core.run("rig.toml", [], None, scenario_of(machine, direction)))["flows"]
        reached: dict[str, float] = {}
        for flow in flows:
            if flow["direction"] != "control":
                device = flow["device"]
                reached[device] = reached.get(device, 0.0) + flow["goodput_gb_per_s"]
        predicted = {
            endpoint_name(function): row.together_gb_per_s
            for row in rows
            for function in machine
            if row.direction == direction
            and row.together_gb_per_s is not None
            and function.address.short == row.bdf
        }
        assert predicted.keys() == reached.keys()
        for name, goodput in predicted.items():
            assert reached[name] == pytest.approx(goodput, rel=WITHIN), f"{direction} {name}"
            compared += 1
    assert compared


def test_both_routes_agree_on_devices_at_root_ports() -> None:
    check(two_ports())


def test_what_has_no_benchmark_is_written_all_the_same() -> None:
    """A virtual machine's devices are not predicted; the scenario has plain DMA both ways."""
    text = scenario_of(read(DUMPS / "qemu.vvv"))
    assert 'direction = "both"' in text
    assert _core.explain("rig.toml", [], text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        path
        for path in corpus_files("lspci-vvv", "nccl-xml")
        if path.name in ("dell-xe9680-8xh100.vvv", "aws-p4d.xml", "h800-8gpu.xml")
    ],
    ids=lambda path: path.name,
)
def test_both_routes_agree_on_machines_of_the_corpus(path: object) -> None:
    check(read(path))  # type: ignore[arg-type]
