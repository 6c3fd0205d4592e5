"""What a report says of one run: what it gives, what limits it, where its time went, what it rests on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lanewise.experiment.candidates import size_of_limit
from lanewise.flow_limits import other_limits
from lanewise.known_uses import STATES
from lanewise.remarks import remarks_in_words
from lanewise.report import assumptions, run_figures
from lanewise.report.answers import in_short, tiles
from lanewise.report.content import Part, Section, Table
from lanewise.report.ladder_words import ladder_sentences
from lanewise.report.rows import MOST_FOLDED, alike_groups, alike_rows_of, called, rows_of
from lanewise.report.topology import topology_figure
from lanewise.results import WhyResult
from lanewise.written import (
    ENDINGS,
    counted,
    decimals,
    fixed,
    gain,
    percent,
    shares_in_words,
    significant,
    spelled,
    time_scale,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.columns import Row
    from lanewise.results import RunResult

_PERCENTILES = ("min", "mean", "p50", "p90", "p95", "p99", "p99_9", "max")
_EACH = "\N{MULTIPLICATION SIGN}N: each of N alike"
_WORTH_A_WORD = 0.01
_MUCH_USED = 0.2
_MUCH_WAITING = 0.5


def run_part(result: RunResult, *, drawn: bool, folded: bool = False, name: str = "") -> Part:
    """Return what a report says of a run, with figures when it can show them."""
    sections = (
        in_short(result),
        _topology(result, drawn=drawn),
        _flows(result),
        _latencies(result, drawn=drawn),
        _limit(result, drawn=drawn),
        _ladder(result, drawn=drawn),
        _time(result, drawn=drawn),
        _resources(result),
        _events(result),
        assumptions.section(result),
        _what_was_run(result),
    )
    return Part(
        title=name or result.title or str(result.document["scenario_path"]),
        facts=list(facts(result)),
        tiles=list(tiles(result)),
        sections=[section for section in sections if section.says_something],
        folded=folded,
    )


def facts(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield what was run: file, overrides, how and when it ended, version, seed, fingerprint."""
    document = result.document
    yield "scenario", str(document["scenario_path"])
    if result.overrides:
        yield "with", ", ".join(f"{path}={value}" for path, value in result.overrides)
    ended = ENDINGS.get(result.end_reason, result.end_reason)
    yield (
        "ended",
        f"{ended} after {1e3 * document['simulated_s']:.3f} ms of simulated time, of which "
        f"{1e3 * document['measured_s']:.3f} ms were measured"
        + (f": {result.end_detail}" if result.end_detail else ""),
    )
    if result.made:
        yield "simulated", f"{result.made} UTC"
    yield "version", f"Lanewise {document['lanewise_version']}"
    yield "seed", str(result.seed)
    yield "fingerprint", result.fingerprint


def _topology(result: RunResult, *, drawn: bool) -> Section:
    links = result.links.filter(result.links["utilisation"] > 0).sort(
        "utilisation", descending=True, maintain_order=True
    )
    said = []
    if not links.is_empty():
        busiest = links.row(0, named=True)
        said = [
            f"{counted(result.links['link'].n_unique(), 'link')}; the busiest direction is {busiest['link']} "
            f"{busiest['direction']} ({busiest['generation']} {busiest['width']}), in use "
            f"{percent(busiest['utilisation'])} of the time, with {busiest['goodput_gb_per_s']:.3f} GB/s of "
            "payload."
        ]
    return Section("Topology", sentences=said, figures=[topology_figure(result)] if drawn else ())


