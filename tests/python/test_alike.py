"""Findings that say the same of several places are one entry for people, and stay apart for programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanewise.cli.tables.doctor import print_diagnosis
from lanewise.health.doctor import Cost, Diagnosis, Finding, Severity
from lanewise.health.doctor.finding import Compared, Waived
from lanewise.health.doctor.said_alike import together
from lanewise.health.predict.prediction import Prediction
from lanewise.health.predict.simulator import Row


def dma(as_is: float, fixed: float) -> Cost:
    what = f"DMA: {as_is:.2f} GB/s instead of {fixed:.2f} GB/s"
    return Cost(what, gb_per_s=fixed - as_is, compared=Compared("DMA", as_is, fixed))


def finding(bdf: str, **changes: object) -> Finding:
    plain = Finding(
        "link-width",
        Severity.WARNING,
        bdf,
        f"{bdf} runs on x2 of x4 lanes",
        (f"{bdf} LnkSta: x2",),
        f"Reseat {bdf}",
        dma(3.0, 6.0),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


EIGHT = tuple(finding(f"{bus:02x}:00.0") for bus in range(1, 9))


def test_what_differs_in_addresses_only_is_alike() -> None:
    (group,) = together(EIGHT)
    assert group.first is EIGHT[0]
    assert group.rest == EIGHT[1:]
    assert group.elsewhere(most=2) == "alike at 7 more: 02:00.0, 03:00.0, ..."


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": "link-speed"},
        {"severity": Severity.ERROR},
        {"title": "02:00.0 runs on x1 of x4 lanes"},
        {"cost": dma(1.5, 6.0)},
        {"cost": dma(3.0, 6.1)},
        {"cost": Cost("nobody knows")},
        {"cost": None},
        {"fix": "Replace it"},
    ],
)
def test_what_differs_in_anything_else_is_not(changes: dict[str, object]) -> None:
    assert len(together([finding("01:00.0"), finding("02:00.0", **changes)])) == 2


def test_costs_that_differ_by_less_than_anybody_measures_are_the_same() -> None:
    nearly = (
        finding("01:00.0"),
        finding("02:00.0", cost=dma(3.004, 5.999)),
        finding("03:00.0", cost=dma(2.9, 6.0)),
    )
    assert [1 + len(group.rest) for group in together(nearly)] == [2, 1]


def test_costs_that_are_stated_are_the_same_by_their_words() -> None:
    first, second = (finding(bdf, cost=Cost(f"{bdf} is gone")) for bdf in ("01:00.0", "02:00.0"))
    assert len(together([first, second])) == 1


def test_domains_are_part_of_addresses() -> None:
    assert len(together([finding("01:00.0"), finding("10000:01:00.0")])) == 1


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
def test_the_table_has_one_entry_and_all_addresses(
    severity: Severity, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    findings = tuple(replace(each, severity=severity) for each in EIGHT)
    print_diagnosis(Diagnosis("dump", findings, functions=16, links=8, rules=27))
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("runs on x2 of x4 lanes") == 1
    assert "alike at 7 more: 02:00.0, 03:00.0, 04:00.0, 05:00.0, 06:00.0, 07:00.0, 08:00.0" in text
    assert "8 warnings" in text or "8 notes" in text


def test_details_are_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_diagnosis(Diagnosis("dump", EIGHT, functions=16, links=8, rules=27), details=True)
    assert capsys.readouterr().out.count("LnkSta: x2") == 8


def test_json_has_every_finding() -> None:
    assert len(Diagnosis("dump", EIGHT, functions=16, links=8, rules=27).document["findings"]) == 8


def test_json_says_which_findings_are_alike_and_leaves_out_what_is_waived() -> None:
    waived = replace(EIGHT[1], waived=Waived("known", None, "waivers.toml:1"))
    other = finding("09:00.0", cost=dma(1.5, 6.0))
    document = Diagnosis("dump", (EIGHT[0], other, waived, EIGHT[2]), functions=4, links=4, rules=27).document
    assert document["alike"] == [[0, 3], [1]]


def row(bdf: str, **changes: object) -> Row:
    plain = Row(
        bdf=bdf,
        device="A GPU",
        link="gen5 x16",
        benchmark="host to device",
        direction="read",
        ceiling_gb_per_s=58.4,
        alone_gb_per_s=54.9,
        together_gb_per_s=12.5,
        alone_half_width_percent=0.1,
        together_half_width_percent=0.1,
        latency_ns=None,
        frames_per_s=None,
        binding="its link",
        kind_of_case=None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_json_says_which_devices_reach_the_same_to_a_hundredth() -> None:
    rows = (
        row("18:00.0"),
        row("18:00.0", benchmark="write to peer 19:00.0"),
        row("19:00.0", alone_gb_per_s=54.5),
        row("19:00.0", benchmark="write to peer 18:00.0"),
        row("1a:00.0", alone_gb_per_s=54.2),
        row("1b:00.0", ceiling_gb_per_s=29.2),
    )
    assert Prediction("dump", rows, ()).document["alike"] == [
        ["18:00.0", "19:00.0"],
        ["1a:00.0"],
        ["1b:00.0"],
    ]
