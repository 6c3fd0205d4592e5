"""What a source does not tell of single devices is said, also where it tells enough of the machine."""

from __future__ import annotations

from dataclasses import replace

from machines import GPU, function, machine

from lanewise.health.doctor import diagnose
from lanewise.machine.model import Kind, LinkMode, Machine

_DEVICES = range(1, 9)


def gpus(*, unread: int = 0, kind: int = GPU) -> Machine:
    """Return eight GPUs below ports of their own; of the first `unread`, neither end says how it runs."""
    functions = []
    for n in _DEVICES:
        port, device = f"00:{n:02x}.0", f"{n:02x}:00.0"
        ends = [
            function(port, Kind.ROOT_PORT, can="32 x16"),
            function(device, Kind.ENDPOINT, can="32 x16", parent=port, class_code=kind, vendor=0x10DE),
        ]
        if n <= unread:
            ends = [
                replace(end, registers=end.registers._replace(link=end.link._replace(status=LinkMode())))
                for end in ends
            ]
        functions += ends
    return machine(*functions)


def test_a_device_whose_link_is_not_seen_is_named() -> None:
    found = diagnose(gpus(unread=1), cost=False)
    assert found.examined, "seven links of eight are enough"
    assert found.notes == ("not examined, because the source does not tell enough of the link: 01:00.0",)


def test_nobody_is_named_where_all_is_seen_or_too_little_is() -> None:
    assert diagnose(gpus(), cost=False).notes == ()
    (note,) = diagnose(gpus(unread=4), cost=False).notes
    assert note.startswith("not enough to say that nothing is wrong: links (4 of 8 readable)")


def test_devices_that_move_no_data_are_not_named() -> None:
    assert diagnose(gpus(unread=1, kind=0x0C0330), cost=False).notes == ()
