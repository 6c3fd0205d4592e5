"""Single faults in a dump that is here: a made-up server with two GPUs, an adapter and two drives."""

from __future__ import annotations

from dataclasses import dataclass

from dump_edits import Edit, together, words
from fault_kinds import bits, lanes, payload, request, speed

from lanewise.doctor import Severity

WARNING, ERROR, INFO = Severity.WARNING, Severity.ERROR, Severity.INFO


@dataclass(frozen=True)
class Fault:
    """A fault, and what has to be said of it."""

    name: str
    edit: Edit
    device: str
    rule: str
    least: Severity = WARNING


FAULTS = [
    Fault("a GPU on half its lanes", lanes(8, "17:00.0", "18:00.0"), "18:00.0", "link-width"),
    Fault("a drive on one lane", lanes(1, "17:02.0", "19:00.0"), "19:00.0", "link-width"),
    Fault("an adapter on a quarter of its lanes", lanes(4, "3a:00.0", "3b:00.0"), "3b:00.0", "link-width"),
    Fault("a drive at Gen1", speed(2.5, "17:03.0", "1a:00.0"), "1a:00.0", "link-speed"),
    Fault("an adapter at Gen2", speed(5, "3a:00.0", "3b:00.0"), "3b:00.0", "link-speed"),
    Fault("an adapter that sends too much", payload(512, "3b:00.0"), "3b:00.0", "mps-mismatch", ERROR),
    Fault(
        "an adapter that asks for little",
        together(request(128, "3b:00.0"), words("3b:00.0", r"(RlxdOrd[-+] ExtTag)\+", r"\1-")),
        "3b:00.0",
        "mrrs-small",
    ),
    Fault(
        "a read that was never answered",
        bits("18:00.0", "UESta", "CmpltTO"),
        "18:00.0",
        "uncorrectable-errors",
    ),
    Fault("a link that replays", bits("1a:00.0", "CESta", "BadTLP", "Rollover"), "1a:00.0", "link-errors"),
    Fault(
        "a port that holds its link down",
        bits("17:00.0", "DpcSta", "Trigger"),
        "17:00.0",
        "dpc-triggered",
        ERROR,
    ),
    Fault(
        "a drive that was reset under its driver",
        together(
            words("19:00.0", r"(Control: I/O- Mem)\+ BusMaster\+", r"\1- BusMaster-"),
            words("19:00.0", r"(Region 0: Memory at \w+ \([^)]*\)) ", r"\1 [virtual] "),
        ),
        "19:00.0",
        "configuration-lost",
        ERROR,
    ),
    Fault(
        "reads that time out at once",
        words("3b:00.0", r"(DevCtl2: Completion Timeout: )[^,]+", r"\g<1>50us to 100us"),
        "3b:00.0",
        "completion-timeout",
    ),
]
