"""`run --live`: flows while the run goes on, on stderr, as IOmeter's display of results shows them.

Each flow since the last update and of the whole test, which begins when the warm-up is over. Nothing is drawn
unless stderr is a terminal, and the picture goes when the run ends: then its results are printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.console import Group
from rich.live import Live
from rich.text import Text

from lanewise.cli.console import stderr
from lanewise.cli.progress import RunProgress
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType
    from rich.progress import Progress

    from lanewise import documents

_LINES_AROUND = 9
"""Bar, headings, sum and the line that says what is left out."""

_FEWEST_FLOWS = 4


class LiveProgress(RunProgress):
    """The bar of a run, and under it a table of its flows."""

    def __init__(self, description: str, every_s: float) -> None:
        """Name what is running, and how often the table changes."""
        super().__init__(description)
        self._console = stderr()
        self.flows_every_s = every_s if self._console.is_terminal else None
        self._live = Live(self._bar, console=self._console, transient=True)

    def start(self) -> None:
        """Start drawing."""
        if self._console.is_terminal:
            self._live.start()

    def stop(self) -> None:
        """Remove bar and table."""
        self._live.stop()

    def __call__(self, report: documents.Progress) -> None:
        """Take a report of the core, with flows now and then."""
        super().__call__(report)
        if "flows" in report:
            self._live.update(self._picture(self._bar, report))

    def _picture(self, bar: Progress, report: documents.Progress) -> RenderableType:
        most = max(_FEWEST_FLOWS, self._console.height - _LINES_AROUND)
        return Group(bar, *live_table(report["flows"], report["measuring_since_s"], most=most))


def live_table(
    flows: Sequence[documents.LiveFlow], measuring_since_s: float | None, *, most: int
) -> Iterable[RenderableType]:
    """Return the table of flows that have done anything, `most` at most, with their sum."""
    busy = [flow for flow in flows if flow["direction"] != "control" and flow["whole"]["operations_per_s"]]
    unit, ns = style.time_scale(flow["latency_ns_max"] for flow in busy)
    table = style.table()
    style.words(table, "flow", "device")
    style.labels(table, "direction")
    windows: tuple[Literal["last", "whole"], ...] = ("last", "whole")
    headings = [*(f"GB/s\n{window}" for window in windows), *(f"per s\n{window}" for window in windows)]
    style.numbers(table, *headings, *(f"mean {unit}\n{window}" for window in windows), f"max {unit}\nwhole")
    for flow in busy[:most]:
        rates = [flow[window] for window in windows]
        times = [*(each["latency_ns_mean"] for each in rates), flow["latency_ns_max"]]
        table.add_row(
            flow["flow"],
            flow["device"],
            flow["direction"],
            *(style.fixed(each["goodput_gb_per_s"], 3) for each in rates),
            *(style.fixed(each["operations_per_s"], 0) for each in rates),
            *(style.fixed(None if time is None else time / ns, 2) for time in times),
        )
    if len(busy) > 1:
        table.add_section()
        once = [flow for flow in busy if flow["in_total"]]
        sums = [sum(flow[window]["goodput_gb_per_s"] for flow in once) for window in windows]
        table.add_row("all", "", "", *(style.fixed(total, 3) for total in sums))
    whole = (
        "since the run began: it is warming up"
        if measuring_since_s is None
        else f"of the whole test, which began after {1e3 * measuring_since_s:.2f} ms"
    )
    yield Text(f"since the last update, and {whole}", style="dim")
    yield table
    if len(busy) > most:
        yield f"{len(busy) - most} more"
