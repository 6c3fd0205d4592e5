"""One run: why it ended, its flows, the ladder of every link, where the time went, what held requesters back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from lanewise.results import RunResult

_MOST_FLOWS = 40
_MOST_LINKS = 20


def print_run(result: RunResult) -> None:
    """Print everything a person asks of a run first."""
    console = stdout()
    _print_heading(console, result)
    console.print(_flows(result.flows))
    links, left_out = _busiest(result.links)
    console.print(_ladder(links))
    console.print(_attribution(links, result.time_attribution))
    if left_out:
        console.print(f"{left_out} less busy links are not shown; --json and --out have all of them.\n")
    if not result.requesters.is_empty():
        console.print(_requesters(result.requesters))
    _print_assumptions(console, result.assumptions)


def _print_heading(console: Console, result: RunResult) -> None:
    document = result.document
    console.print(Text(result.title, style="bold"))
    ended = {
        "Converged": "Converged",
        "Finished": "Finished",
        "TimeLimit": "Stopped at the time limit",
        "EventLimit": "Stopped at the event limit",
        "Stalled": "STALLED",
        "Interrupted": "Interrupted",
    }.get(result.end_reason, result.end_reason)
    console.print(
        f"{ended} after {1e3 * document['simulated_s']:.3f} ms simulated: warm-up {1e3 * document['warm_up_s']:.3f} ms, "
        f"measured {1e3 * document['measured_s']:.3f} ms. Seed {result.seed}, fingerprint {result.fingerprint}."
    )
    if result.end_detail and result.end_reason != "Converged":
        console.print(result.end_detail)
    for waiting in document.get("stalled_waiting", []):
        console.print(f"  {waiting}", markup=False)
    console.print()


def _flows(flows: pl.DataFrame) -> Table:
    unit, scale = style.time_scale(flows["latency_ns_p99"])
    table = style.table("Flows", note="GB/s is 10⁹ bytes per second, MiB/s 2²⁰; ± is half the confidence interval")
    style.words(table, "flow", "device", "direction")
    style.numbers(table, "GB/s", "MiB/s", "±", "ops/s", f"mean {unit}", f"p50 {unit}", f"p99 {unit}", f"max {unit}")
    for flow in flows.head(_MOST_FLOWS).iter_rows(named=True):
        half_width = flow["confidence_half_width_percent"]
        latencies = [flow[f"latency_ns_{name}"] for name in ("mean", "p50", "p99", "max")]
        table.add_row(
            flow["flow"],
            flow["device"],
            flow["direction"],
            style.fixed(flow["goodput_gb_per_s"], 3),
            style.fixed(flow["goodput_mib_per_s"], 1),
            style.DASH if half_width is None else f"{half_width:.2f} %",
            style.fixed(flow["operations_per_s"], 0),
            *(style.fixed(None if value is None else value / scale, 1) for value in latencies),
        )
    if flows.height > 1:
        table.add_section()
        table.add_row(
            f"all {flows.height}",
            "",
            "",
            style.fixed(float(flows["goodput_gb_per_s"].sum()), 3),
            style.fixed(float(flows["goodput_mib_per_s"].sum()), 1),
            "",
            style.fixed(float(flows["operations_per_s"].sum()), 0),
            *[""] * 4,
        )
    return table


def _busiest(links: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Keep every link when there are few, else the busiest, in the order of the scenario."""
    import polars as pl

    busiest = (
        links.group_by("link", maintain_order=True)
        .agg(pl.col("utilisation").max())
        .sort("utilisation", descending=True, maintain_order=True)
        .head(_MOST_LINKS)["link"]
    )
    kept = links.filter(pl.col("link").is_in(busiest.to_list()))
    return kept, links["link"].n_unique() - kept["link"].n_unique()


def _ladder(links: pl.DataFrame) -> Table:
    table = style.table("Efficiency ladder", note="GB/s of each link direction")
    style.words(table, "link", "mode", "MPS", "direction")
    style.numbers(table, "line rate", "link bandwidth", "TLP bandwidth", "goodput", "in use")
    last = None
    for link in links.iter_rows(named=True):
        first = link["link"] != last
        last = link["link"]
        table.add_row(
            link["link"] if first else "",
            f"{link['generation']} {link['width']}" if first else "",
            f"{link['mps_bytes']} B" if first else "",
            link["direction"],
            *(
                style.fixed(link[f"{rung}_gb_per_s"], 3)
                for rung in ("line_rate", "link_bandwidth", "tlp_bandwidth", "goodput")
            ),
            style.percent(link["utilisation"]),
        )
    return table


def _attribution(links: pl.DataFrame, attribution: pl.DataFrame) -> Table:
    table = style.table("Where the time went", note="shares of each link direction, largest first")
    style.words(table, "link", "direction", "shares")
    shares: dict[tuple[str, str], dict[str, float]] = {}
    for row in attribution.iter_rows(named=True):
        shares.setdefault((row["link"], row["direction"]), {})[row["category"]] = row["time_fraction"]
    last = None
    for link in links.iter_rows(named=True):
        name, direction = link["link"], link["direction"]
        table.add_row(name if name != last else "", direction, style.shares_in_words(shares.get((name, direction), {})))
        last = name
    return table


def _requesters(requesters: pl.DataFrame) -> Table:
    table = style.table("What held the requesters back", note="shares of the time")
    style.words(table, "device", "shares")
    shares: dict[str, dict[str, float]] = {}
    for row in requesters.iter_rows(named=True):
        shares.setdefault(row["device"], {})[row["state"]] = row["time_fraction"]
    for device, states in list(shares.items())[:_MOST_FLOWS]:
        table.add_row(device, style.shares_in_words(states))
    return table


def _print_assumptions(console: Console, assumptions: pl.DataFrame) -> None:
    counts = assumptions.group_by("provenance", maintain_order=True).len().iter_rows()
    text = ", ".join(f"{count} {provenance}" for provenance, count in counts)
    if text:
        console.print(f"Rests on parameters that no specification fixes: {text}. 'lanewise explain' lists them.")
