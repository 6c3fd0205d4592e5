"""One run: why it ended, its flows, the ladder of every link, and where the time went."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.alike_names import together
from lanewise.cli.tables import collapse, style
from lanewise.cli.tables.phases import phases_table
from lanewise.cli.tables.remarks import remarks
from lanewise.cli.tables.resources import resources
from lanewise.cli.tables.rests_on import rests_on
from lanewise.experiment.candidates import size_of_limit
from lanewise.flow_limits import other_limits
from lanewise.rungs import rungs_of
from lanewise.tools.instruments.native import WRITTEN
from lanewise.written import ENDINGS, significant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from rich.console import Group, RenderableType

    from lanewise import documents
    from lanewise.columns import Row
    from lanewise.results import RunResult

_MOST_FLOWS = 40
_MOST_LINKS = 20
_MOST_LIMITS = 10
_MOST_METRICS = 10
_MOST_DEVICES = 2
_FEW_OPERATIONS = 200
"""A rate that counts fewer is off by a percent when it counts two too many."""
_IN_FULL = ("smartflow", "frames")
"""Tools whose report is the result, however long it is."""


def print_run(result: RunResult) -> None:
    """Print everything a person asks of a run first."""
    style.emit(*_pieces(result))


def _pieces(result: RunResult) -> Iterator[RenderableType]:
    yield from _heading(result)
    if not result.phases.is_empty():
        yield phases_table(result)
    if result.flows.is_empty():
        yield "The scenario has no [[workload]], so nothing moves: add one, or give a job file with --fio.\n"
    else:
        yield _flows(result)
        yield from _few_operations(result)
        yield from _other_limits(result)
    if result.flows["latency_ns_mean"].is_not_null().any():
        yield from _latencies(result.flows)
    yield from _reports(result)
    links, left_out = collapse.least_used(collapse.links(result.links, result.time_attribution), _MOST_LINKS)
    yield _ladder(links)
    yield _attribution(links)
    if left_out:
        most = style.percent(max(link.utilisation for link in left_out))
        yield (
            f"{style.counted(len(left_out), 'link')} not shown, each in use at most {most} of the time; "
            "--json and --out have all links.\n"
        )
    if not result.requesters.is_empty():
        yield _requesters(result.requesters)
    yield from resources(result.resources)
    yield from _errors(result.document.get("errors", []))
    yield from rests_on(result)
    yield from _assumptions(result)


def _errors(errors: list[documents.ErrorCount]) -> Iterator[RenderableType]:
    """List what Advanced Error Reporting would have logged."""
    if not errors:
        return
    table = style.table()
    style.words(table, "port", "error")
    style.numbers(table, "status bit", "count")
    for error in errors:
        word = error["error"].replace("_", " ")
        table.add_row(error["port"], word, str(error["status_bit"]), style.fixed(error["count"], 0))
    yield style.titled("Uncorrectable errors", table, note="over the whole run")


def _heading(result: RunResult) -> Iterator[RenderableType]:
    document = result.document
    if result.limited_by is not None:
        yield Text(f"{result.limited_by} (by waiting time; --why proves it).", style="bold")
        if said := size_of_limit(document):
            yield Text(said)
    spans = (document["simulated_s"], document["warm_up_s"], document["measured_s"])
    simulated, warm_up, measured = (1e3 * span for span in spans)
    yield Text(result.title or document["scenario_path"], style="bold")
    yield (
        f"{ENDINGS.get(result.end_reason, result.end_reason)} after {simulated:.3f} ms simulated "
        f"(warm-up {warm_up:.3f}, measured {measured:.3f}){':' if result.end_detail else '.'}"
    )
    if result.end_detail:
        yield Text(f"{result.end_detail}.")
    for said in result.said_of_starved_devices:
        yield Text(said, style="yellow")
    for waiting in document.get("stalled_waiting", []):
        yield Text(f"  {waiting}")
    yield from _threads(document.get("threads"))
    yield f"Seed {result.seed}, fingerprint {result.fingerprint}.\n"
    yield from remarks(document)


def _threads(threads: documents.Threads | None) -> Iterator[str]:
    """Say how many threads took part in a run that was to be shared."""
    if threads is None:
        return
    why = threads["why_one"]
    yield f"On {threads['used']} threads." if why is None else f"On one thread: {why}."


def _together(flows: pl.DataFrame) -> tuple[list[list[Row]], list[Row]]:
    """Return flows, alike ones together, and those that moved least and are left out."""
    groups = collapse.flows(flows.iter_rows(named=True))
    by_rate = sorted(groups, key=lambda group: -group[0]["goodput_gb_per_s"])
    kept = by_rate[:_MOST_FLOWS]
    left = [row for group in by_rate[_MOST_FLOWS:] for row in group]
    return [group for group in groups if group in kept], left


def _flows(result: RunResult) -> Group:
    counted = _counted(result.flows)
    table = style.table()
    style.words(table, "flow", "device")
    style.labels(table, "direction")
    style.numbers(table, "GB/s", "MiB/s", "\N{PLUS-MINUS SIGN}", f"{counted}/s" if counted else "per second")
    if counted is None:
        style.labels(table, "of")
    groups, left_out = _together(result.flows_to_show)
    for group in groups:
        flow = group[0]
        half_width = max(
            (row["confidence_half_width_percent"] for row in group if row["confidence_half_width_percent"]),
            default=flow["confidence_half_width_percent"],
        )
        # What counts operations that have no bytes, like frames of a game, has no rate of bytes.
        has_rate = flow["payload_bytes"] > 0 or not flow["operations"]
        table.add_row(
            together([row["flow"] for row in group]),
            _devices(list(dict.fromkeys(row["device"] for row in group))),
            flow["direction"],
            style.fixed(flow["goodput_gb_per_s"], 3) if has_rate else style.DASH,
            style.fixed(flow["goodput_mib_per_s"], 1) if has_rate else style.DASH,
            style.DASH if half_width is None else f"{half_width:.2f} %",
            style.fixed(flow["operations_per_s"], 0),
            *([flow["counted"]] if counted is None else []),
        )
    data = result.data_flows
    # Operations and the requests that move their data count the same bytes: no sum says anything. Frames of a
    # game have none.
    moves_alike = _counted(result.flows.filter(result.flows["payload_bytes"] > 0))
    if data.height > 1 and moves_alike:
        table.add_section()
        table.add_row(
            "all data",
            "",
            "",
            style.fixed(result.goodput_gb_per_s, 3),
            style.fixed(float(result.flows_in_total["goodput_mib_per_s"].sum()), 1),
            "",
            style.fixed(result.operations_per_s, 0) if counted else style.DASH,
            *([] if counted else [""]),
        )
    note = "GB/s is 10⁹ bytes/s, MiB/s 2²⁰; \N{PLUS-MINUS SIGN} half the confidence interval"
    if any(len(group) > 1 for group in groups):
        note += "; \N{MULTIPLICATION SIGN}N: each of N alike"
    if result.flows_in_total.height < data.height:
        note += "; what one device reads and another writes counts once"
    if left_out:
        most = max(row["goodput_gb_per_s"] for row in left_out)
        note += f"; {style.counted(len(left_out), 'flow')} not shown, of at most {most:.3f} GB/s each"
    return style.titled("Flows", table, note=note)


def _other_limits(result: RunResult) -> Iterator[RenderableType]:
    """Say what limits flows that the limit of the run does not."""
    limits = other_limits(result.document)
    if not limits:
        return
    table = style.table()
    style.words(table, "flow", "device")
    style.labels(table, "direction")
    table.add_column("limited by", overflow="fold")
    for limit in limits[:_MOST_LIMITS]:
        table.add_row(limit.of("name"), limit.of("device"), limit.directions, limit.words)
    note = "by waiting time"
    if len(limits) > _MOST_LIMITS:
        note += f"; {len(limits) - _MOST_LIMITS} more in --json"
    yield style.titled("Flows that something else limits", table, note=note)


def _few_operations(result: RunResult) -> Iterator[RenderableType]:
    """Say so when rates of operations, which count whole ones, rest on few of them."""
    rows = result.data_flows.filter(counted="operations").iter_rows(named=True)
    few = [row for row in rows if row["payload_bytes"] and 0 < row["operations"] < _FEW_OPERATIONS]
    if few and result.end_reason == "Converged":
        least = min(few, key=lambda row: int(row["operations"]))
        yield (
            f"Only {least['operations']} operations of {least['flow']} ended in the measured time, so its "
            "operations a second\nare less exact than its bytes. A smaller run.relative_half_width "
            "measures for longer.\n"
        )


def _counted(flows: pl.DataFrame) -> str | None:
    """Say what all flows of data count that counted anything, such as requests; None when they differ."""
    moving = flows.filter(
        ((flows["payload_bytes"] > 0) | (flows["operations"] > 0)) & (flows["direction"] != "control")
    )
    counted = {each or "operations" for each in moving["counted"]}
    return counted.pop() if len(counted) == 1 else "operations" if not counted else None


def _devices(names: list[str]) -> str:
    """Name the devices of alike flows; the list of those that one flow belongs to may be dozens."""
    if len(names) > 1:
        return together(names)
    each = names[0].split("+")
    if len(each) <= _MOST_DEVICES:
        return names[0]
    return f"{each[0]} \N{HORIZONTAL ELLIPSIS} {each[-1]} ({len(each)})"


def _reports(result: RunResult) -> Iterator[RenderableType]:
    """List what tools with short reports say, under their own names; `--as` prints any tool's own format."""
    instruments = result.document["instruments"]
    short = [
        each for each in instruments if each["kind"] in _IN_FULL or len(each["metrics"]) <= _MOST_METRICS
    ]
    if short:
        yield _short_reports(short)
    for kind in dict.fromkeys(each["kind"] for each in instruments if each not in short):
        if kind in WRITTEN:
            yield f"'--as {kind}' prints the report of {kind} itself; --json has its numbers.\n"


