"""How well a mean over seeds is known: half of its confidence interval, by Student's t."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from lanewise._core import student_t

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
"""Of the intervals that stand beside means."""


def half_width(samples: Sequence[float]) -> float | None:
    """Return half of the confidence interval of the mean of some samples; None for a single one."""
    if len(samples) < 2:
        return None
    if max(samples) == min(samples):
        return 0.0
    quantile = student_t((1 + CONFIDENCE) / 2, len(samples) - 1)
    return quantile * stdev(samples) / math.sqrt(len(samples))


def mean(samples: Sequence[float]) -> float:
    """Return the mean; of a single sample itself, to the last bit."""
    return samples[0] if len(samples) == 1 else fmean(samples)
