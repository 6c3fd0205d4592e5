"""Hand-written documents in the shape the core gives, for tests of what Python does with them."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

_TICKS = 11_200_000_000


def direction(goodput: float, **shares: float) -> Document:
    """Make one direction of a Gen1 x8 link; what the shares leave is idle."""
    shares["idle"] = 1.0 - sum(shares.values())
    ticks = {name: round(share * _TICKS) for name, share in shares.items()}
    return {
        "ladder": {
            "line_rate_gb_per_s": 2.5,
            "link_bandwidth_gb_per_s": 1.994,
            "coded_gb_per_s": 2.0,
            "tlp_bandwidth_gb_per_s": 1.98,
            "after_replays_gb_per_s": 1.98,
            "sent_gb_per_s": 1.98 - 2.0 * shares["idle"],
            "goodput_gb_per_s": goodput,
        },
        "time_attribution": shares,
        "time_attribution_ticks": ticks,
        "measured_ticks": _TICKS,
        "utilisation": 1.0 - shares["idle"],
    }


def link(name: str, upper: str, lower: str, *, upstream: Document, downstream: Document) -> Document:
    """Make one Gen1 x8 link."""
    return {
        "name": name,
        "upper": upper,
        "lower": lower,
        "generation": "gen1",
        "width": "x8",
        "flit": False,
        "mps_bytes": 128,
        "upstream": upstream,
        "downstream": downstream,
    }


def flow(name: str, device: str, goodput_gb_per_s: float) -> Document:
    """Make one flow of reads from disks: writes into memory."""
    return {
        "name": name,
        "device": device,
        "direction": "write",
        "in_total": True,
        "goodput_gb_per_s": goodput_gb_per_s,
        "goodput_mib_per_s": goodput_gb_per_s * 1e9 / 2**20,
        "confidence_half_width_percent": 0.41,
        "bytes": 9_372_672,
        "counted": "operations",
        "operations": 29,
        "operations_per_s": goodput_gb_per_s * 1e9 / 317_440,
        "latency_ns": {
            "mean": 12_101_000.0,
            "p50": 12_000_000.0,
            "p90": 13_100_000.0,
            "p99": 14_200_000.0,
            "max": 14_900_000.0,
            "stddev": 812_000.0,
            "min": 11_000_000.0,
            "p95": 13_900_000.0,
            "p99_9": None,
            "count": 29,
            "buckets": {
                "from_ns": [10_944_512, 11_993_088, 14_876_672],
                "below_ns": [11_010_048, 12_058_624, 14_942_208],
                "counts": [10, 18, 1],
            },
        },
        "operation_latency_ns": None,
        "percentile_interval": None,
    }


def live_flows() -> list[Document]:
    """Return what a run tells of its flows while it goes on: one reads, one has done nothing."""
    last = {"goodput_gb_per_s": 3.25, "operations_per_s": 9_000.0, "latency_ns_mean": 1_500_000.0}
    whole = {"goodput_gb_per_s": 2.5, "operations_per_s": 8_000.0, "latency_ns_mean": 1_750_000.0}
    nothing = {"goodput_gb_per_s": 0.0, "operations_per_s": 0.0, "latency_ns_mean": None}
    return [
        {"flow": "busy", "device": "hba0", "direction": "read", "in_total": True}
        | {"last": last, "whole": whole, "latency_ns_max": 9_000_000.0},
        {"flow": "silent", "device": "hba1", "direction": "write", "in_total": True}
        | {"last": nothing, "whole": nothing, "latency_ns_max": None},
    ]


def run_document(*, with_switch: bool = True, end_reason: str = "Converged") -> Document:
    """Make the results of two HBAs, behind a switch or in slots of their own."""
    each = 0.8367 if with_switch else 1.2514
    blocked = {"blocked_posted_data": 0.37} if with_switch else {}
    links = [
        link(
            f"hba{number}",
            "sw0.port1" if with_switch else f"server.slot{number}",
            f"hba{number}",
            upstream=direction(each, payload=0.42, header=0.04, framing=0.026, ordered_set=0.003, **blocked),
            downstream=direction(0.0, dllp=0.031, ordered_set=0.003),
        )
        for number in (0, 1)
    ]
    if with_switch:
        upstream = direction(
            1.6734, payload=0.837, header=0.078, framing=0.052, dllp=0.001, ordered_set=0.003
        )
        downstream = direction(0.0, dllp=0.062, ordered_set=0.003)
        links.insert(0, link("sw0", "server.slot1", "sw0", upstream=upstream, downstream=downstream))
    return {
        "title": "SAS HBAs behind a PES24N3A" if with_switch else "SAS HBAs in slots of their own",
        "lanewise_version": "0.1.0",
        "scenario_path": "rig.toml",
        "seed": 1,
        "end_reason": end_reason,
        "end_detail": "every flow is known to 0.5 %",
        "stalled_waiting": ["hba0 waits for posted credits of sw0.port1"] if end_reason == "Stalled" else [],
        "simulated_s": 0.0123,
        "warm_up_s": 0.0011,
        "measured_s": 0.0112,
        "events": 1_234_567,
        "tlp_hops": 345_678,
        "fingerprint": "0123456789abcdef",
        "goodput_gb_per_s": 2 * each,
        "flows": [flow("read disks0", "hba0", each), flow("read disks1", "hba1", each)],
        "links": links,
        "errors": [{"port": "server.slot1", "error": "poisoned_tlp", "status_bit": 12, "count": 3}],
        "requesters": [
            {
                "device": f"hba{number}",
                "time_attribution": {"nothing_asked": 0.032, "port": 0.61, "window": 0.358},
            }
            for number in (0, 1)
        ],
        "buffers": [
            {
                "port": "sw0.port1",
                "class": "posted",
                "mean_bytes": 901.2,
                "max_bytes": 1024,
                "capacity_bytes": 1024,
            }
        ],
        "instruments": [
            {
                "workload": "read",
                "kind": "iometer",
                "metrics": [{"name": "Total MBs per Second", "value": 1596.0}],
            }
        ],
        "assumptions": [
            {
                "path": "sw0.latency",
                "value": "200 ns",
                "provenance": "assumed",
                "source": "cut-through of its time",
            },
            {
                "path": "server.write_bandwidth",
                "value": "2.5 GB/s",
                "provenance": "published",
                "source": "a paper",
            },
        ],
    }


def explain_document() -> Document:
    """Make a resolved scenario of two parameters and one link."""
    return {
        "title": "SAS HBAs behind a PES24N3A",
        "parameters": [
            {
                "path": "server.write_bandwidth",
                "value": "2.5 GB/s",
                "provenance": "calibrated",
                "source": "shared cap of the root complex",
                "place": "rig.toml:12",
                "fitted_on": ["IDT-T5 read/without_x8"],
                "role": "claim",
            },
            {
                "path": "sw0.latency",
                "value": "200 ns",
                "provenance": "assumed",
                "source": "",
                "place": "default",
                "fitted_on": [],
                "role": "claim",
            },
        ],
        "links": [
            {
                "name": "sw0",
                "upper": "server.slot1",
                "lower": "sw0",
                "generation": "gen1",
                "width": "x8",
                "generation_limited_by": "both ends",
                "width_limited_by": "both ends",
                "mps_bytes": 128,
            }
        ],
        "functions": [],
    }


def parts_document() -> Document:
    """Make a catalog of two parts."""
    parameter = {
        "path": "latency",
        "value": "200 ns",
        "provenance": "assumed",
        "source": "cut-through switches of its time",
        "fitted_on": [],
    }
    return {
        "parts": [
            {"name": "idt-89hpes24n3a", "kind": "switch", "title": "IDT PES24N3A", "parameters": [parameter]},
            {"name": "lsi-sas3801e", "kind": "endpoint", "title": "LSI SAS3801E", "parameters": []},
        ]
    }


def bench_document(name: str) -> Document:
    """Make one benchmark entry."""
    return {
        "name": name,
        "tlp_hops_per_s": 6.2e6,
        "events_per_s": 2.1e7,
        "simulated_s": 0.031,
        "wall_s": 2.02,
        "bytes_per_idle_port": 2048,
        "audit_percent": 0.4,
    }


STARVED = """
title = "Strict arbitration"
[host.server]
slots = { slot1 = "gen4 x4" }
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen4 x4", port1 = "gen4 x4", port2 = "gen4 x4" }
arbitration = "strict"
[endpoint.first]
attach = "sw.port1"
generation = "gen4"
width = "x4"
[endpoint.second]
attach = "sw.port2"
generation = "gen4"
width = "x4"
[[workload]]
kind = "dma"
name = "much"
device = "first"
direction = "write"
[[workload]]
kind = "dma"
name = "nothing"
device = "second"
direction = "write"
"""
"""A scenario in which one of two loads gets nothing through."""
