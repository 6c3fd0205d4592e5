"""Whether what was measured is what was possible.

    from lanewise.health.judge import judge, read_measurement
    from lanewise.machine import read

    for case in judge(read_measurement("fio.json"), read("lspci.txt")).cases:
        print(case.name, case.measured_gb_per_s, case.predicted_gb_per_s, case.verdict)

A benchmark's output is recognised by its content (`detect`), each of its cases is matched to a device of the
machine (`matching`), the same transfer is simulated on that device's way to the root, and the two are set
beside each other together with what the doctor says about the way (`verdict`).
"""

from __future__ import annotations

from lanewise.health.judge.detect import read_measurement as read_measurement
from lanewise.health.judge.verdict import JudgedCase as JudgedCase
from lanewise.health.judge.verdict import Judgement as Judgement
from lanewise.health.judge.verdict import Verdict as Verdict
from lanewise.health.judge.verdict import judge as judge
