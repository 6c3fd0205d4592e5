"""What a page asks in place of its own simulator, and machines that are sent."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from serving import LONG, RIG, Server, message_of
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

import lanewise
from lanewise import _core
from lanewise.machine.json_form import to_json
from lanewise.serve.page_link import Pages
from lanewise.serve.settings import Limits
from lanewise.serve.workers import JobError, Worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GPU_SERVER = Path(__file__).resolve().parents[3] / "examples/gpu-server.txt"
DUMP = Path(__file__).parents[1] / "machine/dumps/qemu.vvv"


def ask(link: ClientConnection, verb: str, *given: object) -> Any:
    link.send(json.dumps({"id": 7, "verb": verb, "given": given}))
    answer = json.loads(link.recv())
    assert answer.pop("id") == 7
    return answer


def test_a_page_simulates_here(server: Server) -> None:
    with connect(f"{server.sockets}/api/simulator", max_size=None) as link:
        assert ask(link, "version") == {"answer": _core.VERSION}
        assert ask(link, "parts")["answer"] == json.loads(_core.parts())
        assert ask(link, "scenarioSchema")["answer"] == json.loads(_core.scenario_schema())
        session = ask(link, "ofSession", "new", {"scenario": RIG, "ends_when_narrow": True})["answer"][
            "session"
        ]
        over = {"over": False}
        while not over["over"]:
            over = ask(link, "ofSession", "step", {"session": session, "events": 100_000})["answer"]
        results = ask(link, "ofSession", "results", {"session": session})["answer"]
        here = lanewise.run(RIG)
        assert over["fingerprint"] == results["fingerprint"] == here.fingerprint
        assert results["flows"] == json.loads(here.to_json())["flows"]
        # Another page knows nothing of it.
        with connect(f"{server.sockets}/api/simulator") as other:
            state = ask(other, "ofSession", "state", {"session": session})
            assert "there is no session" in state["failure"]["errors"][0]["message"]


def test_a_page_traces_here(server: Server) -> None:
    with connect(f"{server.sockets}/api/simulator", max_size=None) as link:
        window = {"start": "2 us", "span": "5 us"}
        rows = ask(link, "trace", RIG, window)["answer"]
        assert rows["rows"] == json.loads(lanewise.trace(RIG, **window).to_json())["rows"]
        assert len(rows["rows"]) > 100
        native = io.BytesIO()
        kinds = ["tlp", "blocked"]
        lanewise.write_trace(RIG, native, form="perfetto", kinds=kinds, **window)
        file = ask(link, "traceFile", RIG, {**window, "kinds": kinds, "form": "perfetto"})["answer"]
        assert base64.b64decode(file["base64"]) == native.getvalue()
        said = ask(link, "trace", RIG, {"start": "2"})["failure"]
        assert "with its unit" in said["errors"][0]["message"]


def test_what_is_no_message_is_said(server: Server) -> None:
    with connect(f"{server.sockets}/api/simulator") as link:
        for message in (
            "",
            "[]",
            '{"id": 1}',
            '{"id": 1, "verb": "exec", "given": []}',
            '{"id":1,"verb":"run","given":[]}',
        ):
            link.send(message)
            assert json.loads(link.recv())["failure"]["status"] == 2
        assert ask(link, "version") == {"answer": _core.VERSION}


def test_pages_are_limited(server: Server) -> None:
    with ExitStack() as links:
        for _ in range(8):
            ask(links.enter_context(connect(f"{server.sockets}/api/simulator")), "version")
        with (
            connect(f"{server.sockets}/api/simulator") as ninth,
            pytest.raises(ConnectionClosed, match="4503"),
        ):
            ninth.recv()


def test_a_page_that_goes_ends_its_work(server: Server) -> None:
    with server.client as client:
        with connect(f"{server.sockets}/api/simulator") as link:
            ask(link, "version")
            link.send(json.dumps({"id": 8, "verb": "run", "given": [LONG]}))
            time.sleep(0.2)
            assert client.get("/api/status").json()["pages"] == 1
        # The run itself goes on for minutes.
        until = time.monotonic() + 5
        while client.get("/api/status").json()["pages"] > 0:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.parametrize(("count", "said"), [(1, "for 0.2 s"), (100, "64 messages wait")])
def test_a_page_that_asks_nothing_or_too_much_is_left(count: int, said: str) -> None:
    heard: list[str] = []

    async def asked() -> AsyncIterator[str]:
        for _ in range(count):
            yield "no message"
        await asyncio.sleep(60)

    async def hear(answer: str) -> None:
        heard.append(answer)

    async def served_one() -> str | None:
        pages = Pages(Limits(idle_seconds=0.2))
        reason = await pages.serve(asked(), hear)
        assert pages.open == 0
        return reason

    assert said in str(asyncio.run(served_one()))
    assert len(heard) == (1 if count == 1 else 0)


def test_a_dump_is_read(server: Server) -> None:
    named = {"source": "qemu.vvv"}
    with server.client as client:

        def read(verb: str, **options: object) -> Any:
            given = {"name": "../../qemu.vvv", **options}
            answer = client.post(f"/api/machines/{verb}", content=DUMP.read_bytes(), params=given)
            assert answer.status_code == 200, answer.text
            return answer.json()

        assert read("scan") == json.loads(json.dumps(to_json(lanewise.scan(DUMP)))) | named
        assert read("doctor")["findings"] == json.loads(lanewise.diagnose(DUMP).to_json())["findings"]
        here = lanewise.predict(DUMP, devices=["01:00.0"], what_if=["01:00.0 -> gen5 x4"])
        assert (
            read("predict", device="01:00.0", what_if="01:00.0 -> gen5 x4")
            == json.loads(here.to_json()) | named
        )


def test_several_files_of_a_machine_are_read_as_the_command_line_does(server: Server) -> None:
    log = b"[    1.000000] NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, GPU has fallen off the bus.\n"
    files = {"dmesg.txt": log, "lspci.txt": GPU_SERVER.read_bytes()}
    with server.client as client:
        for names in (["dmesg.txt", "lspci.txt"], ["lspci.txt", "dmesg.txt"]):
            given = {"name": names, "size": [len(files[name]) for name in names]}
            body = b"".join(files[name] for name in names)
            answer = client.post("/api/machines/scan", content=body, params=given)
            assert answer.status_code == 200, answer.text
            assert answer.json()["source"] == "lspci.txt"
            assert [each["address"] for each in answer.json()["machine"]["events"]] == ["0000:9b:00.0"]
        wrong = client.post("/api/machines/scan", content=log, params={"size": [1, 2]})
        assert wrong.status_code == 422
        assert "3 B by their sizes" in message_of(wrong)


def test_a_machine_is_drawn_and_becomes_a_scenario(server: Server) -> None:
    with server.client as client:

        def read(verb: str) -> Any:
            given = {"name": GPU_SERVER.name}
            return client.post(f"/api/machines/{verb}", content=GPU_SERVER.read_bytes(), params=given).json()

        assert read("draw")["svg"] == lanewise.picture(GPU_SERVER).svg(embedded=True)
        scenario = read("scenario")["scenario"]
        assert lanewise.explain(scenario).document["parameters"]


def test_what_is_no_dump_is_said(server: Server) -> None:
    with server.client as client:
        answer = client.post("/api/machines/scan", content=b"Dear all,\n", params={"name": "letter.txt"})
        assert answer.status_code == 422
        assert "letter.txt" in message_of(answer)
        for name in ("..", "é" * 200):
            answer = client.post("/api/machines/scan", content=b"Dear all,\n", params={"name": name})
            assert answer.status_code == 422
            assert "dump" in message_of(answer)


def test_a_process_that_dies_costs_its_job() -> None:
    async def tried() -> JobError:
        worker = await Worker.start(4 << 30)
        doing = asyncio.create_task(
            worker.do({"verb": "page", "asks": "run", "request": json.dumps({"scenario": LONG})}, 60)
        )
        await asyncio.sleep(0.05)
        await worker.end()
        try:
            await doing
        except JobError as error:
            return error
        raise AssertionError("the job was done by a process that is dead")

    error = asyncio.run(tried())
    assert error.document["errors"][0]["code"] == "worker-died"  # type: ignore[index]
    assert not error.is_wrong_input


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "polars.py").write_text("raise RuntimeError('it was imported')\n")
    monkeypatch.chdir(tmp_path)

    async def answered() -> bytes:
        worker = await Worker.start(4 << 30)
        try:
            job = {"verb": "run", "scenario": RIG, "overrides": {}, "folder": str(tmp_path / "run")}
            return await worker.do(job, 60)
        finally:
            await worker.end()

    assert json.loads(asyncio.run(answered()))["title"] == "A card that writes"


MUCH = """
import sys
print(200_000 * ".", flush=True)
print("written", file=sys.stderr)
sys.stdin.read()
"""


def test_a_process_ends_whose_answer_nobody_reads() -> None:
    """More than a reader buffers (128 KiB) and less than what fits the pipe, too (64 KiB)."""

    async def ended() -> bool:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            MUCH,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        assert await process.stderr.readline() == b"written\n"
        done, _ = await asyncio.wait({asyncio.create_task(Worker(process).end())}, timeout=60)
        return bool(done)

    assert asyncio.run(ended())