def _flows(result: RunResult) -> Section:
    shown = result.flows_to_show.sort("goodput_gb_per_s", descending=True, maintain_order=True)
    flows = list(shown.iter_rows(named=True))
    groups = alike_groups(flows, "flow", ("direction", "counted"), ("goodput_gb_per_s", "operations_per_s"))
    columns = ("flow", "device", "direction", "#GB/s", "#MiB/s", "#\N{PLUS-MINUS SIGN} %", "#a second", "of")
    note = "GB/s is 10⁹ B/s, MiB/s 2²⁰ B/s; \N{PLUS-MINUS SIGN}: half of the confidence interval"
    if len(flows) > len(groups):
        note += f"; {_EACH}"
    if result.flows_in_total.height < result.data_flows.height:
        note += "; what one device reads and another writes counts once"
    tables = alike_rows_of("Flows", columns, groups, _flow, note)
    if len(flows) > 1:
        total = (
            fixed(result.goodput_gb_per_s, 3),
            fixed(float(result.flows_in_total["goodput_mib_per_s"].sum()), 1),
        )
        first = tables[0]
        with_sum = [*first.rows, ("all data", "", "", *total, "", "", "")]
        tables[0] = Table(first.title, first.columns, with_sum, first.note)
    said = result.said_of_starved_devices if flows else ["The scenario has no workload that moved anything."]
    return Section("Throughput", sentences=said, tables=tables)


def _flow(group: Sequence[Row]) -> tuple[str, ...]:
    row = group[0]
    return (
        called(group, "flow"),
        called(group, "device"),
        row["direction"],
        fixed(row["goodput_gb_per_s"], 3),
        fixed(row["goodput_mib_per_s"], 1),
        fixed(row["confidence_half_width_percent"], 2),
        fixed(row["operations_per_s"], 0),
        row["counted"] or "operations",
    )


def _latencies(result: RunResult, *, drawn: bool) -> Section:
    columns = ("flow", "of one", "unit", *(f"#{name.replace('_', '.')}" for name in _PERCENTILES), "#samples")
    rows = list(_latency_rows(result))
    groups = alike_groups(rows, "flow", ("what", "unit"), _PERCENTILES)
    note = "a dash where there are too few samples for a percentile"
    if len(rows) > len(groups):
        note += f"; {_EACH}"
    return Section(
        "Latency",
        figures=run_figures.latencies([("", result)]) if drawn else (),
        tables=alike_rows_of("Latency of every flow", columns, groups, _latency, note),
    )


def _latency_rows(result: RunResult) -> Iterator[Row]:
    """Yield the latencies of each flow in a unit that suits them, then those of its operations."""
    for row in result.flows.iter_rows(named=True):
        for kind, word, samples in (
            ("latency_ns", (row["counted"] or "operations").removesuffix("s"), row["operations"]),
            ("operation_latency_ns", "operation", row["operation_latency_ns_count"]),
        ):
            if row[f"{kind}_mean"] is None:
                continue
            unit, scale = time_scale([row[f"{kind}_max"]])
            values = {name: row[f"{kind}_{name}"] for name in _PERCENTILES}
            yield {
                "flow": row["flow"],
                "what": f"{row['direction']} {word}",
                "unit": unit,
                **{name: None if value is None else value / scale for name, value in values.items()},
                "samples": samples,
            }


def _latency(group: Sequence[Row]) -> tuple[str, ...]:
    row = group[0]
    numbers = (fixed(row[name], 2) for name in _PERCENTILES)
    return called(group, "flow"), row["what"], row["unit"], *numbers, fixed(row["samples"], 0)


