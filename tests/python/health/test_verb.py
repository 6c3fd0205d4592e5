"""The verb: exit status, formats, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HEALTHY = """\
00:01.0 PCI bridge [0604]: Example Root Port [1234:0001] (prog-if 00 [Normal decode])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), IntMsgNum 0
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #1, Speed 16GT/s, Width x4, ASPM not supported
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+
\t\tLnkSta:\tSpeed 16GT/s, Width x4
\t\tSltCap:\tAttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug- Surprise-
\t\t\tSlot #1, PowerLimit 75W; Interlock- NoCompl+

01:00.0 Non-Volatile memory controller [0108]: Example Drive [1234:0002] (prog-if 02 [NVM Express])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
\tCapabilities: [40] Express (v2) Endpoint, IntMsgNum 0
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 25W
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM not supported
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+
\t\tLnkSta:\tSpeed 16GT/s, Width x4
\tKernel driver in use: nvme
"""
NARROW = HEALTHY.replace("LnkSta:\tSpeed 16GT/s, Width x4", "LnkSta:\tSpeed 16GT/s, Width x2 (downgraded)")


def lanewise(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from lanewise.cli import main; main()", "doctor", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_machine_in_order_ends_with_zero() -> None:
    done = lanewise("-", stdin=HEALTHY)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No finding." in done.stdout


def test_a_finding_ends_with_one_and_says_cost_and_fix() -> None:
    done = lanewise("-", stdin=NARROW)
    assert done.returncode == 1
    assert "01:00.0 (Example Drive) runs on x2 of x4 lanes" in done.stdout
    assert "(simulated)" in done.stdout
    assert "Reseat the card" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize(("threshold", "status"), [("info", 1), ("warning", 1), ("error", 0), ("never", 0)])
def test_the_threshold_decides(threshold: str, status: int) -> None:
    assert lanewise("-", "--no-cost", "--fail-on", threshold, stdin=NARROW).returncode == status


def test_json_and_the_other_formats_go_to_stdout(tmp_path: Path) -> None:
    dump = tmp_path / "lspci.txt"
    dump.write_text(NARROW, encoding="utf-8")
    document = json.loads(lanewise(str(dump), "--json").stdout)
    assert document["source"] == str(dump)
    assert [finding["rule"] for finding in document["findings"]] == ["link-width"]
    assert json.loads(lanewise(str(dump), "--no-cost", "--format", "sarif").stdout)["version"] == "2.1.0"
    assert lanewise(str(dump), "--no-cost", "--format", "junit").stdout.startswith("<?xml")


def test_two_formats_at_once_are_refused() -> None:
    done = lanewise("-", "--json", "--format", "sarif", stdin=NARROW)
    assert done.returncode == 2
    assert "not both" in done.stderr
    assert "not both" in json.loads(done.stdout)["errors"][0]["message"]


def test_what_is_no_dump_ends_with_two_and_a_reason() -> None:
    done = lanewise("-", stdin="hello\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr
    assert lanewise("/no/such/file").returncode == 2


HOST_BRIDGE = "00:00.0 Host bridge [0600]: Example Bridge [1234:0003]\n\tControl: I/O+ Mem+ BusMaster+\n\n"


def test_a_source_that_says_nothing_of_pci_express_is_no_machine_in_order() -> None:
    done = lanewise("-", "--json", stdin=HOST_BRIDGE)
    assert done.returncode == 2
    assert json.loads(done.stdout)["summary"]["examined"] is False
    assert "no link is to be seen" in done.stderr
    assert "lspci -vvv" in done.stderr
    assert lanewise("-", "--fail-on", "never", stdin=HOST_BRIDGE).returncode == 0


def test_guests_may_pass_unexamined() -> None:
    assert lanewise("-", "--allow-unexamined", stdin=HOST_BRIDGE).returncode == 0
    assert lanewise("-", "--no-cost", "--allow-unexamined", stdin=NARROW).returncode == 1


def test_a_profile_asks_only_its_rules() -> None:
    small = HEALTHY.replace("MaxReadReq 512", "MaxReadReq 128").replace(
        "RlxdOrd+ ExtTag+", "RlxdOrd+ ExtTag-"
    )
    for profile, status in (("performance", 1), ("all", 1), ("provisioning", 0)):
        assert lanewise("-", "--no-cost", "--profile", profile, stdin=small).returncode == status
    (run,) = json.loads(lanewise("-", "--profile", "provisioning", "--format", "sarif", stdin=small).stdout)[
        "runs"
    ]
    assert "mrrs-small" not in {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_pipelines_hear_that_nothing_was_examined() -> None:
    (run,) = json.loads(lanewise("-", "--format", "sarif", stdin=HOST_BRIDGE).stdout)["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    suite = ElementTree.fromstring(lanewise("-", "--format", "junit", stdin=HOST_BRIDGE).stdout)
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert len(suite.findall("testcase/error")) == 1
    assert suite.get("tests") == str(len(suite.findall("testcase")))


def test_what_is_known_besides_goes_on_top(tmp_path: Path) -> None:
    fields = "Designation: J7\n\tType: x8 PCI Express 3 x16\n\tCurrent Usage: In Use"
    (tmp_path / "slots.txt").write_text(
        f"Handle 0x0900, DMI type 9, 24 bytes\nSystem Slot Information\n\t{fields}\n"
        "\tBus Address: 0000:01:00.0\n"
    )
    (tmp_path / "none.txt").write_text("nothing of the kind")
    faster = HEALTHY.replace(
        "LnkCap:\tPort #0, Speed 16GT/s, Width x4", "LnkCap:\tPort #0, Speed 16GT/s, Width x8"
    )
    done = lanewise("-", "--details", "--with", str(tmp_path / "slots.txt"), stdin=faster)
    assert "J7: gen3 x16, x8 wired" in done.stdout
    done = lanewise("-", "--with", str(tmp_path / "none.txt"), stdin=faster)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot go on top of another dump" in done.stderr
    (tmp_path / "other.txt").write_text(HEALTHY)
    done = lanewise("-", "--with", str(tmp_path / "other.txt"), stdin=faster)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is the dump of a machine itself; one machine is read at a time" in done.stderr


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, lanewise.cli.machine_checks, lanewise.health.doctor.rules, lanewise.machine, "
        "lanewise.health.doctor.pricing;"
        "print([name for name in ('polars', 'scipy', 'pyarrow', 'duckdb', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_baseline_is_held_against_the_machine_and_others(tmp_path: Path) -> None:
    dump, file = tmp_path / "lspci.txt", tmp_path / "fleet.toml"
    dump.write_text(HEALTHY, encoding="utf-8")
    file.write_text(lanewise_scan(str(dump), "--baseline"), encoding="utf-8")
    assert lanewise(str(dump), "--expect", str(file)).returncode == 0
    done = lanewise("-", "--no-cost", "--expect", str(file), stdin=NARROW)
    assert done.returncode == 1
    # Where lines end depends on the terminal that the tests run in, if any.
    said = " ".join(done.stdout.split())
    assert "01:00.0 (Example Drive) runs at 16 GT/s x2, narrower than the 16 GT/s x4 expected" in said
    document = json.loads(lanewise("-", "--expect", str(file), "--json", stdin=NARROW).stdout)
    assert document["summary"]["expected"][0]["present"] == 1
    waivers = tmp_path / "waivers.toml"
    entry = '[[waiver]]\nrule = "{}"\nat = "01:00.0"\nreason = "riser"\n'
    waivers.write_text("format = 1\n" + entry.format("link-width"))
    options = ("--no-cost", "--expect", str(file), "--waivers", str(waivers))
    done = lanewise("-", *options, stdin=NARROW)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 waived." in done.stdout


def test_mistakes_in_a_fleet_file_end_with_two_and_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text("format = 1\nfoo = 1\n[[waiver]]\nrule = 'link-widht'\nat = '01:00.0'\nreason = 'x'\n")
    done = lanewise("-", "--expect", str(file), stdin=HEALTHY)
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 problems" in done.stderr
    assert "did you mean `link-width`?" in done.stderr
    assert lanewise("-", "--expect", str(tmp_path / "none"), stdin=HEALTHY).returncode == 2


def test_an_interrupted_watch_ends_with_the_status_of_the_last_state(tmp_path: Path) -> None:
    dump = tmp_path / "lspci.txt"
    dump.write_text(NARROW, encoding="utf-8")
    code = "from lanewise.cli import main; main()"
    options = ("doctor", str(dump), "--no-cost", "--json", "--watch", "3600")
    with subprocess.Popen([sys.executable, "-c", code, *options], stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["change"] == "first"
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=120) == 1


def test_metrics_replace_a_file_in_one_step(tmp_path: Path) -> None:
    out = tmp_path / "lanewise.prom"
    out.write_text("old")
    done = lanewise("-", "--no-cost", "--format", "prometheus", "--out", str(out), stdin=NARROW)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'lanewise_doctor_finding{rule="link-width",severity="warning"' in out.read_text()
    lanewise("/no/such/file", "--format", "prometheus", "--out", str(out))
    assert "lanewise_doctor_finding{" in out.read_text()
    assert list(tmp_path.iterdir()) == [out]


def lanewise_scan(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "from lanewise.cli import main; main()", "scan", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout
