"""What Python prints of a result that nobody asked a table of: a line, never all that it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanewise

ROOT = Path(__file__).parents[2]
RIG = str(ROOT / "scenarios" / "first_rig.toml")
JOBS = str(ROOT / "scenarios" / "nvme_fio.fio")
DRIVES = str(ROOT / "scenarios" / "nvme_fio.toml")
GPUS = str(ROOT / "scenarios" / "rtx_pro_6000_broadcom.toml")
SERVER = str(ROOT / "examples" / "gpu-server.txt")
LAPTOP = str(ROOT / "examples" / "laptop.txt")
SHORT = "200 us"


def _compared() -> object:
    tables = {
        "host": {"h": {"slots": {"s": "gen4 x4"}}},
        "endpoint": {"e": {"attach": "h.s", "part": "generic-gen4-x4"}},
    }
    load = [{"kind": "dma", "device": "e", "direction": "write", "size": "4 KiB"}]
    scenario = {**tables, "workload": load}
    return lanewise.whatif(scenario, {"workload.dma0.size": "64 B"})


RESULTS = {
    "Comparison": (_compared, ["A <dictionary>", "with workload.dma0.size=64 B", "goodput of B over A"]),
    "SideBySide": (lambda: lanewise.compare(RIG, RIG, RIG), ["A ", "C "]),
    "WhyResult": (lambda: lanewise.why(RIG, time_limit=SHORT), ["brings"]),
    "StudyResult": (
        lambda: lanewise.sweep(RIG, {"run.seed": [1, 2]}, overrides={"run.time_limit": SHORT}),
        ["run.seed", "2 of 2 points finished"],
    ),
    "JobRuns": (
        lambda: lanewise.run_fio(DRIVES, JOBS, time_limit=SHORT, sections=["seq-read"]),
        ["nvme_fio.fio on ", "RunResult"],
    ),
    "CopyMatrix": (lambda: lanewise.copy_matrix(GPUS, ["gpu_a[0]", "gpu_a[1]"]), ["2 devices"]),
    "Machine": (lambda: lanewise.scan(SERVER), ["gpu-server.txt", "lspci text", "functions", "links"]),
    "Diagnosis": (lambda: lanewise.diagnose(SERVER), ["gpu-server.txt", "warning 1"]),
    "Prediction": (lambda: lanewise.predict(LAPTOP), ["laptop.txt", "1 device"]),
    "Judgement": (
        lambda: lanewise.judge(ROOT / "examples" / "laptop-fio.json", LAPTOP),
        ["fio on ", "as good as it gets 1"],
    ),
    "Picture": (lambda: lanewise.picture(RIG), ["One NVMe-class drive"]),
    "Session": (lambda: lanewise.Session(RIG), ["first_rig.toml", "at 0 us"]),
    "Reproduction": (lambda: lanewise.reproduce("IDT-T5"), ["IDT-T5", "passed"]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_line_names_it(name: str) -> None:
    make, words = RESULTS[name]
    said = repr(make())
    assert said.startswith(f"<{name}: ")
    assert len(said) < 400
    for word in words:
        assert word in said
