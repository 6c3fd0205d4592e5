"""What a search asks: what is to be large or small, which limits hold, and how many trials it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.axes import AxisError, same_as
from lanewise.study.goals import Goal, Limit, Number, parse_limits
from lanewise.study.measures import TAIL
from lanewise.study.points import MOST_POINTS, SEED, combinations

if TYPE_CHECKING:
    from lanewise.study.axes import Axis

TRIALS = 100
"""Where nothing is said. Assumed: of a grid with thousands of points some dozens show where to look."""
BATCH = 8
"""Where nothing is said. Assumed: as many as a workstation runs at once; each trial of a batch is chosen
without the results of the others, so that larger ones learn less from as many runs."""
_MOST_BATCH = 1024


@dataclass(frozen=True)
class Search:
    """What a search asks beside its axes."""

    maximize: tuple[str, ...] = ()
    """Numbers that are to be large, as they are written."""
    minimize: tuple[str, ...] = ()
    """And small."""
    subject_to: tuple[str, ...] = ()
    """Limits."""
    trials: int = TRIALS
    """At most: there may be fewer points."""
    seed: int = 0
    """Of the search, not of the runs."""
    batch: int = BATCH
    """Trials that are chosen before the first of them is done. The results depend on it, and on no core."""

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """What it is after, what is maximized first. InputError for a number that means nothing."""
        return tuple(
            Goal(Number.parse(text), is_maximized)
            for texts, is_maximized in ((self.maximize, True), (self.minimize, False))
            for text in texts
        )

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """What every trial has to keep. InputError for one that means nothing."""
        return tuple(parse_limits(self.subject_to))

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Those of the goals, then those of the limits; each column once."""
        found: dict[str, Number] = {}
        for number in (*(goal.number for goal in self.goals), *(limit.number for limit in self.limits)):
            found.setdefault(number.column, number)
        return tuple(found.values())

    @property
    def measures(self) -> tuple[str, ...]:
        """What the study has to keep of each run for it, beside what every study has."""
        return tuple(number.measure for number in self.numbers if number.measure is not None)

    @property
    def needs_percentiles(self) -> bool:
        """Whether it asks for the 99th percentile of latencies."""
        return any(number.column == TAIL for number in self.numbers)

    def size(self, axes: Sequence[Axis]) -> int:
        """Return how many trials there are: no point is tried twice."""
        return sum(1 for _ in islice(combinations(axes), self.trials))

    def check(self, axes: Sequence[Axis]) -> None:
        """Raise InputError for a search that cannot be done."""
        if not self.goals:
            raise InputError("a search needs a goal: say what to maximize or minimize, like 'goodput'")
        columns = [goal.number.column for goal in self.goals]
        if len(set(columns)) < len(columns):
            raise InputError(f"two goals are the same number: {', '.join(columns)}")
        if not axes:
            raise InputError("a search chooses among the values of axes: give one, like 'ssd.count=1..24'")
        for axis in axes:
            _refuse_seed(axis)
            _refuse_equal(axis)
        for word, value, least, most in (
            ("trials", self.trials, 1, MOST_POINTS),
            ("seed", self.seed, 0, 2**32 - 1),
            ("batch", self.batch, 1, _MOST_BATCH),
        ):
            if not least <= value <= most:
                raise InputError(f"{word} of a search: from {least} to {most:,}; found {value:,}")
        assert self.limits is not None, "reading them says what is wrong with them"

    def asked(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    @classmethod
    def of_asked(cls, asked: object) -> Search | None:
        """Return what `asked` gave; TypeError, ValueError or KeyError for what it never gives."""
        if asked is None:
            return None
        if not isinstance(asked, Mapping):
            raise TypeError(f"{asked!r}")
        maximize, minimize, subject_to = (
            tuple(str(each) for each in asked[key]) for key in ("maximize", "minimize", "subject_to")
        )
        trials, seed, batch = (int(asked[key]) for key in ("trials", "seed", "batch"))
        return cls(maximize, minimize, subject_to, trials, seed, batch)

    @classmethod
    def of_given(
        cls,
        maximize: Sequence[str] = (),
        minimize: Sequence[str] = (),
        subject_to: Sequence[str] = (),
        trials: int | None = None,
        seed: int | None = None,
        batch: int | None = None,
    ) -> Search | None:
        """Return what options say, None of which is one that is not there; None where none is."""
        if not (maximize or minimize or subject_to) and trials is seed is batch is None:
            return None
        return cls(
            tuple(maximize),
            tuple(minimize),
            tuple(subject_to),
            TRIALS if trials is None else trials,
            0 if seed is None else seed,
            BATCH if batch is None else batch,
        )


def _refuse_seed(axis: Axis) -> None:
    if SEED in axis.paths:
        raise AxisError(
            f"'{SEED}' is an axis of a search, whose best trial would be the luckiest: use --seeds 3, so "
            "that the means of three seeds count"
        )


def _refuse_equal(axis: Axis) -> None:
    """Raise AxisError for an axis that has the same values twice: no point is tried twice."""
    seen: set[tuple[object, ...]] = set()
    for row in axis.rows:
        values = tuple(map(same_as, row))
        if values in seen:
            raise AxisError(
                f"'{axis.name}' has {' & '.join(row)} twice, and a search tries no point twice: "
                "leave one of them out"
            )
        seen.add(values)


def makers() -> str:
    """Name the versions of the libraries that choose trials: other ones may choose others."""
    from lanewise.extras import need

    need("search", "a search")
    import numpy as np
    import optuna

    return f"Optuna {optuna.__version__} with NumPy {np.__version__}"