def _short_reports(short: list[documents.Instrument]) -> Group:
    table = style.table()
    style.words(table, "workload", "tool", "number")
    style.numbers(table, "value")
    for instrument in short:
        for row, metric in enumerate(instrument["metrics"]):
            names = (instrument["workload"], instrument["kind"]) if row == 0 else ("", "")
            table.add_row(*names, metric["name"], significant(metric["value"]))
        table.add_section()
    return style.titled("What the tools report", table, note="under their own names, in their own units")


def _latencies(flows: pl.DataFrame) -> Iterator[Group]:
    """List latencies of what a flow counts, and below it of its operations where they are apart.

    Those that would have no digit before the point, as requests of a long copy, get a table of their own.
    """
    rows = []
    moving = flows.filter(flows["payload_bytes"] > 0)
    for group in _together(moving.drop_nulls("latency_ns_mean"))[0]:
        flow, name = group[0], together([row["flow"] for row in group])
        counted = (flow["counted"] or "operations").removesuffix("s")
        rows.append((flow, name, counted, "latency_ns", flow["operations"]))
        if samples := flow["operation_latency_ns_count"]:
            rows.append((flow, name, "operation", "operation_latency_ns", samples))
    while rows:
        ends = [flow[f"{kind}_p99"] or flow[f"{kind}_max"] or 0.0 for flow, _, _, kind, _ in rows]
        unit, scale = style.time_scale(ends)
        are_here = [end >= scale or unit == "ns" for end in ends]
        yield _latencies_in(unit, scale, list(compress(rows, are_here)))
        rows = [row for row, is_here in zip(rows, are_here, strict=True) if not is_here]


