"""What others measured: the data sets are complete, and what is simulated stays as near to them as it is."""

import importlib.util
import re
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import lanewise
from lanewise.health.predict.measured import CaseKind, MeasuredElsewhere, measured_elsewhere

ROOT = Path(__file__).parents[2] / "validation"
SETS = sorted((ROOT / "sets").glob("*.toml"))
PAGES = ("docs/explanation/validation.md", "docs/reference/measured-cells.md")


def load():
    spec = importlib.util.spec_from_file_location("validate", ROOT / "validate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["validate"] = module
    spec.loader.exec_module(module)
    return module


def test_every_data_set_says_where_it_is_from_and_what_was_known() -> None:
    validate = load()
    for path in SETS:
        data = tomllib.loads(path.read_text())
        assert data["id"] == path.stem
        assert data["source"]
        assert data["licence"]
        assert data["role"] in validate.ROLES
        assert set(data.get("not_named", [])) <= set(validate.COMPONENTS)
        for case in data["case"]:
            assert (ROOT / "templates" / f"{case['template']}.toml").exists(), path.stem
            assert all(cell["unit"] in validate.TO_UNIT and cell["measured"] > 0 for cell in case["cell"])


def limit(name: str, kind: str) -> dict[str, str]:
    return {"name": name, "kind": kind}


@pytest.mark.parametrize(
    ("unit", "limited", "not_named", "expected"),
    [
        ("us", limit("nic0.window", "window"), ["host"], "host"),
        ("us", limit("ssd.upstream", "wire"), ["host", "device"], "host and device"),
        ("us", limit("nic0.window", "window"), [], ""),
        ("Gb/s", limit("ssd.upstream", "wire"), ["host", "device"], ""),
        ("Gb/s", limit("nic0.port1.wire", "wire_beyond"), ["host", "device"], ""),
        ("us", limit("nic0.wire_beyond", "wire_beyond"), ["host"], "host"),
        ("Gb/s", limit("ssd.window", "window"), ["host"], "host"),
        ("Mpps", limit("job.first_thread", "thread"), ["host"], "host"),
        ("Mpps", limit("server.core0", "core"), ["device"], ""),
        ("GB/s", limit("ssd.write_path", "drive"), ["host"], ""),
        ("GB/s", limit("ssd.write_path", "drive"), ["device"], "device"),
        ("GB/s", None, ["host"], ""),
    ],
)
def test_what_decides_a_cell_and_is_not_named(
    unit: str, limited: dict[str, str] | None, not_named: list[str], expected: str
) -> None:
    template = tomllib.loads((ROOT / "templates/fio.toml").read_text())
    assert load().open_component(not_named, template, unit, limited) == expected


@pytest.mark.parametrize(
    ("name", "most_percent"),
    [("a10-sapphire-rapids", 1.0), ("h100-sxm-8462y", 1.5), ("cm4-gen2-x1", 2.0)],
)
def test_data_sets_that_the_link_limits_agree(name: str, most_percent: float, tmp_path: Path) -> None:
    validate = load()
    cells = validate.cells_of(ROOT / "sets" / f"{name}.toml", validate.Simulations(tmp_path))
    assert max(abs(cell.error_percent) for cell in cells) < most_percent


def test_loaded_latency_of_an_expander_is_near_the_published_curves(tmp_path: Path) -> None:
    validate = load()
    simulations = validate.Simulations(tmp_path)
    cells = validate.cells_of(ROOT / "sets" / "cxl-expander-model.toml", simulations)
    errors = [abs(cell.error_percent) for cell in cells if cell.unit == "ns"]
    assert len(errors) == 15
    assert statistics.median(errors) < 3
    assert max(errors) < 12


def text_of(page: str) -> str:
    return (ROOT.parent / page).read_text(encoding="utf-8")


def rows_of(text: str) -> list[list[str]]:
    """Return the rows of the first table of a text, without its heads."""
    lines = text[text.index("\n|") + 1 :].partition("\n\n")[0].splitlines()
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line[:1] == "|"
    ][2:]


def printed_cells() -> list[list[str]]:
    """Return the rows of all cells, as the documentation has them."""
    return rows_of(text_of(PAGES[1]).split("## All cells")[1])


