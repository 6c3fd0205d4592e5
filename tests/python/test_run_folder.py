"""A run folder is complete or absent, and carries its units."""

from __future__ import annotations

import json
from pathlib import Path

import documents
import pyarrow.parquet as pq
import pytest

from lanewise.results import RunResult
from lanewise.runs import folder as run_folder
from lanewise.runs.folder import RunFolderError, check_free, load_run, save_run


def save(folder: Path) -> RunResult:
    result = RunResult(documents.run_document())
    save_run(result, folder, resolved=documents.explain_document(), overrides=[("sw0.latency", "1 ns")])
    return result


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    result = save(tmp_path / "run")
    assert load_run(tmp_path / "run").document == {"format": 1, **result.document}


def test_columns_carry_their_unit(tmp_path: Path) -> None:
    save(tmp_path / "run")
    schema = pq.read_schema(tmp_path / "run" / "flows.parquet")
    assert schema.field("goodput_mib_per_s").metadata[b"unit"] == b"MiB/s"
    assert schema.field("latency_ns_p99").metadata[b"unit"] == b"ns"


def test_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    save(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["fingerprint"] == "0123456789abcdef"
    assert manifest["overrides"] == [{"path": "sw0.latency", "value": "1 ns"}]
    assert manifest["resolved_scenario"]["parameters"][0]["provenance"] == "calibrated"
    assert manifest["tables"]["links"]["rows"] == 6


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(RunFolderError, match="exists already"):
        save(tmp_path / "run")


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="file' is not a folder"):
        check_free(tmp_path / "file" / "run")
    check_free(tmp_path / "later" / "run")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(RunFolderError, match=f"you may not write to '{tmp_path}'"):
        check_free(tmp_path / "later" / "run")


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_folder, "_write_table", full_disk)
    with pytest.raises(RunFolderError, match="cannot be written: No space left"):
        save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_strange_folder_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a run folder"):
        load_run(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(RunFolderError, match="layout 99"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", b""),
        ("manifest.json", b"[]"),
        ("results.json", b"null"),
        ("results.json", b"\xff\xfe"),
        ("results.json", b"{}"),
        ("results.json", b'{"flows": 3}'),
        ("results.json", None),
    ],
)
def test_a_damaged_folder_is_wrong_input_and_no_mistake_of_ours(
    name: str, content: bytes | None, tmp_path: Path
) -> None:
    save(tmp_path / "run")
    damaged = tmp_path / "run" / name
    if content is None:
        damaged.write_text(
            damaged.read_text().replace('"goodput_gb_per_s":', '"goodput_gb_per_s": "x", "_":')
        )
    else:
        damaged.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"is not a run folder|damaged run folder"):
        load_run(tmp_path / "run")
