"""Runs a benchmark that is installed, records the machine beside the numbers, and judges the result.

    from lanewise.health.measure import Fio, measure

    print(measure(Fio("/data/scratch.bin")).cases[0].verdict)

Nothing is written to a device or file unless that is allowed in so many words: without it fio gets
``--readonly`` besides a job that reads, so that not even a mistake of ours could write.
"""

from __future__ import annotations

from lanewise.health.measure.run import LONGEST_S as LONGEST_S
from lanewise.health.measure.run import measure as measure
from lanewise.health.measure.tools import CudaCopy as CudaCopy
from lanewise.health.measure.tools import Fio as Fio
from lanewise.health.measure.tools import Iperf3 as Iperf3
from lanewise.health.measure.tools import Nvbandwidth as Nvbandwidth
