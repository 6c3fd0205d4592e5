"""Drives that are known by name: which part they are, and what that does to scenarios and predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from machines import pair

from lanewise import api
from lanewise.health.predict import predict
from lanewise.machine import read
from lanewise.machine.drives import drive_part
from lanewise.machine.known_parts import DRIVES
from lanewise.machine.model import Machine
from lanewise.machine.own_rate import said_of_rates
from lanewise.machine.scenario import scan_to_scenario


def drive(*, can: str = "16 x4", **identity: str) -> Machine:
    """A root port and a drive with these names; `model` is what it calls itself."""
    machine = pair(can=can)
    address = next(f.address for f in machine if f.is_nvme)
    function = machine[address]
    named = replace(
        function,
        model=identity.pop("model", None),
        identity=replace(function.identity, **identity),  # type: ignore[arg-type]
    )
    return replace(machine, functions={**machine.functions, address: named})


def part(machine: Machine) -> str | None:
    return drive_part(next(f for f in machine if f.is_nvme))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"model": "Samsung SSD 980 PRO 1TB"}, "samsung-980-pro"),
        ({"model": "SAMSUNG MZQL23T8HCLS-00A07"}, "samsung-pm9a3"),
        ({"model": "INTEL SSDPE2KX040T8"}, "intel-p4510"),
        ({"model": "Micron_7450_MTFDKCC3T8TFR"}, "micron-7450-pro"),
        ({"subsystem_name": "DC NVMe PM9A3 RI U.2 3.84TB"}, "samsung-pm9a3"),
        ({"subsystem_name": 'NVMe Datacenter SSD [3DNAND] SE 2.5" U.2 (P4510)'}, "intel-p4510"),
        ({"subsystem_name": "Dell Ent NVMe CM6 RI 3.84TB"}, "kioxia-cm6"),
        ({"device_name": "7450 PRO NVMe SSD"}, "micron-7450-pro"),
        ({"device_name": "NVMe SSD Controller PM9A1/PM9A3/980PRO"}, None),
        ({"device_name": "NVMe Datacenter SSD [3DNAND, Beta Rock Controller]"}, None),
        ({"device_name": "7450 MAX NVMe SSD"}, None),
        ({"device_name": "WD PC SN810 / Black SN850 NVMe SSD"}, None),
        ({"subsystem_name": "Ent NVMe PM1733a RI 3.84TB"}, None),
        ({"device_name": "9100 PRO NVMe SSD"}, None),
        ({"device_name": "LEGEND 970 PRO NVMe SSD"}, None),
        ({"model": "KINGSTON SFYRD2000G"}, "kingston-kc3000"),
        ({"model": "KINGSTON SNV2S1000G"}, None),
        ({"model": "Samsung SSD 970 EVO Plus 1TB"}, "samsung-970-evo-plus"),
        ({"model": "Samsung SSD 970 EVO 1TB"}, "samsung-970-evo"),
        ({"model": "Samsung SSD 990 EVO Plus 2TB"}, "samsung-990-evo-plus"),
        ({"model": "Samsung SSD 990 EVO 2TB"}, "samsung-990-evo"),
        ({"model": "Samsung SSD 990 PRO with Heatsink 2TB"}, "samsung-990-pro"),
        ({"model": "Samsung SSD 980 1TB"}, "samsung-980"),
        ({"model": "Samsung SSD 9100 PRO 2TB"}, "samsung-9100-pro"),
        ({"model": "SAMSUNG MZVLB1T0HBLR-000L7"}, "samsung-pm981a"),
        ({"model": "SAMSUNG MZVL21T0HCLR-00B00"}, "samsung-pm9a1"),
        ({"model": "SAMSUNG MZWLJ7T6HALA-00007"}, "samsung-pm1733"),
        ({"model": "WDS100T3X0E-00B3N0"}, "wd-sn770"),
        ({"model": "WD_BLACK SN770 1TB"}, "wd-sn770"),
        ({"model": "WD_BLACK SN850X 2000GB"}, "wd-sn850x"),
        ({"model": "WD Blue SN570 1TB"}, "wd-sn570"),
        ({"model": "CT1000T500SSD8"}, "crucial-t500"),
        ({"model": "CT1000P3SSD8"}, "crucial-p3"),
        ({"model": "CT1000P3PSSD8"}, None),
        ({"model": "SHPP41-1000GM"}, "sk-hynix-p41"),
        ({"model": "SOLIDIGM SSDPFKKW010X7"}, "solidigm-p44-pro"),
        ({"model": "INTEL SSDPEKNW010T8"}, "intel-660p"),
        ({"model": "Micron_7400_MTFDKBG3T8TDZ"}, "micron-7400-pro"),
        ({"device_name": "7400 PRO NVMe SSD"}, None),
        ({"device_name": "6500 ION NVMe SSD"}, "micron-6500-ion"),
        ({"device_name": "9100 PRO NVMe SSD", "vendor_id": 0x1344, "device_id": 0x5180}, "micron-9100-pro"),
        ({"device_name": "9400 MAX NVMe SSD"}, "micron-9400-max"),
        ({"model": "Micron_9400_MTFDKCC6T4TGJ"}, "micron-9400-max"),
        ({"model": "Micron_9400_MTFDKCC7T6TGH"}, "micron-9400-pro"),
        ({"subsystem_name": "Ent NVMe CM7 FIPS U.2 MU 6.4TB"}, "kioxia-cm7-v"),
        ({"subsystem_name": "Ent NVMe CM7 FIPS U.2 RI 7.68TB"}, "kioxia-cm7-r"),
        ({"subsystem_name": "NVMe DC SSD U.2-SFF 15mm [D7-PS1010]"}, "solidigm-d7-ps1010"),
        ({"device_name": "Ultrastar DC SN861 NVMe SSD"}, "wd-sn861"),
        ({"device_name": "PBlaze7 7940/7946 NVMe SSD"}, None),
        ({"device_name": "FireCuda 520/IronWolf 525 SSD"}, None),
        ({"model": "Seagate FireCuda 520 SSD ZP1000GM30002"}, "seagate-firecuda-520"),
        ({"model": "CT2000P310SSD8"}, "crucial-p310"),
        ({"model": "CT2000T710SSD8"}, "crucial-t710"),
        ({"model": "KINGSTON SFYR2S2T0"}, "kingston-renegade-g5"),
        ({"model": "KINGSTON SEDC1500M1920G"}, "kingston-dc1500m"),
        ({"model": "Sabrent SB-RKT4P-2TB"}, "sabrent-rocket-4-plus"),
    ],
)
def test_names_that_mean_one_drive_are_that_drive(names: dict[str, str], expected: str | None) -> None:
    assert part(drive(**names)) == expected


_WITHOUT_A_BRIEF = ("intel-p4510", "intel-p4610", "intel-p5800x", "solidigm-p44-pro")
"""Drives whose maker's figures could not be read, or are another's: their rates are assumed, and say so."""

_WRITES_ASSUMED = ("samsung-pm1753",)
"""Drives whose maker says how fast they read, and not how fast they write."""


def test_every_part_is_in_the_catalog_with_rates_that_have_a_source() -> None:
    catalog = {entry["name"]: entry for entry in api.parts().document["parts"]}
    for name in DRIVES:
        rates = {p["path"]: p for p in catalog[name]["parameters"]}
        for key in ("nvme.read_rate", "nvme.write_rate"):
            assumed = name in _WITHOUT_A_BRIEF or (name in _WRITES_ASSUMED and key == "nvme.write_rate")
            known = ("assumed",) if assumed else ("datasheet", "published")
            assert rates[key]["provenance"] in known, (name, key)


def test_rates_that_a_part_assumes_are_not_said_to_be_published() -> None:
    assumed = predict(drive(model="INTEL SSDPE2KE016T8"))
    rows = [row for row in assumed.rows if "the drive, " in row.binding]
    assert rows
    assert all("the drive, as its part assumes (intel-p4610)" in row.binding for row in rows), rows
    assert any("as its part assumes" in text and "intel-p4610" in text for text in assumed.assumptions)
    assert not any("as published" in text and "intel-p4610" in text for text in assumed.assumptions)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("samsung-980-pro", "as published"),
        ("intel-p4610", "as its part assumes"),
        ("nvidia-a100-pcie", "as published"),
        ("nvidia-p100-pcie", "as its part assumes"),
        ("mellanox-connectx-5", "as its part assumes"),
        ("nvidia-connectx-6", "partly as published, partly as its part assumes"),
    ],
)
def test_what_is_said_of_a_part_is_the_provenance_of_what_is_used_of_it(part: str, words: str) -> None:
    """Of drives the rates, of GPUs the packets of a copy, of adapters their send buffer and messages."""
    assert said_of_rates(part) == words
    catalog = {entry["name"]: entry for entry in api.parts().document["parts"]}
    used = ("nvme.read_rate", "nvme.write_rate", "copy_engine.read_unit", "copy_engine.write_unit")
    found = {
        p["provenance"] == "assumed"
        for p in catalog[part]["parameters"]
        if p["path"].endswith((*used, "rdma.send_buffer", "rdma.message_interval"))
    }
    assert (found == {False}) == (words == "as published")


def test_a_known_drive_is_predicted_with_its_rates_and_an_unknown_one_with_those_of_its_link() -> None:
    known = predict(drive(model="Samsung SSD 980 PRO 1TB"))
    unknown = predict(drive())
    rates = {row.benchmark.split()[1]: row for row in known.rows}
    assert rates["write"].alone_gb_per_s == pytest.approx(5.0, rel=0.02)
    assert "the drive, as published (samsung-980-pro)" in rates["write"].binding
    assert any("samsung-980-pro" in text for text in known.assumptions)
    assert not any("samsung-980-pro" in text for text in unknown.assumptions)
    assert all("may be slower" in row.binding for row in unknown.rows if row.alone_gb_per_s)
    assert not any("may be slower" in row.binding for row in known.rows)


def test_a_drive_a_little_below_a_link_that_is_not_full_is_the_limit() -> None:
    """A 970 EVO Plus reads 3.50 GB/s by its data sheet, and Gen3 x4 carries 3.58 GB/s."""
    read = next(row for row in predict(drive(can="8 x4", model="Samsung SSD 970 EVO Plus 1TB")).rows)
    assert read.benchmark == "fio read 128 KiB"
    assert read.alone_gb_per_s == pytest.approx(3.50, rel=0.002)
    assert read.binding == "the drive, as published (samsung-970-evo-plus); its link would carry 3.58 GB/s"
    full = next(row for row in predict(drive(model="Samsung SSD 990 PRO 2TB")).rows)
    assert "full towards the host" in full.binding, "7.45 GB/s of media, and Gen4 x4 carries 7.17 GB/s"


def test_a_scenario_says_of_a_part_whether_it_is_published() -> None:
    assert "known by its name; rates as published" in scan_to_scenario(drive(model="Samsung SSD 980 PRO 1TB"))
    assert "rates as its part assumes" in scan_to_scenario(drive(model="INTEL SSDPE2KE016T8"))


def test_a_scenario_names_the_part() -> None:
    assert 'part = "wd-sn850x"' in scan_to_scenario(drive(model="WD_BLACK SN850X 2000GB"))


def test_a_running_system_says_what_its_drives_are(tmp_path: Path) -> None:
    folder = tmp_path / "bus/pci/devices/0000:01:00.0"
    (folder / "nvme/nvme0").mkdir(parents=True)
    (folder / "nvme/nvme0/model").write_text("Samsung SSD 990 PRO 2TB                 \n")
    for name, text in {"class": "0x010802", "vendor": "0x144d", "device": "0xa80c"}.items():
        (folder / name).write_text(text + "\n")
    machine = read(tmp_path)
    assert machine["01:00.0"].model == "Samsung SSD 990 PRO 2TB"
    assert drive_part(machine["01:00.0"]) == "samsung-990-pro"