def _latencies_in(unit: str, scale: float, rows: Sequence[tuple[Row, str, str, str, int]]) -> Group:
    names = ("min", "mean", "p50", "p95", "p99", "p99.9", "max")
    largest = max((flow[f"{kind}_max"] or 0.0) / scale for flow, _, _, kind, _ in rows)
    table = style.table()
    # So many columns fit 80 characters with names in two lines, and without digits that do not matter.
    style.words(table, "flow", at_least=5)
    style.words(table, "of one", at_least=9)
    style.numbers(table, *names, "n")
    last = None
    for flow, flow_name, counted, kind, samples in rows:
        values = (flow[f"{kind}_{name.replace('.', '_')}"] for name in names)
        table.add_row(
            flow_name if flow_name != last else "",
            f"{flow['direction']} {counted}",
            *(_latency(None if value is None else value / scale, largest) for value in values),
            style.fixed(samples, 0),
        )
        last = flow_name
    return style.titled("Latency", table, note=f"{unit}, of n samples; {style.DASH} where they are too few")


def _latency(value: float | None, largest: float) -> str:
    """Write a latency with two decimals; with four digits in a table that has one of a thousand or more."""
    if value is None or largest < 1000 or value < 100:
        return style.fixed(value, 2)
    return style.fixed(value, 1 if value < 1000 else 0)


