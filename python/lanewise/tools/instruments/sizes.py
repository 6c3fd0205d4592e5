"""Message sizes one after another, as the tools themselves go through them: ``ib_write_bw -a``, ``osu_bw``.

The tools measure each size on its own, with a warm-up of its own. So does this: one run for each size, on all
cores, and the results in one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.experiment.runner import Job, run_all
from lanewise.runs.simulator import called, hashable, resolve
from lanewise.tools.instruments.simulated import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.experiment.runner import RunsDone
    from lanewise.results import RunResult
    from lanewise.runs.simulator import Scenario

ALL_SIZES = {
    "osu": tuple(2**power for power in range(23)),
    "perftest": tuple(2**power for power in range(1, 24)),
}
"""What each tool goes through: 1 B to 4 MiB (OSU's default), 2 B to 8 MiB (perftest's ``-a``)."""

_FIRST_LETTERS = {"osu": "osu_", "perftest": "ib_"}
"""What the names of each tool's tests begin with."""


def sizes_of(tool: str, text: str) -> tuple[int, ...]:
    """Read sizes in bytes from 'all' or a list such as '64,4 KiB'; InputError says what cannot be read."""
    if tool not in ALL_SIZES:
        raise InputError(f"'{tool}' cannot run a list of sizes; {' and '.join(ALL_SIZES)} can")
    if text == "all":
        return ALL_SIZES[tool]
    sizes = {part.strip(): size_in_bytes(part.strip()) for part in text.split(",")}
    wrong = [part for part, size in sizes.items() if not size or size < 0]
    if wrong:
        raise InputError(f"'{wrong[0]}' is not a message size; write 'all', or a list such as '64,4 KiB'")
    return tuple(sorted({size for size in sizes.values() if size}))


def run_sizes(
    scenario: Scenario,
    tool: str,
    sizes: Sequence[int],
    *,
    overrides: Sequence[tuple[str, str]] = (),
    on_progress: RunsDone | None = None,
) -> dict[int, RunResult]:
    """Simulate a scenario once for each size of its tool's messages; results by size in bytes.

    Raises ScenarioError for a wrong scenario, and InputError for one without such a workload.
    """
    options = {row["path"]: str(row["value"]) for row in resolve(scenario, overrides).document["parameters"]}
    paths = [
        f"{path.removesuffix('.tool')}.size"
        for path, value in options.items()
        if path.endswith(".tool") and value.startswith(_FIRST_LETTERS[tool])
    ]
    if not paths:
        raise InputError(
            f"'{called(scenario)}' has no workload of kind '{tool}' that could run a list of sizes"
        )
    given = hashable(scenario)
    jobs = {size: Job(given, (*overrides, *((path, f"{size} B") for path in paths))) for size in sizes}
    results = run_all(jobs.values(), on_progress=on_progress)
    return {size: results[job] for size, job in jobs.items()}
