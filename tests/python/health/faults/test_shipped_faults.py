"""Every fault put into the dump that is here is found at its device; without one the server is in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from shipped_faults import FAULTS, Fault

from lanewise.health.doctor import Diagnosis, Profile, diagnose
from lanewise.machine import read_bytes

SERVER = (Path(__file__).parent / "made_up_server.vvv").read_bytes()


def doctor(dump: bytes, profile: Profile = Profile.ALL) -> Diagnosis:
    return diagnose(read_bytes(dump), cost=False, profile=profile)


def test_the_server_is_in_order() -> None:
    diagnosis = doctor(SERVER)
    assert diagnosis.examined
    assert {finding.rule for finding in diagnosis.findings} == {"gpus-apart", "peers-apart"}
    assert doctor(SERVER, Profile.PROVISIONING).findings == ()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_is_found(fault: Fault) -> None:
    diagnosis = doctor(fault.edit(SERVER))
    assert [
        finding.severity
        for finding in diagnosis.findings
        if (finding.rule, finding.bdf) == (fault.rule, fault.device)
        and finding.severity.rank >= fault.least.rank
    ], [f"{f.severity} {f.rule} {f.bdf}" for f in diagnosis.findings]
