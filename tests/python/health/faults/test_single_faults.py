"""Every fault put into a dump of a real machine is found, at its device and no less severe than it is.

The dumps are in a folder named by LANEWISE_CORPUS, or at ``../shared/corpus`` beside the checkout; without it
these tests skip, and `test_shipped_faults` does the same with a dump that is here.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from dead_faults import FAULTS as DEAD
from fault import H100, WARNING, Fault
from log_faults import FAULTS as LOGGED
from register_faults import FAULTS as SET_WRONG
from setting_faults import FAULTS as UNLIKE_OTHERS
from single_faults import FAULTS as DEGRADED
from source_faults import FAULTS as OF_OTHER_SOURCES
from source_faults import GPUS, asked

from lanewise.health.doctor import Diagnosis, Finding, diagnose
from lanewise.machine import read_bytes

CORPUS = Path(os.environ.get("LANEWISE_CORPUS") or Path(__file__).parents[5] / "shared" / "corpus")
FAULTS = [*DEGRADED, *DEAD, *SET_WRONG, *UNLIKE_OTHERS, *OF_OTHER_SOURCES, *LOGGED]
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")


@cache
def dump(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


@cache
def as_it_is(name: str) -> Diagnosis:
    return diagnose(read_bytes(dump(name)), cost=False)


def at(diagnosis: Diagnosis, fault: Fault) -> list[Finding]:
    return [
        finding
        for finding in diagnosis.findings
        if finding.rule == fault.rule
        and fault.device in (finding.bdf, *finding.also)
        and finding.severity.rank >= fault.least.rank
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_is_found(fault: Fault) -> None:
    assert not at(as_it_is(fault.dump), fault), "it is in the dump already"
    changed = fault.edit(dump(fault.dump))
    assert changed != dump(fault.dump), "the fault is not in the dump"
    diagnosis = diagnose(read_bytes(changed), cost=False)
    assert at(diagnosis, fault), [f"{f.severity} {f.rule} {f.bdf}" for f in diagnosis.findings]


def test_there_are_enough_of_them() -> None:
    assert len(FAULTS) >= 170
    assert len({fault.dump for fault in FAULTS}) >= 12
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_gpus_that_sleep_beside_a_dump_of_their_work_disagree_with_nobody() -> None:
    for gen in (1, 2, 5):
        diagnosis = diagnose(read_bytes(asked(GPUS[1], gen=gen)(dump(H100))), cost=False)
        assert not diagnosis.fails(WARNING)
