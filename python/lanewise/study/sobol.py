"""Sobol indices: which part of a number's variance each parameter makes, alone and with all others.

The design is Saltelli's: two independent samples A and B, and for each parameter a copy of A that has it from
B. The first-order index of a parameter is the part of the variance that goes when it alone is fixed; the
total one is the part that is left when all others are. Where they differ, the parameter acts together with
others. Both are for values spread evenly between the ends of the axes, and independent of each other.

The estimators are SciPy's; intervals are of 95 %, by resampling the rows of the design. Source: Saltelli et
al., "Variance based sensitivity analysis of model output", Computer Physics Communications 181(2), 2010.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.measures import GOODPUT, LATENCIES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lanewise.study.study import StudyResult

KIND = "saltelli"
"""What a sample is called that has indices."""

_RESAMPLES = 1000
"""About as many as SciPy takes where nothing is said."""
_AT_ONCE = 100

Interval = tuple[float, float]


class NoIndicesError(InputError):
    """A study has no Sobol indices of a number; the text says why."""


@dataclass(frozen=True)
class SobolIndex:
    """What a parameter has to do with a number."""

    axis: str
    """The parameter, or several that vary together."""
    first: float
    """First-order index, 0 to 1 but for the error of the estimate."""
    first_interval: Interval
    """Of 95 %."""
    total: float
    """Total index."""
    total_interval: Interval


def size(count: int, axes: int) -> int:
    """Return how many points a design has, of so many rows for so many axes."""
    return count * (axes + 2)


def design(count: int, axes: int) -> NDArray[np.float64]:
    """Return the design, shape (`size`, axes), from 0 to 1: A, B, and A with each column of B in turn."""
    import numpy as np
    from scipy.stats import qmc

    both = qmc.Sobol(d=2 * axes, rng=0).random(count)
    a, b = both[:, :axes], both[:, axes:]
    mixed = np.tile(a, (axes, 1, 1))
    for axis in range(axes):
        mixed[axis, :, axis] = b[:, axis]
    return np.concatenate([a, b, *mixed])


def has_indices(result: StudyResult) -> bool:
    """Whether a study was made for indices."""
    return result.study.sample is not None and result.study.sample.startswith(f"{KIND}:")


def indices(result: StudyResult, number: str = GOODPUT) -> list[SobolIndex]:
    """Return the indices of a number of a study's table, those of the axes in their order.

    Of several seeds the mean counts. NoIndicesError for a study without the design, one that is not complete,
    a number that some of its points do not have, and one that does not move. Needs the extra ``calibrate``.
    """
    import numpy as np

    if not has_indices(result):
        raise NoIndicesError(f"Sobol indices need a design of their own: --sample {KIND}:64")
    values = np.array(_values(result, number))
    names = [axis.name for axis in result.study.axes]
    parts = values.reshape(len(names) + 2, -1)
    if np.ptp(values) == 0.0:
        raise NoIndicesError(f"{number} is {values[0]:g} at every point: nothing moves it")
    if np.ptp(parts[:2]) == 0.0:
        # Variance is that of A and B alone.
        raise NoIndicesError(
            f"{number} is {values[0]:g} at all points of both samples, and moves at others: "
            "sample more points"
        )

    rows = np.arange(parts.shape[1])
    first, total = _first_and_total(parts, rows[None])[0].tolist()
    random = np.random.default_rng(0)
    drawn = np.concatenate(
        [
            _first_and_total(parts, random.choice(rows, (_AT_ONCE, len(rows))))
            for _ in range(_RESAMPLES // _AT_ONCE)
        ]
    )
    low, high = np.nanquantile(drawn, (0.025, 0.975), axis=0).tolist()
    return [
        SobolIndex(name, first[at], (low[0][at], high[0][at]), total[at], (low[1][at], high[1][at]))
        for at, name in enumerate(names)
    ]


def _first_and_total(parts: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return first-order and total indices for each choice of rows, shape (choices, 2, axes), or NaN."""
    import numpy as np
    from scipy import stats

    drawn = parts[:, rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = stats.sobol_indices(
            func={"f_A": drawn[0], "f_B": drawn[1], "f_AB": drawn[2:]}, n=rows.shape[1]
        )
    # Of a single choice SciPy leaves that axis out.
    both = np.stack(
        [np.reshape(each, (len(rows), -1)) for each in (found.first_order, found.total_order)], axis=1
    )
    # A choice may be of equal rows, and then has no variance to share out: SciPy calls its indices 0.
    return np.where((np.ptp(drawn[:2], axis=(0, 2)) == 0.0)[:, None, None], np.nan, both)


def all_indices(result: StudyResult) -> dict[str, list[SobolIndex] | str]:
    """Return the indices of goodput, latencies and metrics, or why there are none; nothing of other studies.

    Latencies without any are left out.
    """
    found: dict[str, list[SobolIndex] | str] = {}
    if not has_indices(result):
        return found
    for number in (GOODPUT, *LATENCIES, *result.study.metrics):
        try:
            found[number] = indices(result, number)
        except NoIndicesError as error:
            if number not in LATENCIES:
                found[number] = str(error)
    return found


def for_json(found: dict[str, list[SobolIndex] | str]) -> dict[str, object]:
    """Return what `all_indices` gave as JSON has it: ``sobol`` and ``sobol_lacking``, if there is any."""
    made = {
        number: [asdict(index) for index in each] for number, each in found.items() if isinstance(each, list)
    }
    lacking = {number: each for number, each in found.items() if isinstance(each, str)}
    return {key: value for key, value in (("sobol", made), ("sobol_lacking", lacking)) if value}


def _values(result: StudyResult, number: str) -> list[float]:
    """Return a number of each point of the design, the mean over the seeds."""
    if not result.is_complete:
        raise NoIndicesError(f"{len(result.outcomes)} of {result.study.size} points are finished")
    runs = max(len(result.study.seeds), 1)
    known = [outcome.row.get(number) for outcome in result.outcomes]
    numbers = [float(value) for value in known if isinstance(value, int | float)]
    if len(numbers) < len(known):
        lacking = len(known) - len(numbers)
        raise NoIndicesError(
            f"{lacking} of {len(known)} points have no {number}: indices are for parameters that go with "
            "each other at all of their values"
        )
    return [fmean(numbers[at : at + runs]) for at in range(0, len(numbers), runs)]