def _limit(result: RunResult, *, drawn: bool) -> Section:
    others = rows_of(
        "Flows that something else limits",
        ("flow", "device", "direction", "limited by"),
        [
            (limit.of("name"), limit.of("device"), limit.directions, limit.words)
            for limit in other_limits(result.document)
        ],
        "by waiting time",
    )
    if not isinstance(result, WhyResult):
        said = [f"{result.limited_by}."] if result.limited_by else []
        said += [size] if (size := size_of_limit(result.document)) else []
        return Section("Limited by", sentences=said, tables=others)
    moves_bytes = bool((result.larger["goodput_before_gb_per_s"] > 0).any())
    counts, usual = ("goodput_{}_gb_per_s", 3) if moves_bytes else ("operations_{}_per_s", 0)
    compared = [counts.format(word) for word in ("before", "after")]
    digits = decimals((value for name in compared for value in result.larger[name]), usual)
    rows = [
        (
            row["what"],
            ", ".join(row["names"]),
            percent(row["share"] or None),
            *(fixed(row[name], digits) for name in compared),
            gain(row["gain_percent"]),
        )
        for row in result.larger.iter_rows(named=True)
    ]
    columns = ("ten times larger", "name", "#its share", "#before", "#after", "#brings")
    unit = "GB/s of all data" if moves_bytes else "operations a second"
    return Section(
        "Limited by",
        sentences=[f"{result.verdict}."],
        figures=run_figures.gains(result) if drawn else (),
        tables=[
            *rows_of("What would bring more", columns, rows, f"{unit}; its share of the time as it is"),
            *others,
        ],
    )


def _ladder(result: RunResult, *, drawn: bool) -> Section:
    busiest = result.links.sort("utilisation", descending=True, nulls_last=True, maintain_order=True)
    links = list(busiest.iter_rows(named=True))
    words = ("direction", "generation", "width", "mps_bytes")
    groups = alike_groups(links, "link", words, ("goodput_gb_per_s", "utilisation"))
    columns = ("link", "mode", "#MPS, B", "direction")
    numbers = ("#line rate", "#link bandwidth", "#TLP bandwidth", "#goodput", "#in use")
    note = "GB/s of each direction, the busiest first"
    if len(links) > len(groups):
        note += f"; {_EACH}"
    return Section(
        "Efficiency ladder",
        sentences=ladder_sentences(result),
        figures=run_figures.ladders([("", result)]) if drawn else (),
        tables=alike_rows_of("Links", (*columns, *numbers), groups, _link, note),
    )


def _link(group: Sequence[Row]) -> tuple[str, ...]:
    row = group[0]
    rungs = ("line_rate", "link_bandwidth", "tlp_bandwidth", "goodput")
    return (
        called(group, "link"),
        f"{row['generation']} {row['width']}",
        str(row["mps_bytes"]),
        row["direction"],
        *(fixed(row[f"{rung}_gb_per_s"], 3) for rung in rungs),
        percent(row["utilisation"]),
    )


def _time(result: RunResult, *, drawn: bool) -> Section:
    links = result.links.sort("utilisation", descending=True, maintain_order=True)
    if links.is_empty():
        return Section("Where the time went")
    sentences = []
    for row in links.head(1).iter_rows(named=True):
        mine = result.time_attribution.filter(link=row["link"], direction=row["direction"])
        shares = dict(zip(mine["category"], mine["time_fraction"], strict=True))
        sentences.append(
            f"The busiest direction is {row['link']} {row['direction']}: {shares_in_words(shares)}."
        )
    requesters: dict[str, dict[str, float]] = {}
    for row in result.requesters.iter_rows(named=True):
        requesters.setdefault(row["device"], {})[row["state"]] = row["time_fraction"]
    rows = [(device, shares_in_words(shares)) for device, shares in requesters.items()]
    states = [
        f"{spelled(state)}, {words}"
        for state, words in STATES.items()
        if any(shares.get(state, 0.0) >= _WORTH_A_WORD for shares in requesters.values())
    ]
    if states:
        sentences.append(f"What held the requesters back: {'; '.join(states)}.")
    return Section(
        "Where the time went",
        sentences=sentences,
        figures=run_figures.times(result) if drawn else (),
        tables=[
            *rows_of("Every direction", ("link", "direction", "shares of its time"), list(_shares(result))),
            *rows_of("What held the requesters back", ("device", "shares of the time"), rows),
        ],
    )