def made(*, group: str = "dma", case: str = "", error: float = 0.0, **other: str) -> Any:
    given = {"role": "unseen", "unit": "GB/s", "limited_kind": "wire", "open": "", **other}
    return load().Cell(
        set="made", case=case, group=group, measured=100.0, tolerance_percent=3.0, simulated=100.0 + error,
        limited_by="", why="", **given,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (
            {"group": "gpu copy", "case": "H100, device to host"},
            "large copies between a host and a GPU, one way",
        ),
        ({"group": "gpu copy", "case": "device to host, while there"}, "copies to and from a GPU at once"),
        (
            {"group": "gpu copy", "case": "device to host, while there, kernel"},
            "copies between a host and a GPU by a kernel",
        ),
        ({"group": "gpu copy", "case": "64 KiB"}, "copies of less than 1 MiB, or of pageable memory"),
        ({"group": "peers", "case": "across sockets, one way"}, "peers across sockets"),
        ({"group": "peers", "case": "inside a switch"}, "peers at one socket, or below its switches"),
        ({"group": "rdma", "unit": "us"}, "adapters: latency of a message, few outstanding"),
        ({"group": "rdma", "case": "16 KiB, depth 8"}, "adapters: latency of a message, few outstanding"),
        ({"group": "rdma", "limited_kind": "core"}, "adapters: as many messages as a core posts"),
        ({"group": "rdma"}, "adapters: large messages"),
        ({"group": "nvme", "unit": "kIOPS"}, "drives: I/Os a second"),
        ({"group": "dma", "unit": "ns"}, "DMA of another device: one read at a time"),
        ({"group": "drives and gpus"}, "drives or adapters to the memory of a GPU"),
    ],
)
def test_a_cell_is_of_the_first_kind_that_takes_it(cell: dict[str, str], kind: str) -> None:
    assert load().kind_of(made(**cell)) == kind


def test_each_group_of_the_data_sets_has_a_kind() -> None:
    validate = load()
    data = [tomllib.loads(path.read_text()) for path in SETS]
    groups = {case.get("group", each["group"]) for each in data for case in each["case"]}
    assert {validate.kind_of(made(group=group)) for group in groups} <= set(validate.KINDS)


def test_blocks_of_a_page_are_made_and_the_rest_is_kept() -> None:
    validate = load()
    cells = [made(error=error) for error in (1.0, -9.0, 11.0)] + [
        made(error=50.0, open="host"),
        made(role="used"),
    ]
    rows = "".join(f"| {kind} | 7 | 9 % | | | said of {kind} |\n" for kind in validate.KINDS)
    page = (
        "# T\n\nkept\n\n<!-- validation words -->\nold\n<!-- end -->\n\n"
        "<!-- validation open -->\n<!-- end -->\n"
        f"<!-- validation kinds -->\n| heads |\n| --- |\n{rows}<!-- end -->\n\nkept, too\n"
    )
    written = validate.with_tables(page, cells)
    assert "old" not in written
    assert written.startswith("# T\n\nkept\n\n<!-- validation words -->\n- ")
    assert written.endswith("<!-- end -->\n\nkept, too\n")
    assert "5 cells: 1 *used*, 4 *unseen*" in written
    assert (
        "25 % are within 3 %; 25 % are within 5 %; 50 % are within 10 %. The median error is 10.0 %"
        in written
    )
    assert "- 1 of the unseen cells are open. Of these, 0 agree within 10 %" in written
    assert "Of the other 3, 67 % are within 10 %" in written
    kind = "DMA of another device: bandwidth"
    assert f"| {kind} | 4 | 10.0 % | 25 % | 50 % | said of {kind} |" in written
    assert "| CXL memory | 0 |  |  |  | said of CXL memory |" in written
    assert validate.with_tables(written, cells) == written


def test_a_table_of_kinds_that_lacks_one_is_refused() -> None:
    validate = load()
    rows = "| heads |\n| --- |\n| peers across sockets | | | | | why |\n"
    page = f"<!-- validation kinds -->\n{rows}<!-- end -->\n"
    with pytest.raises(ValueError, match="kinds of cases"):
        validate.with_tables(page, [made()])
    with pytest.raises(ValueError, match="no place for tables"):
        validate.with_tables("# T\n", [made()])


def test_rare_limits_are_summed_up() -> None:
    cells = [made(error=1.0, limited_kind="wire")] * 5 + [
        made(error=9.0, limited_kind="tags"),
        made(limited_kind=""),
    ]
    rows = load().limits(cells)
    assert [row[:2] for row in rows] == [["`wire`", "5"], ["others: `tags`, nothing", "2"]]


