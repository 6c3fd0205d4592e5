"""Parameters that are fitted together: the values of least squares, and how well the cells determine each.

What is minimised is the sum of squares of the relative errors of the cells. The search starts with values
that are spread evenly between the bounds and with those of the scenario, and goes on from the best with
SciPy's ``least_squares``. No step draws a random number. A simulation goes in steps, so slopes are taken
over a share of the range, and what counts in the end is the least of all that was simulated.

How well one parameter is known says its profile: the sum of squares at other values of it, with all other
parameters at their best there. So two that do the same to all cells are both found to be open, as either
makes up for the other.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from lanewise.errors import ScenarioError
from lanewise.experiment.calibration import CLEAR, CalibrationError
from lanewise.experiment.definition import FittedValue
from lanewise.experiment.fit_interval import SIGNIFICANT_DIGITS, end_of_range, rise_within
from lanewise.experiment.trials import Answer, answers_of, jobs_of, refused_because_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lanewise.calibration.named import Wanted
    from lanewise.experiment.definition import Cell, Experiment

Point = tuple[float, ...]
"""A value for each parameter, as a share of its range."""

_FIRST = 16
"""Points of the first search of one parameter; of several half as many for each."""

_STEPS = (0.03, 0.004)
"""Shares of the range over which slopes are taken, at first and in the end."""

_MOST_STEPS = (12, 8)
"""Of the search with each."""

_PROFILE_STEPS = 4
"""Of the search for the others at one value of a parameter."""

_GAIN = 0.5
"""Part of what a descent has still to gain that a step has to gain: steps gain less and less."""

_LOG = 50
"""A range whose upper end is so many times the lower one is searched in equal ratios."""

_FINEST = 0.0005
"""Share of the range to which the end of an interval is looked for, at least."""

_EDGE = 0.1
"""The same as a share of the interval: it is as much wider than it need be, at most."""

_MET = 0.002
"""Relative error of a cell that counts as met: a simulation goes in steps."""

_ALIKE = 0.2
"""Part of a parameter's slopes that others cannot make up for, below which cells do not tell them apart."""

_MADE_UP = 0.2
"""Part of a parameter's slopes that another one has to make up for to be named."""


@dataclass(frozen=True)
class Known:
    """A fitted parameter, and how well it is known."""

    wanted: Wanted
    best: float
    low: float
    high: float
    """Ends of the interval, in its unit."""
    is_open_below: bool
    """Whether the interval reaches the lower bound of the search."""
    is_open_above: bool
    has_effect: bool
    """Whether any cell follows it at all."""
    is_at_bound: bool
    """Whether the least squares are at an end of the search, so that the cells may ask for more."""
    alike: tuple[str, ...] = ()
    """Names of the parameters that make up for it."""
    is_met: bool = True
    """Whether cells come out as measured where they are as many as parameters: else no interval counts."""

    @property
    def is_open(self) -> bool:
        """Whether the interval has no end on one side, or on both."""
        return self.is_open_below or self.is_open_above

    @property
    def is_determined(self) -> bool:
        """Whether the interval ends on both sides, and not where the search for another one ended."""
        return self.is_met and not (self.is_open or self.alike)


@dataclass(frozen=True)
class JointFit:
    """Parameters fitted together."""

    known: tuple[Known, ...]
    best: Experiment
    """With the best values in force."""
    answer: Answer
    """What the fitted cells come to."""
    runs: int


def fit_together(
    experiment: Experiment,
    wanted: Sequence[Wanted],
    cells: Sequence[Cell],
    on_progress: Callable[[str, int], None] | None = None,
) -> JointFit:
    """Fit parameters, which `experiment` has as fits by their names, to cells.

    CalibrationError where a scenario does not take a value on the way.
    """
    search = _Search(experiment, wanted, cells, on_progress)
    return search.result()


