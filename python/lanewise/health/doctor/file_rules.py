"""Rules about files of a fleet: what is expected, and what is waived."""

from __future__ import annotations

from functools import partial

from lanewise.health.doctor.registry import Bearing, Rule

_REFERENCES = ("docs/reference/fleet-files.md",)
_rule = partial(Rule, references=_REFERENCES)
"""A rule about fleet files: the page of their keys is its reference."""

MISSING = _rule(
    id="expected-missing",
    what="Fewer devices of a kind are there than the fleet file counts.",
    why="A missing device leaves no trace in other registers, so only the fleet file can show it.",
    severity="error",
    cost="stated: all that the device does",
    fix="Look for it in the kernel log and in `lspci`; check power and seat of the card, and the slot in the "
    "firmware setup. If it was taken out on purpose, lower `count` in the file.",
    not_said="Kinds that the file does not count.",
)
EXTRA = _rule(
    id="expected-extra",
    what="More devices of a kind are there than the fleet file counts, or one that no entry describes.",
    why="A machine that differs from its siblings is scheduled, cabled and counted wrongly; repairs leave "
    "cards behind that do not belong to the fleet.",
    severity="warning",
    cost="stated: none by itself",
    fix='Take the device out, or put it into the file; `unlisted = "ignore"` lets devices pass that no entry '
    "describes.",
    not_said='Devices that no entry describes, unless the file says `unlisted = "report"`; functions inside '
    "processors that move no data.",
)
MOVED = _rule(
    id="expected-moved",
    what="A device is in another slot or on another path than the fleet file says.",
    why="Cables, NUMA nodes and neighbours below a switch depend on the place. Software with a configured "
    "list of near cards and GPUs is then wrong.",
    severity="warning",
    cost="stated: none by itself; traffic may take a longer path",
    fix="Put the card where the file has it, or change `places` in the file.",
    not_said="Other bus numbers: places go by slot and by path. Paths whose root bus this machine "
    "does not have.",
)
LINK = _rule(
    id="expected-link",
    what="A link runs slower, on fewer lanes, or otherwise than the fleet file says.",
    why="The file knows what the slot should give, even if the registers of both ends do not: a riser that "
    "splits a slot, a card that was replaced by a smaller one.",
    severity="warning; info for links that run faster or wider, and where the device lowered the "
    "speed by itself",
    cost="simulated: the link alone, DMA both ways, as the link runs and as it should",
    fix="Reseat the card, clean its contacts; check bifurcation and speed of the slot in the firmware setup, "
    "riser and cable. If the machine is right, change `link` in the file.",
    references=(*_REFERENCES, "PCIe Base 5.0 §7.5.3.6 (Link Capabilities)", "§7.5.3.8 (Link Status)"),
    not_said="Links of GPUs that are idle, if both ends can run at the speed in the file.",
    bearing=Bearing.LIMITS,
)
SETTING = _rule(
    id="expected-setting",
    what="A register, the driver, or the machine is set otherwise than the fleet file says.",
    why="One machine with other firmware settings is the slow one of a job that waits for all of them.",
    severity="warning",
    cost="stated: see the rule about that setting, where there is one",
    fix="Set it as on the other machines; if it is right, change the key in the file.",
    not_said="Keys that the file does not have.",
)
UNKNOWN = _rule(
    id="expected-unknown",
    what="The fleet file asks for something that the source does not show.",
    why="A check that could not look must not pass as one that found nothing.",
    severity="warning",
    cost="stated: unknown",
    fix="Read the machine as root (`sudo lanewise doctor`, `sudo lspci -vvv`), or take the keys out "
    "of the file.",
    not_said="The links of devices that are missing.",
)
EXPIRED = _rule(
    id="waiver-expired",
    what="A waiver is past the day until which it holds.",
    why="What was accepted until a day has to be looked at again after that day; its findings count again.",
    severity="info, because the findings themselves fail the check if they still are there",
    cost="stated: none",
    fix="Repair what it was about, or write a later day, with a reason for that.",
)
UNMATCHED = _rule(
    id="waiver-unmatched",
    what="A waiver matches no finding.",
    why="What it was about is repaired, or the waiver names another device than was meant: then it waives "
    "nothing now and something else some day.",
    severity="info",
    cost="stated: none",
    fix="Take it out of the file, or correct `rule`, `at`, `slot` or `id`.",
    not_said="Waivers that have expired.",
)