def test_the_page_counts_the_cells_of_its_table() -> None:
    roles = [row[6].partition(";") for row in printed_cells()]
    assert len(roles) == sum(int(row[-1]) for row in rows_of(text_of(PAGES[1]).split("## The data sets")[1]))
    page = text_of(PAGES[0])
    number = sum(role == "unseen" for role, *_ in roles)
    open_ = sum(role == "unseen" and bool(said) for role, _, said in roles)
    assert f"have {len(roles)} cells: {len(roles) - number} *used*, {number} *unseen*" in page
    assert f"- {open_} of the unseen cells are open." in page
    assert sum(int(row[1]) for row in rows_of(page.split("<!-- validation kinds -->")[1])) == number
    assert sum(int(row[1]) for row in rows_of(page.split("<!-- validation limits -->")[1])) == number


def test_predict_knows_as_many_cells_as_the_page() -> None:
    on_page = {
        row[0]: int(row[1]) for row in rows_of(text_of(PAGES[0]).split("<!-- validation kinds -->")[1])
    }
    known = {each.kind: each.cells for each in measured_elsewhere(CaseKind)}
    assert known == {kind: on_page[kind] for kind in CaseKind}


def test_what_predict_knows_is_written_in_tenths_of_measured_over_simulated() -> None:
    """Eleven cells from 100 to 110 % have their second lowest and second highest as tenths."""
    validate = load()
    cells = [made(group="gpu copy", error=100 / (1 + share / 100) - 100) for share in range(11)]
    cells += [made(group="gpu copy", error=400.0, role="used"), made(group="dma", error=50.0)]
    found = validate.measured_of(CaseKind.LARGE_COPY, cells)
    assert found == MeasuredElsewhere(CaseKind.LARGE_COPY, 11, 1, 101.0, 105.0, 109.0)


def test_what_is_missing_accounts_for_every_unseen_cell_beyond_ten_percent() -> None:
    """Each group counts as many as its table, and all of them together as many as there are."""
    beyond = [
        row for row in printed_cells() if row[6].startswith("unseen") and abs(float(row[5].rstrip(" %"))) > 10
    ]
    missing = text_of(PAGES[0]).split("### What is missing")[1].split("### What these cells")[0]
    groups = re.findall(r"^#### ([^\n]+): (\d+) cells\n(.*?)(?=^#### |\Z)", missing, re.DOTALL | re.MULTILINE)
    assert sum(int(number) for _, number, _ in groups) == len(beyond)
    tables = {name: rows_of(body) for name, _, body in groups if name != "Collectives"}
    assert {name: sum(int(row[1]) for row in rows) for name, rows in tables.items()} == {
        name: int(number) for name, number, _ in groups if name != "Collectives"
    }
    open_ = [row for row in beyond if ";" in row[6] and not row[0].startswith("nccl-")]
    assert sum(int(row[2] or 0) for rows in tables.values() for row in rows) == len(open_)


