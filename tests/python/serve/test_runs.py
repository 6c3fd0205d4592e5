"""Runs over HTTP: the same results as anywhere, kept whole, or not there."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import time
from pathlib import Path

import httpx
import polars as pl
import pytest
from serving import LONG, RIG, SECONDS, Server, message_of, served, started, until_over
from websockets.sync.client import connect

import lanewise
from lanewise.error_document import error_document
from lanewise.files import half_name
from lanewise.serve.runs import Run, Runs
from lanewise.serve.settings import Limits
from lanewise.serve.workers import JobError, Pool


def test_a_run_gives_what_it_gives_elsewhere(server: Server) -> None:
    with server.client as client:
        name = started(client, RIG, overrides={"nic.mps": "128 B"}, seed=3, time_limit="2 ms")
        state = until_over(client, name)
        served_results = client.get(f"/api/runs/{name}/results").json()
        table = pl.read_parquet(io.BytesIO(client.get(f"/api/runs/{name}/tables/flows").content))
        listed = client.get("/api/flows", params={"title": "a CARD"}).json()
    here = lanewise.run(RIG, overrides={"nic.mps": "128 B"}, seed=3, time_limit="2 ms")
    assert state["state"] == "done", state
    assert (state["title"], state["fingerprint"]) == (here.title, here.fingerprint)
    assert served_results == json.loads(here.to_json())
    assert table.equals(here.flows)
    assert [row["goodput_gb_per_s"] for row in listed if row["run"] == name] == here.flows[
        "goodput_gb_per_s"
    ].to_list()


def test_the_largest_seed_is_a_seed_and_an_older_run_has_an_id(server: Server) -> None:
    with server.client as client:
        name = started(client, RIG, seed=2**64 - 1, time_limit="100 us")
        assert until_over(client, name)["state"] == "done"
        assert client.get(f"/api/runs/{name}/results").json()["seed"] == 2**64 - 1
        assert name not in [each["id"] for each in client.get("/api/runs", params={"before": name}).json()]
        assert client.get("/api/runs", params={"before": "zzz"}).status_code == 422


def test_progress_is_told_until_the_end(server: Server) -> None:
    with server.client as client:
        name = started(client, SECONDS)
        with connect(f"{server.sockets}/api/runs/{name}/progress") as socket:
            heard = [json.loads(message) for message in socket]
        assert heard[-1]["state"] == "done"
        assert any(each.get("progress", {}).get("simulated_s", 0) > 0 for each in heard[:-1])
        times = [each["progress"]["simulated_s"] for each in heard if "progress" in each]
        assert times == sorted(times)


def test_a_run_can_be_ended_and_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path, "--runs", "1") as server, server.client as client:
        going, waiting = started(client, LONG), started(client, LONG)
        while client.get(f"/api/runs/{going}").json()["state"] != "running":
            time.sleep(0.02)
        assert client.get(f"/api/runs/{waiting}").json()["state"] == "waiting"
        for name in (waiting, going):
            assert client.delete(f"/api/runs/{name}").status_code == 204
            assert until_over(client, name)["state"] == "cancelled"
        # Its turn goes to the next.
        after = started(client, RIG)
        assert until_over(client, after)["state"] == "done"
        assert [path.name for path in tmp_path.iterdir()] == [after]
        assert client.delete(f"/api/runs/{after}").status_code == 204
        assert client.get(f"/api/runs/{after}").status_code == 404
        assert list(tmp_path.iterdir()) == []


def test_what_failed_can_be_forgotten(server: Server) -> None:
    with server.client as client:
        failed = started(client, "[host")
        assert until_over(client, failed)["state"] == "failed"
        assert client.delete(f"/api/runs/{failed}").status_code == 204
        assert client.get(f"/api/runs/{failed}").status_code == 404
        assert client.delete(f"/api/runs/{failed}").status_code == 404
        assert failed not in [run["id"] for run in client.get("/api/runs").json()]


def test_a_damaged_run_hides_no_other(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client as client:
        names = [started(client, RIG, time_limit="20 us") for _ in range(3)]
        for name in names:
            assert until_over(client, name)["state"] == "done"
        (tmp_path / names[0] / "manifest.json").write_text("{")
        (tmp_path / names[1] / "flows.parquet").write_bytes(b"PAR1 and nothing more PAR1")
        answer = client.get("/api/flows")
        assert answer.status_code == 200, answer.text
        assert {row["run"] for row in answer.json()} == {names[2]}
        assert {row["title"] for row in answer.json()} == {"A card that writes"}
        assert client.get("/api/flows", params={"title": "no such"}).json() == []
        (tmp_path / names[2] / "results.json").unlink()
        assert client.get(f"/api/runs/{names[2]}/results").status_code == 404


def test_progress_of_a_kept_run_is_its_state(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client as client:
        done = started(client, RIG, time_limit="20 us")
        until_over(client, done)
    with served(tmp_path) as server, connect(f"{server.sockets}/api/runs/{done}/progress") as socket:
        assert [json.loads(message)["state"] for message in socket] == ["done"]


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with served(tmp_path, "--run-minutes", "0.1") as server, server.client as client:
        state = until_over(client, started(client, LONG))
        assert state["state"] == "failed"
        assert "after 6 s" in str(state["error"])
        assert until_over(client, started(client, RIG, time_limit="20 us"))["state"] == "done"


def test_a_killed_server_leaves_whole_runs_alone(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client as client:
        done = started(client, RIG)
        until_over(client, done)
        going = started(client, LONG)
        while client.get(f"/api/runs/{going}").json().get("progress") is None:
            time.sleep(0.02)
        server.kill()
    # As if it had been killed while it wrote.
    half = tmp_path / half_name(going).replace(f"-{os.getpid()}-", "-999999999-")
    half.mkdir()
    with served(tmp_path) as server, server.client as client:
        assert [run["id"] for run in client.get("/api/runs").json()] == [done]
        assert client.get(f"/api/runs/{done}").json()["state"] == "done"
        assert client.get(f"/api/runs/{going}").status_code == 404
    assert not half.exists()
    assert [path.name for path in tmp_path.iterdir()] == [done]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_killed_server_takes_its_processes_along(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client as client:
        going = started(client, LONG)
        with connect(f"{server.sockets}/api/simulator") as page:
            page.send(json.dumps({"id": 1, "verb": "run", "given": [LONG]}))
            while client.get(f"/api/runs/{going}").json().get("progress") is None:
                time.sleep(0.02)
            task = Path(f"/proc/{server.process.pid}/task/{server.process.pid}")
            workers = [Path("/proc") / pid for pid in (task / "children").read_text().split()]
            assert len(workers) == 2
            # The page's process has begun its run.
            time.sleep(0.5)
            server.kill()
    until = time.monotonic() + 5
    while any(_is_alive(worker) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def _is_alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_failed_run_wrote_is_removed(tmp_path: Path) -> None:
    async def failed() -> tuple[Run, str]:
        runs = Runs(tmp_path, Limits(runs_at_once=1, run_seconds=0.5))
        run, unbegun = (runs.submit({"scenario": LONG, "overrides": {}}) for _ in range(2))
        # Cancelled before its task took a step.
        await runs.cancel(unbegun)
        half = half_name(run.id).replace(f"-{os.getpid()}-", "-999999999-")
        for name in (half, run.id):
            (tmp_path / name).mkdir()
        assert run.task is not None
        await run.task
        await runs.end()
        return run, unbegun.state

    run, state = asyncio.run(failed())
    assert (run.state, state) == ("failed", "cancelled")
    assert run.job == {}
    assert list(tmp_path.iterdir()) == []


def test_few_may_wait_to_read() -> None:
    async def refused() -> JobError:
        pool = Pool(1, 4 << 30, most_waiting=1)

        async def one() -> None:
            async with pool.worker():
                await asyncio.sleep(60)

        others = [asyncio.create_task(one()) for _ in range(2)]
        await asyncio.sleep(0.01)
        try:
            async with pool.worker():
                raise AssertionError("it waited, and had its turn")
        except JobError as error:
            return error
        finally:
            for each in others:
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await pool.end()

    assert asyncio.run(refused()).document["errors"][0]["code"] == "busy"  # type: ignore[index]


def test_a_mistake_of_ours_is_told_as_one() -> None:
    document = error_document(3, "internal error: KeyError: 'x'", KeyError("x"))
    assert document["errors"][0]["code"] == "internal"  # type: ignore[index]


def test_mistakes_are_those_of_the_command_line(server: Server) -> None:
    with server.client as client:
        wrong = client.post("/api/check", json={"scenario": RIG.replace("x8", "x7")}).json()
        assert wrong["errors"][0]["line"] == 4
        failed = until_over(client, started(client, RIG.replace("x8", "x7")))
        assert failed["error"] == {"format": 1, "status": 2, "errors": wrong["errors"]}
        assert client.post("/api/explain", json={"scenario": "[host"}).status_code == 422
        for body, said in (
            ({"scenario": RIG, "seeds": 2}, "seeds"),
            ({"scenario": RIG, "seed": -1}, "seed"),
            ({"scenario": RIG, "seed": 2**64}, "seed"),
            ({"scenario": RIG, "seed": True}, "seed"),
            ({}, "scenario"),
            ({"scenario": RIG, "overrides": {"nic.mps": "1" * 1001}}, "overrides"),
            ({"scenario": RIG, "overrides": dict.fromkeys(map(str, range(1001)), 1)}, "overrides"),
        ):
            answer = client.post("/api/runs", json=body)
            assert answer.status_code == 422
            assert said in message_of(answer)
        assert client.get("/api/runs/20260101T000000-00000000").status_code == 404
        assert "nothing at" in message_of(client.get("/nowhere"))


def test_a_scenario_names_no_file(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret.toml"
    secret.write_text(RIG)
    with server.client as client:
        state = until_over(client, started(client, str(secret)))
    assert state["state"] == "failed"
    assert state["title"] is None
    assert "gen3" not in json.dumps(state)


@pytest.mark.parametrize("chunked", [False, True])
def test_what_is_too_long_is_refused(server: Server, chunked: bool) -> None:
    block = b"x" * (1 << 20)

    def blocks() -> object:
        yield from [block] * 65

    with server.client as client:
        content = blocks() if chunked else block * 65
        answer = client.post("/api/machines/scan", content=content)  # type: ignore[arg-type]
        assert answer.status_code == 413, answer.text
        assert client.get("/api/status").status_code == 200


def test_fifty_clients_lose_nothing(tmp_path: Path) -> None:
    """Each starts a run, and asks how far it is until it is done; what those questions took is printed."""
    took: list[float] = []

    async def one(address: str, seed: int) -> str:
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            run = {"scenario": RIG, "seed": seed, "time_limit": "100 us"}
            name = str((await client.post("/api/runs", json=run)).json()["id"])
            while True:
                start = time.perf_counter()
                state = (await client.get(f"/api/runs/{name}")).json()["state"]
                took.append(time.perf_counter() - start)
                if state == "done":
                    break
                assert state in ("waiting", "running")
                await asyncio.sleep(0.1)
            return str((await client.get(f"/api/runs/{name}/results")).json()["seed"])

    async def all_of_them(address: str) -> list[str]:
        return await asyncio.gather(*(one(address, seed) for seed in range(50)))

    with served(tmp_path) as server:
        assert sorted(map(int, asyncio.run(all_of_them(server.address)))) == list(range(50))
        with server.client as client:
            assert len(client.get("/api/runs").json()) == 50
    took.sort()
    median, p99 = (took[len(took) * part // 100] * 1e3 for part in (50, 99))
    print(f"{len(took)} small requests: median {median:.1f} ms, p99 {p99:.1f} ms")
