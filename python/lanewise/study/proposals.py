"""Which trial comes next: Optuna's sampler over the values of the axes, no point twice.

The sampler is TPE, for one goal and for several: it learns from tens of trials, each a simulation.
NSGA-II needs generations of dozens before selection does anything. Trials that are out and not back count as
bad ones meanwhile ("constant liar"), so that those of a batch differ. Sources: Bergstra et al., "Algorithms
for Hyper-Parameter Optimization", NeurIPS 2011; for several goals Ozaki et al., "Multiobjective
Tree-Structured Parzen Estimator", Journal of Artificial Intelligence Research 73, 2022.

What it proposes depends on the seed, on what it was told, in this order, and on the versions of Optuna and
NumPy.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.study.axes import in_base_unit, same_as
from lanewise.study.goals import NOT_DONE
from lanewise.study.points import combinations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import optuna

    from lanewise.study.axes import Axis
    from lanewise.study.goals import Judged
    from lanewise.study.search import Search

_MOST_ASKED = 8
"""Proposals that were there before until another point is taken at random."""
_MOST_DRAWN = 100
"""Points at random that were there before until the first one is taken that was not."""

Overrides = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Proposal:
    """A trial to be done."""

    overrides: Overrides
    _trial: optuna.trial.Trial


class Proposals:
    """Trials of a search, one after another."""

    def __init__(self, axes: Sequence[Axis], search: Search) -> None:
        """Begin a search. Needs the extra ``search``."""
        import numpy as np
        import optuna

        self._dimensions = [Dimension.of(axis) for axis in axes]
        self._axes = axes
        self._goals = search.goals
        self._seen: set[Overrides] = set()
        self._random = np.random.default_rng(search.seed)
        with quiet():
            self._study = optuna.create_study(
                directions=["minimize"] * len(search.goals),
                sampler=optuna.samplers.TPESampler(seed=search.seed, constant_liar=True),
            )

    def ask(self) -> Proposal:
        """Return a trial whose point was not there before. There has to be one left."""
        import optuna

        for _ in range(_MOST_ASKED):
            trial = self._study.ask()
            overrides = self._suggested(trial)
            if overrides not in self._seen:
                self._seen.add(overrides)
                return Proposal(overrides, trial)
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        positions = self._drawn()
        self._study.enqueue_trial({self._dimensions[index].name: at for index, at in positions.items()})
        trial = self._study.ask()
        overrides = self._suggested(trial)
        self._seen.add(overrides)
        return Proposal(overrides, trial)

    def tell(self, proposal: Proposal, judged: Judged) -> None:
        """Say what a trial is worth; those of a batch in the order in which they were asked for."""
        for name, missed in judged.missed.items():
            proposal._trial.set_constraint(name, missed)
        # Without a value a trial is not done, and then the sampler looks at its limits alone.
        values = [
            NOT_DONE if value is None else goal.cost(value)
            for goal, value in zip(self._goals, judged.values, strict=True)
        ]
        with quiet():
            self._study.tell(proposal._trial, values)

    def _suggested(self, trial: optuna.trial.Trial) -> Overrides:
        """Let the sampler choose along the axes that vary where it has come to."""
        chosen: dict[str, str] = {}
        for dimension in self._dimensions:
            if _varies(dimension.axis, chosen):
                row = dimension.row(dimension.suggest(trial))
                chosen.update(zip(dimension.axis.paths, row, strict=True))
        return tuple(chosen.items())

    def _drawn(self) -> dict[int, int]:
        """Return a point that was not there before, as a place along each axis that varies."""
        for _ in range(_MOST_DRAWN):
            chosen: dict[str, str] = {}
            places: dict[int, int] = {}
            for index, dimension in enumerate(self._dimensions):
                if _varies(dimension.axis, chosen):
                    places[index] = int(self._random.integers(len(dimension.order)))
                    row = dimension.row(places[index])
                    chosen.update(zip(dimension.axis.paths, row, strict=True))
            if tuple(chosen.items()) not in self._seen:
                return places
        left = dict(next(point for point in combinations(self._axes) if point not in self._seen))
        return {
            index: dimension.place(tuple(left[path] for path in dimension.axis.paths))
            for index, dimension in enumerate(self._dimensions)
            if dimension.axis.paths[0] in left
        }


@dataclass(frozen=True)
class Dimension:
    """An axis as the sampler sees it: places along it, in the order of its numbers where it has some."""

    axis: Axis
    order: tuple[int, ...]
    """For each place the row of the axis."""
    is_ordered: bool

    @classmethod
    def of(cls, axis: Axis) -> Dimension:
        """Put the values of an axis into their order."""
        numbers = [in_base_unit(row[0]) for row in axis.rows]
        known = [number for number in numbers if number is not None]
        is_ordered = len(known) == len(numbers) and len({unit for _, unit in known}) == 1
        rows = range(len(axis.rows))
        order = sorted(rows, key=lambda row: known[row][0]) if is_ordered else rows
        return cls(axis, tuple(order), is_ordered)

    @property
    def name(self) -> str:
        """What the sampler calls it."""
        return self.axis.name

    def row(self, place: int) -> tuple[str, ...]:
        """Return the values at a place."""
        return self.axis.rows[self.order[place]]

    def place(self, row: tuple[str, ...]) -> int:
        """Return the place of values."""
        return self.order.index(self.axis.rows.index(row))

    def suggest(self, trial: optuna.trial.Trial) -> int:
        """Let the sampler choose a place."""
        if self.is_ordered:
            return trial.suggest_int(self.name, 0, len(self.order) - 1)
        return int(trial.suggest_categorical(self.name, range(len(self.order))))


def _varies(axis: Axis, chosen: Mapping[str, str]) -> bool:
    if axis.only_if is None:
        return True
    path, allowed = axis.only_if
    return path in chosen and same_as(chosen[path]) in set(map(same_as, allowed))


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from telling of each trial, and leave its logging as it was."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