def _shares(result: RunResult) -> Iterator[tuple[str, str, str]]:
    of: dict[tuple[str, str], dict[str, float]] = {}
    for row in result.time_attribution.iter_rows(named=True):
        of.setdefault((row["link"], row["direction"]), {})[row["category"]] = row["time_fraction"]
    order = sorted(of, key=lambda key: of[key].get("idle", 0.0))
    for link, direction in order:
        yield link, direction, shares_in_words(of[link, direction])


def _resources(result: RunResult) -> Section:
    rows = list(
        result.resources.sort("utilisation", descending=True, maintain_order=True).iter_rows(named=True)
    )
    matter = [
        row
        for row in rows
        if row["utilisation"] >= _MUCH_USED or (row["waiting_mean"] or 0.0) >= _MUCH_WAITING
    ]
    if not rows:
        return Section("Shared resources")
    columns = ("resource", "kind", "there is", "#in use", "#asked for", "#wait, mean ns", "#waiting")

    def written(row: Row) -> tuple[str, ...]:
        return (
            row["resource"],
            spelled(row["kind"]),
            row["limit"],
            percent(row["utilisation"]),
            fixed(row["served"], 0),
            fixed(row["waited_ns_mean"], 1),
            fixed(row["waiting_mean"], 2),
        )

    if matter:
        verb = "is" if len(matter) == 1 else "are"
        said = (
            f"{len(matter)} of {counted(len(rows), 'shared resource')} {verb} in use for a fifth of the "
            "time, or waited for."
        )
    else:
        said = (
            f"None of {counted(len(rows), 'shared resource')} is in use for a fifth of the time, or waited "
            f"for; the busiest is {rows[0]['resource']}, with {percent(rows[0]['utilisation'])}."
        )
    others = [row for row in rows if row not in matter]
    tables = rows_of("In use, or waited for", columns, [written(row) for row in matter])
    if others:
        less = Table(
            f"{counted(len(others), 'resource')} that matter{'s' if len(others) == 1 else ''} less",
            columns,
            [written(row) for row in others[:MOST_FOLDED]],
            folded=True,
        )
        tables.append(less)
    return Section("Shared resources", sentences=[said], tables=tables)


def _events(result: RunResult) -> Section:
    """Errors, phases, and what instruments report."""
    errors = [
        (row["port"], spelled(row["error"]), str(row["status_bit"]), fixed(row["count"], 0))
        for row in result.errors.iter_rows(named=True)
    ]
    phases = [
        (
            row["phase"],
            f"{1e3 * row['start_s']:.3f}\N{EN DASH}{1e3 * row['end_s']:.3f}",
            row["flow"],
            row["direction"],
            fixed(row["goodput_gb_per_s"], 3),
            fixed(row["operations_per_s"], 0),
        )
        for row in result.phases.iter_rows(named=True)
    ]
    metrics = [
        (row["workload"], row["kind"], row["metric"], significant(row["value"]))
        for row in result.instruments.iter_rows(named=True)
    ]
    tables = [
        *rows_of("Phases", ("phase", "#ms", "flow", "direction", "#GB/s", "#operations/s"), phases),
        *rows_of(
            "Uncorrectable errors, over the whole run", ("port", "error", "#status bit", "#count"), errors
        ),
        *rows_of(
            "What the tools report, in their own units", ("workload", "tool", "number", "#value"), metrics
        ),
    ]
    return Section("Also", sentences=remarks_in_words(result.document), tables=tables)


def _what_was_run(result: RunResult) -> Section:
    provenances = Counter(result.assumptions["provenance"])
    known = ", ".join(f"{number} {word}" for word, number in provenances.most_common())
    texts = [("The scenario as it was written", result.scenario_text)] if result.scenario_text else []
    texts += [(f"The part in {name}", text) for name, text in result.part_files.items()]
    sentences = [] if result.scenario_text else ["The text of the scenario was not kept with the run."]
    if known:
        sentences.append(f"Parameters that no specification fixes: {known}.")
    return Section("What was run", sentences=sentences, texts=texts)