class _Search:
    def __init__(
        self,
        experiment: Experiment,
        wanted: Sequence[Wanted],
        cells: Sequence[Cell],
        on_progress: Callable[[str, int], None] | None,
    ) -> None:
        self.experiment = experiment
        self.wanted = tuple(wanted)
        self.cells = tuple(cells)
        self.on_progress = on_progress
        self.tried: dict[tuple[str, ...], Answer] = {}
        self.points: dict[tuple[str, ...], Point] = {}
        self.runs = 0
        self.doing = "looking around"

    def result(self) -> JointFit:
        best = self._best()
        rise = rise_within(self._errors(best), self._answer(best).known(self.cells), len(self.wanted))
        known = []
        # A profile may pass through a better point, and then all is measured from there.
        while True:
            known = [self._known(index, best, rise) for index in range(len(self.wanted))]
            better = self._least()
            if self._cost(better) >= self._cost(best) - rise / 2:
                break
            best = self._polished(better)
            rise = rise_within(self._errors(best), self._answer(best).known(self.cells), len(self.wanted))
        slopes = self._slopes(best, tuple(range(len(self.wanted))), _STEPS[0])
        is_met = len(self.cells) > len(self.wanted) or self._is_met(best)
        known = [
            replace(one, alike=self._alike(index, known, slopes), is_met=is_met)
            for index, one in enumerate(known)
        ]
        return JointFit(tuple(known), self._trial(best), self._answer(best), self.runs)

    def _is_met(self, best: Point) -> bool:
        """Whether every cell comes out as it was measured, as far as that is known and was looked for."""
        pairs = zip(self._errors(best), self._answer(best).known(self.cells), strict=True)
        return all(abs(error) <= max(CLEAR * known, _MET) for error, known in pairs)

    # The search.

    def _best(self) -> Point:
        first = [*self._spread(), *self._starts()]
        self._simulate(first)
        return self._polished(min(first, key=self._cost))

    def _spread(self) -> list[Point]:
        from scipy.stats import qmc

        if len(self.wanted) == 1:
            return [(number / _FIRST,) for number in range(_FIRST + 1)]
        # A power of two is what the sequence is even over.
        count = (_FIRST // 2 * len(self.wanted) - 1).bit_length()
        points = qmc.Sobol(len(self.wanted), scramble=False).random_base2(count)
        return [tuple(map(float, point)) for point in points]

    def _starts(self) -> list[Point]:
        shares = [None if one.start is None else _share(one, one.start) for one in self.wanted]
        return [tuple(share for share in shares if share is not None)] if None not in shares else []

    def _polished(self, start: Point) -> Point:
        self.doing = "fitting"
        every = tuple(range(len(self.wanted)))
        for step, most in zip(_STEPS, _MOST_STEPS, strict=True):
            self._descend(self._least() if self.tried else start, every, step, most)
        for _ in range(3 * len(self.wanted)):
            best = self._least()
            self._simulate(list(self._beside(best)))
            if self._least() == best:
                break
        return self._least()

    def _beside(self, best: Point) -> list[Point]:
        """Return the next whole numbers of parameters that count something."""
        found = []
        for index, one in enumerate(self.wanted):
            for step in (-1, 1) if one.is_whole else ():
                value = round(_value(one, best[index])) + step
                if one.low <= value <= one.high:
                    found.append(_with(best, index, _share(one, value)))
        return found

    def _least(self) -> Point:
        return min(self.points.values(), key=self._cost)

    def _descend(
        self, start: Point, free: tuple[int, ...], step: float, most: int, enough: float = -inf
    ) -> float:
        """Go down from a point with some parameters free; return the least cost on the way.

        It ends as soon as that is `enough`, and where a step shows that it will not come to be.
        """
        import numpy as np
        from scipy.optimize import least_squares

        costs: list[float] = []

        def whole(shares: NDArray[np.float64]) -> Point:
            point = list(start)
            for index, share in zip(free, shares, strict=True):
                point[index] = min(max(float(share), 0.0), 1.0)
            return tuple(point)

        def errors(shares: NDArray[np.float64], /) -> list[float]:
            point = whole(shares)
            costs.append(self._cost(point))
            if costs[-1] <= enough or _is_hopeless(costs, enough):
                raise StopIteration
            return list(self._errors(point))

        def slopes(shares: NDArray[np.float64], /) -> NDArray[np.float64]:
            return np.array(self._slopes(whole(shares), free, step)).T

        first = [min(max(start[index], 1e-6), 1 - 1e-6) for index in free]
        with suppress(StopIteration):
            least_squares(
                errors, first, jac=slopes, bounds=(0, 1), xtol=1e-5, ftol=1e-7, gtol=1e-12, max_nfev=most
            )
        return min(costs)

    def _slopes(self, at: Point, free: Sequence[int], step: float) -> list[tuple[float, ...]]:
        """Return the change of every error over each free parameter's share of its range."""
        pairs = []
        for index in free:
            one = self.wanted[index]
            least = 1 / max(one.high - one.low, 1) if one.is_whole else 0.0
            apart = max(step, least)
            low, high = max(at[index] - apart, 0.0), min(at[index] + apart, 1.0)
            pairs.append((_with(at, index, low), _with(at, index, high), high - low))
        self._simulate([point for low, high, _ in pairs for point in (low, high)])
        return [
            tuple((b - a) / apart for a, b in zip(self._errors(low), self._errors(high), strict=True))
            for low, high, apart in pairs
        ]

    # How well a parameter is known.

    def _known(self, index: int, best: Point, rise: float) -> Known:
        one = self.wanted[index]
        self.doing = f"interval of {one.name}"
        limit = self._cost(best) + rise
        others = tuple(other for other in range(len(self.wanted)) if other != index)
        slopes = self._slopes(best, tuple(range(len(self.wanted))), _STEPS[1])
        first, ridge = _linear(index, slopes, rise)

        def is_in(share: float) -> bool:
            return self._is_in(index, share, best, limit, others, ridge)

        ends = []
        for bound in (0.0, 1.0):
            room = abs(bound - best[index])
            if room < _FINEST:
                ends.append((bound, True))
                continue
            step = min(max(first, _FINEST), room)
            finest = max(_FINEST, _EDGE * step)
            within, beyond = end_of_range(is_in, best[index], step, bound, finest)
            ends.append((beyond, within == bound))
        (low, open_below), (high, open_above) = ends
        at_ends = [_with(best, index, bound) for bound in (0.0, 1.0)]
        self._simulate(at_ends)
        return Known(
            one,
            _value(one, best[index]),
            _value(one, low),
            _value(one, high),
            open_below,
            open_above,
            has_effect=any(self._is_other(point, best) for point in at_ends),
            is_at_bound=min(best[index], 1 - best[index]) < _FINEST,
        )

    def _is_in(
        self,
        index: int,
        share: float,
        best: Point,
        limit: float,
        others: tuple[int, ...],
        ridge: Sequence[float],
    ) -> bool:
        """Whether the other parameters can make up for this value of one."""
        far = share - best[index]
        along = tuple(min(max(at + far * slope, 0.0), 1.0) for at, slope in zip(best, ridge, strict=True))
        start = _with(along, index, share)
        if not others or self._cost(start) <= limit:
            return self._cost(start) <= limit
        return self._descend(start, others, _STEPS[0], _PROFILE_STEPS, enough=limit) <= limit

    def _is_other(self, point: Point, best: Point) -> bool:
        """Whether any cell differs by more than it is known."""
        pairs = zip(
            self._errors(point), self._errors(best), self._answer(best).known(self.cells), strict=True
        )
        return any(abs(there - here) > known for there, here, known in pairs)

    def _alike(
        self, index: int, known: Sequence[Known], slopes: Sequence[Sequence[float]]
    ) -> tuple[str, ...]:
        """Return the names of parameters that make up for one, if it or one of them is open."""
        if not known[index].has_effect:
            return ()
        shares = _made_up_by(index, slopes)
        at = [other for other, share in shares.items() if share > _MADE_UP and known[other].has_effect]
        is_open = any(known[other].is_open for other in (index, *at))
        return tuple(known[other].wanted.name for other in at) if is_open else ()

    # Simulating.

    def _cost(self, point: Point) -> float:
        return sum(error * error for error in self._errors(point))

    def _errors(self, point: Point) -> tuple[float, ...]:
        return self._answer(point).errors(self.cells)

    def _answer(self, point: Point) -> Answer:
        self._simulate([point])
        return self.tried[self._texts(point)]

    def _simulate(self, points: Sequence[Point]) -> None:
        """Simulate all of these that are not yet."""
        new = {self._texts(point): point for point in points}
        new = {texts: point for texts, point in new.items() if texts not in self.tried}
        if not new:
            return
        trials = [self._trial(point) for point in new.values()]
        before = self.runs

        def hear(done: int, _: int) -> None:
            if self.on_progress:
                self.on_progress(self.doing, before + done)

        try:
            answers, runs = answers_of(trials, self.cells, on_progress=hear)
        except ScenarioError as error:
            parameters = [path for one in self.wanted for path in one.parameters]
            said = refused_because_of(error, jobs_of(trials, self.cells), parameters)
            if said is None:
                raise
            raise CalibrationError(
                f"a value on the way is not possible: {said}. Say other ends with --fit 'PATH=LOW..HIGH'"
            ) from error
        self.runs += runs
        self.tried |= dict(zip(new, answers, strict=True))
        self.points |= new

    def _texts(self, point: Point) -> tuple[str, ...]:
        return tuple(
            one.written(_value(one, share), SIGNIFICANT_DIGITS)
            for one, share in zip(self.wanted, point, strict=True)
        )

    def _trial(self, point: Point) -> Experiment:
        fits = {fit.name: fit for fit in self.experiment.fits}
        fitted = {}
        for one, text in zip(self.wanted, self._texts(point), strict=True):
            value = int(text) if one.is_whole and not one.unit else text
            fitted[one.name] = FittedValue(one.name, one.parameters, value, fits[one.name].fitted_on)
        return replace(self.experiment, fitted=fitted)


def _is_hopeless(costs: Sequence[float], enough: float) -> bool:
    """Whether the last step of a descent gained too little of what it has still to gain."""
    return len(costs) > 1 and 0 <= costs[-2] - costs[-1] < _GAIN * (costs[-1] - enough) < inf


def _is_log(one: Wanted) -> bool:
    return one.low > 0 and one.high / one.low >= _LOG


def _value(one: Wanted, share: float) -> float:
    """Return the value at a share of the range."""
    if _is_log(one):
        return float(one.low * (one.high / one.low) ** share)
    return one.low + share * (one.high - one.low)


def _share(one: Wanted, value: float) -> float:
    """Return the share of the range at which a value is; of one outside, the nearest end."""
    from math import log

    within = min(max(value, one.low), one.high)
    if _is_log(one):
        return log(within / one.low) / log(one.high / one.low)
    return (within - one.low) / (one.high - one.low)


def _with(point: Point, index: int, share: float) -> Point:
    return (*point[:index], share, *point[index + 1 :])


def _linear(index: int, slopes: Sequence[Sequence[float]], rise: float) -> tuple[float, list[float]]:
    """Return half of a parameter's interval if cells were straight lines, and how others follow it."""
    import numpy as np

    columns = np.array(slopes).T
    others = [other for other in range(len(slopes)) if other != index]
    ridge = np.zeros(len(slopes))
    ridge[index] = 1.0
    along = columns[:, index]
    if others:
        ridge[others] = -np.linalg.lstsq(columns[:, others], along, rcond=1e-6)[0]
        along = columns @ ridge
    steepness = float(along @ along)
    half = (rise / steepness) ** 0.5 if steepness > 0 else 1.0
    return min(half, 1.0), [float(slope) for slope in ridge]


def _made_up_by(index: int, slopes: Sequence[Sequence[float]]) -> dict[int, float]:
    """Return how much of a parameter's slopes each other one makes up for; nothing where they cannot."""
    import numpy as np

    columns = np.array(slopes)
    own = float(np.linalg.norm(columns[index]))
    _, ridge = _linear(index, slopes, 1.0)
    if not own or float(np.linalg.norm(np.array(ridge) @ columns)) > _ALIKE * own:
        return {}
    lengths = np.linalg.norm(columns, axis=1)
    return {
        other: abs(ridge[other]) * float(lengths[other]) / own
        for other in range(len(ridge))
        if other != index
    }