def _ladder(links: list[list[collapse.LinkRow]]) -> Group:
    table = style.table()
    style.words(table, "\n\nlink")
    style.labels(table, "\n\nmode")
    style.numbers(table, "\nMPS\nB")
    style.labels(table, "\n\ndirection")
    # Three lines, so that it fits a terminal of 80 columns.
    style.numbers(
        table, "\nline\nrate", "link\nband-\nwidth", "TLP\nband-\nwidth", "\n\ngoodput", "\nin\nuse"
    )
    for group in links:
        name = together([link.name for link in group])
        for row, link in enumerate(group[0].directions):
            first = row == 0
            table.add_row(
                name if first else "",
                f"{link['generation']} {link['width']}" if first else "",
                str(link["mps_bytes"]) if first else "",
                link["direction"],
                *(style.fixed(rung.gb_per_s, 3) for rung in rungs_of(link)),
                style.percent(link["utilisation"]),
            )
    note = "GB/s of each link direction" + ("; idle links last" if _some_are_idle(links) else "")
    return style.titled("Efficiency ladder", table, note=note)


def _some_are_idle(links: list[list[collapse.LinkRow]]) -> bool:
    return len({group[0].busy for group in links}) > 1


def _attribution(links: list[list[collapse.LinkRow]]) -> Group:
    table = style.table()
    style.words(table, "link")
    style.labels(table, "direction")
    style.words(table, "shares")
    for group in links:
        name = together([link.name for link in group])
        for row, link in enumerate(group[0].directions):
            text = style.shares_in_words(group[0].shares.get(link["direction"], {}))
            table.add_row(name if row == 0 else "", link["direction"], text)
    return style.titled("Where the time went", table, note="shares of each link direction, largest first")


def _requesters(requesters: pl.DataFrame) -> Group:
    table = style.table()
    style.words(table, "device", "shares")
    groups = collapse.requesters(requesters)
    for group in groups[:_MOST_FLOWS]:
        table.add_row(together([device for device, _ in group]), style.shares_in_words(group[0][1]))
    left = sum(map(len, groups[_MOST_FLOWS:]))
    note = "shares of the time" + (f"; {style.counted(left, 'device')} not shown" if left else "")
    return style.titled("What held the requesters back", table, note=note)


def _assumptions(result: RunResult) -> Iterator[RenderableType]:
    if result.assumptions.is_empty():
        return
    counts = result.assumptions.group_by("provenance", maintain_order=True).len().iter_rows()
    text = ", ".join(f"{count} {provenance}" for provenance, count in counts)
    more = "" if result.rests_on else ", and --sensitivity finds those that move the result"
    yield f"Parameters that no specification fixes: {text}. 'lanewise explain' lists them{more}."