LAST_ROUNDS = frozenset(
    [
        "990-pro-am08",
        "a100-pcie-della-sizes",
        "a40-rome-peers",
        "aisio-h100",
        "aisio-l4",
        "alveo-xrt",
        "amd-gpus-narrow",
        "aurora-max-1550",
        "bam-artifact",
        "bcm-roce-400",
        "blackhole-bar",
        "blackhole-p100a",
        "blackhole-x1",
        "clpeak-pinned",
        "cm4-drives",
        "cmp-170hx",
        "cmp-170hx-plx",
        "comet-fdr",
        "cosmo-k",
        "cx4-ivy-bridge",
        "cx4-lx-osu",
        "cx4-lx-phytium",
        "cx5-roce-hosts",
        "cx5-rocm",
        "cx5-vpi-read",
        "cx6-a30-far",
        "cx6-dx-haswell",
        "cx6-read-small",
        "cx6-roce-itself",
        "cx6-zaratan",
        "cx7-spark-burn-in",
        "cx7-spark-ring",
        "edr-azure-hc",
        "edr-forum",
        "edr-osu",
        "ex920",
        "f1-register",
        "fanxiang-s790",
        "fastlinq-roce-10",
        "gdrcopy-a100",
        "gdrcopy-p100",
        "gdrcopy-p5",
        "gpu-copy-two-sockets",
        "h100-voltage-park",
        "h200-eight",
        "hbv2-osu",
        "hdr-a800",
        "hdr-loopback",
        "hdr100-pods",
        "jetstream",
        "k80-haswell",
        "k80-lecture",
        "k80-power8",
        "kioxia-pi",
        "kit-dma",
        "kv-cache-mi300x-cx7",
        "mcdma-agilex",
        "mi100-eight",
        "mi100-sizes",
        "mi210-genoa",
        "mi25-peers",
        "mi25-x11",
        "mi250-transferbench",
        "mi350x-dma-both",
        "micron-9100-unvme",
        "nccl-v100-two",
        "oci-optimized3",
        "oculink",
        "osu-xh2000",
        "p100-far",
        "p3-plus-nuc",
        "p4600-spdk",
        "p4610-spdk",
        "p5800x-threadripper",
        "pcie-bench-haswell-e3",
        "pcie-bench-iommu-broadwell-remote",
        "pcie-bench-iommu-ivy-bridge",
        "pcie-bench-iommu-sandy-bridge",
        "pcie-bench-iommu-superpages",
        "pcie-bench-iommu-x10",
        "perseus-gen1-x4",
        "phison-gb10",
        "pi-5-drives",
        "pi-5-ssd",
        "pi-5-x1",
        "pio-7-series",
        "pm9a1-laptop",
        "polarfire",
        "pollara-write-lat",
        "rcuda-k40",
        "roce-egx",
        "rp1-load",
        "rtx-4060-clpeak",
        "rtx-4090-wrx80",
        "rtx-4090-xeon",
        "rtx-5060-ti-x4-peers",
        "rtx-5090-nf5468",
        "rtx-6000d",
        "rtx-peers-unnamed",
        "sn850x-xio",
        "spdk-many",
        "t5440-gen1",
        "ten-drives-threadripper",
        "v100-memcpy",
        "v100-sizes",
        "vega-frontier-sizes",
        "virtex-7-peers",
        "xdma-k7",
        "xdma-parallel",
        "xnvme-512",
        "xrt-pull-requests",
    ]
)
"""Data sets of the sixth to the eighth round, and of the tenth to the thirteenth."""


def test_used_cells_are_scenarios(tmp_path: Path) -> None:
    """They are not simulated below, as nothing is judged by them."""
    validate = load()
    found = 0
    for path in SETS:
        for case, _, its in validate.asked(tomllib.loads(path.read_text()), path.name):
            if its["role"] == "used":
                scenario = tmp_path / f"{case['template']}.toml"
                scenario.write_text(validate.filled_in(case["template"], its["parts"]))
                lanewise.explain(scenario, overrides=validate.overrides_of(its["settings"]))
                found += 1
    assert found > 100


@pytest.mark.slow
def test_the_median_error_of_unseen_cells_has_not_grown(tmp_path: Path) -> None:
    validate = load()
    simulations = validate.Simulations(tmp_path)
    cells = [cell for path in SETS for cell in validate.cells_of(path, simulations, roles={"unseen"})]
    assert len({cell.set for cell in cells}) >= 15
    # All, and what is published enough to be predicted. The last rounds are harder to predict.
    before = [cell for cell in cells if cell.set not in LAST_ROUNDS]
    for those, most, most_named in ((before, 4, 3.2), (cells, 6.2, 4.5)):
        assert statistics.median(abs(cell.error_percent) for cell in those) < most
        assert statistics.median(abs(cell.error_percent) for cell in those if not cell.open) < most_named
    for known in measured_elsewhere(CaseKind):
        now = validate.measured_of(known.kind, cells)
        assert (now.cells, now.data_sets) == (known.cells, known.data_sets)
        for name in ("low_percent", "median_percent", "high_percent"):
            assert getattr(now, name) == pytest.approx(getattr(known, name), abs=0.15), known.kind


def test_a_queue_of_packets_says_when_lines_are_joined() -> None:
    """The study of a root port is within 12 % of every size on every host, and always joining is not."""
    spec = importlib.util.spec_from_file_location("joined_lines", ROOT / "joined_lines.py")
    study = importlib.util.module_from_spec(spec)
    sys.modules["joined_lines"] = study
    spec.loader.exec_module(study)
    errors = study.errors_by_host()
    assert max(abs(error) for row in errors.values() for error in row) < 12
    assert statistics.median(abs(error) for row in errors.values() for error in row) < 3
    study.PLACES = 1
    few = study.errors_by_host()
    assert all(row[study.SIZES.index(256)] < -10 for row in few.values())
