"""A run on several threads, from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lanewise

ROOT = Path(__file__).parents[2]
SWITCH, FIO = (str(ROOT / "scenarios" / f"{name}.toml") for name in ("switch", "nvme_fio"))
SHORT = {"run.time_limit": "150 us"}


def _plain(result: lanewise.RunResult) -> dict[str, object]:
    """Return a document without what threads change."""
    return {key: value for key, value in result.document.items() if key not in ("events", "threads")}


def test_two_threads_give_the_document_of_one() -> None:
    one = lanewise.run(SWITCH, overrides=SHORT)
    two = lanewise.run(SWITCH, overrides=SHORT, threads=2)
    assert "threads" not in one.document
    assert two.document["threads"] == {"asked": 2, "used": 2, "why_one": None}
    assert _plain(one) == _plain(two)


def test_what_cannot_be_shared_says_why() -> None:
    one = lanewise.run(FIO, overrides=SHORT)
    two = lanewise.run(FIO, overrides=SHORT, threads=3)
    threads = two.document["threads"]
    assert (threads["asked"], threads["used"]) == (3, 1)
    assert str(threads["why_one"]).endswith("workloads of kind `dma`, and here is one of kind `fio`")
    assert _plain(one) == _plain(two)


@pytest.mark.parametrize("threads", [0, -1, 65])
def test_a_wrong_number_of_threads_is_refused(threads: int) -> None:
    with pytest.raises(lanewise.InputError, match=f"1 to 64 threads, not {threads}"):
        lanewise.run(SWITCH, threads=threads)


def test_a_run_folder_is_that_of_one_thread(tmp_path: Path) -> None:
    for name, threads in (("one", None), ("two", 2)):
        lanewise.run(SWITCH, overrides=SHORT, out=tmp_path / name, threads=threads)
    tables = sorted(file.name for file in (tmp_path / "one").glob("*.parquet"))
    for table in tables:
        assert (tmp_path / "one" / table).read_bytes() == (tmp_path / "two" / table).read_bytes(), table
    one, two = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("one", "two"))
    # The minute in which each was made may be another.
    assert one | {"made": ""} == two | {"made": ""}
