"""The chain with the models of cocotbext-pcie: an endpoint writes 256 B at a time to a root, past a switch.

They model transactions, flow control and Acks, as test benches of hardware want them, in an HDL simulator,
which has nothing to simulate here but has to be there: Icarus Verilog (`iverilog`).
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Event
from cocotb_tools.runner import get_runner
from cocotbext.pcie.core import Device, MemoryEndpoint, RootComplex, Switch
from cocotbext.pcie.core.tlp import TlpType

WRITES = 2_000


@cocotb.test()
async def chain(_: Any) -> None:
    logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)
    root, switch, endpoint = RootComplex(), Switch(), MemoryEndpoint()
    root.max_payload_size = 1  # 256 B, as the register has it.
    device = Device(endpoint)
    for port in (switch.upstream_bridge.upstream_port, device.upstream_port):
        port.max_link_speed, port.max_link_width = 3, 8
    root.make_port().connect(switch)
    switch.make_port().connect(device)
    await root.enumerate()
    await root.find_device(endpoint.pcie_id).enable_device()
    await root.find_device(endpoint.pcie_id).set_master()

    payloads: list[int] = []
    done = Event()

    async def count(tlp: Any) -> None:
        await root.handle_mem_write_tlp(tlp)
        payloads.append(4 * tlp.length)
        if len(payloads) == WRITES:
            done.set()

    root.register_rx_tlp_handler(TlpType.MEM_WRITE, count)
    memory = root.mem_pool.alloc_region(1 << 20).get_absolute_address(0)
    data = bytes(256)
    started = time.perf_counter()
    for number in range(WRITES):
        await endpoint.mem_write(memory + number % 4096 * 256, data)
    await done.wait()
    wall_s = time.perf_counter() - started
    assert payloads == [256] * WRITES, "one TLP a write"
    result = {"job": "chain", "hops": 2 * WRITES, "wall_s": round(wall_s, 6)}
    Path(os.environ["RESULT"]).write_text(json.dumps(result))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top, result = Path(folder, "top.v"), Path(folder, "result.json")
        top.write_text("`timescale 1ps/1ps\nmodule top;\nendmodule\n")
        runner = get_runner("icarus")
        runner.build(sources=[top], hdl_toplevel="top", build_dir=folder)
        runner.test(
            hdl_toplevel="top",
            test_module=Path(__file__).stem,
            test_dir=Path(__file__).parent,
            build_dir=folder,
            results_xml=str(Path(folder, "results.xml")),
            extra_env={"RESULT": str(result)},
        )
        print(result.read_text())


if __name__ == "__main__":
    main()
