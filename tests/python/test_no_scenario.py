"""A file that is no scenario is one mistake, which says what the file is and which verb takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanewise

HERE = Path(__file__).resolve().parent
TEXTS = {
    "notes.md": "# Notes\n\nWhat was measured, in words.\n\nAnd more words.\n",
    "start.sh": "#!/bin/sh\nset -e\nfor each in *; do\n  echo $each\ndone\n",
    "list.txt": '01:00.0 "Non-Volatile memory controller" "Maker" "Drive" -r01 "Maker" "Drive"\n',
    "jobs.fio": "; two jobs\n[global]\nrw=read\n[one]\nbs=4k\n",
    "settings.toml": 'name = "mine"\nversion = 3\n[colours]\nsky = "blue"\n',
    "part.toml": 'title = "Mine"\nkind = "endpoint"\n[parameters]\ntags = 48\n',
    "zero.txt": "some words\0and more\nother words\n",
}


@pytest.mark.parametrize(
    ("file", "what", "hint"),
    [
        ("captured/osu-5.3-osu_bw.txt", "text of another program", "`lanewise import` benchmarks"),
        ("captured/perftest-6.06-ib_write_bw.txt", "text of another program", "`lanewise import` benchmarks"),
        ("captured/fio-3.33-two-jobs.json", "JSON", "`lanewise import` reads"),
        ("captured/iperf3-3.12-text.txt", "text of another program", "`lanewise import` benchmarks"),
        ("machine/dumps/qemu.vvv", "a dump of a machine", "`lanewise scan "),
        ("list.txt", "text of another program", "`lanewise scan` reads machines"),
        ("notes.md", "text of another program", "`lanewise new` copies a scenario"),
        ("start.sh", "text of another program", "`lanewise new` copies a scenario"),
        ("jobs.fio", "a job file of fio", "`lanewise run SCENARIO --fio "),
        ("settings.toml", "TOML of another kind", "`lanewise new` copies a scenario"),
        ("part.toml", "a part", 'a scenario beside it names it: `part = "part.toml"`'),
        ("zero.txt", "text of another program", "`lanewise new` copies a scenario"),
    ],
)
def test_what_is_no_scenario_is_one_mistake(tmp_path: Path, file: str, what: str, hint: str) -> None:
    """The message says what the file looks like, the hint what takes it; both are in the record, too."""
    path = HERE / file
    if file in TEXTS:
        path = tmp_path / file
        path.write_text(TEXTS[file], encoding="utf-8")
    for verb in (lanewise.explain, lanewise.run):
        with pytest.raises(lanewise.ScenarioError) as caught:
            verb(path)
        (mistake,) = caught.value.diagnostics
        assert mistake["code"] == "not-a-scenario"
        assert f"is {what}" in mistake["message"]
        assert hint in mistake["hint"]
        assert str(caught.value).count("= hint: ") == 1
        assert mistake["hint"] in str(caught.value)
