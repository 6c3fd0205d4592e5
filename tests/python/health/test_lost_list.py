"""A device whose list of capabilities is gone, beside one of its kind that has it."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

WITH = """\
{bdf} Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO
\tStatus: Cap{list} 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-
"""
CAPABILITIES = """\
\tCapabilities: [40] Power Management version 3
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1
\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (ok)
"""


@pytest.mark.parametrize(("sign", "found"), [("-", ["02:00.0"]), ("+", [])])
def test_a_list_that_is_gone_is_told_and_one_that_was_not_shown_is_not(sign: str, found: list[str]) -> None:
    first = WITH.format(bdf="01:00.0", list="+") + CAPABILITIES
    text = f"{first}\n{WITH.format(bdf='02:00.0', list=sign)}\n"
    told = [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule == "odd-one-out"]
    assert [f.bdf for f in told] == found
    assert all(f.severity is Severity.WARNING for f in told)


def test_devices_that_never_had_one_are_in_order() -> None:
    text = "\n".join(WITH.format(bdf=bdf, list="-") for bdf in ("01:00.0", "02:00.0"))
    assert not [
        f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule == "odd-one-out"
    ]
