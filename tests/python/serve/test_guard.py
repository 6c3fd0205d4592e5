"""Which requests are accepted: of this machine, with pages of its own, or with the token."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import jsonschema
import pytest
from serving import COMMAND, Server, message_of, served
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from lanewise.serve.app import application
from lanewise.serve.history import History
from lanewise.serve.settings import Limits, Settings

ROOT = Path(__file__).parents[3]
TOKEN = "a-word-of-some-length"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


def test_a_name_that_leads_here_is_refused(server: Server) -> None:
    with server.client as client:
        assert client.get("/api/status", headers={"Host": "evil.example:80"}).status_code == 421
        assert client.get("/api/status", headers={"Host": "localhost"}).status_code == 200


def test_pages_from_elsewhere_are_refused(server: Server) -> None:
    with server.client as client:
        refused = client.post("/api/runs", json={"scenario": ""}, headers={"Origin": "https://evil.example"})
        assert refused.status_code == 403
        assert "evil.example" in message_of(refused)
        damaged = client.get("/api/status", headers={"Origin": "http://["})
        assert (damaged.status_code, message_of(damaged)) == (403, "pages from 'http://[' may not ask here")
        assert client.get("/api/status", headers={"Origin": server.address}).status_code == 200
    with (
        pytest.raises(WebSocketException),
        connect(f"{server.sockets}/api/simulator", origin="https://evil.example"),
    ):  # type: ignore[arg-type]
        pass


def test_answers_load_nothing_from_elsewhere(server: Server) -> None:
    with server.client as client:
        for page in ("/", "/api"):
            answer = client.get(page)
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert "https://" not in answer.text.replace("http://www.w3.org", "")
        for path in client.get("/api/openapi.json").json()["paths"]:
            assert path in client.get("/api").text


def test_with_a_token_everyone_says_it(tmp_path: Path, token_file: Path) -> None:
    with served(tmp_path / "runs", "--token-file", str(token_file)) as server, server.client as client:
        refused = client.get("/api/status")
        assert refused.status_code == 401
        assert TOKEN not in refused.text
        assert client.get("/api/status", headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 401
        assert client.get("/api/status", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert client.get("/api/status", params={"token": TOKEN}).status_code == 401
        with pytest.raises(WebSocketException), connect(f"{server.sockets}/api/simulator"):
            pass
        # The page keeps it, and it leaves the address.
        page = client.get("/", params={"token": TOKEN})
        assert (page.status_code, page.headers["location"]) == (303, "/")
        assert client.get("/api/status").status_code == 200
        cookie = page.headers["set-cookie"].partition(";")[0]
        # It is not the token, and holds beside whatever else was set for this host.
        assert TOKEN not in cookie
        both = {"Cookie": f'other={{"a b"}}; {cookie}; [x]=1'}
        assert httpx.get(f"{server.address}/api/status", headers=both).status_code == 200
        wrong = {"Cookie": f"{cookie}x"}
        assert httpx.get(f"{server.address}/api/status", headers=wrong).status_code == 401
        with connect(f"{server.sockets}/api/simulator", additional_headers={"Cookie": cookie}) as link:
            link.send('{"id": 1, "verb": "version", "given": []}')
            assert '"answer"' in str(link.recv())


def test_two_servers_of_one_host_keep_their_pages_apart(tmp_path: Path, token_file: Path) -> None:
    """A browser sends the cookies of both to either, for cookies know no ports."""
    options = ("--token-file", str(token_file))
    browser = httpx.Cookies()
    with served(tmp_path / "a", *options) as one, served(tmp_path / "b", *options) as two:
        for server in (one, two):
            page = httpx.get(f"{server.address}/", params={"token": TOKEN})
            name, _, value = page.headers["set-cookie"].partition(";")[0].partition("=")
            browser.set(name, value, domain="127.0.0.1")
        sent = {"Cookie": "; ".join(f"{each.name}={each.value}" for each in browser.jar)}
        for server in (one, two):
            assert httpx.get(f"{server.address}/api/status", headers=sent).status_code == 200


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("short", 0o600, "5 characters"),
        ("two words of a token", 0o600, "one word"),
        (TOKEN, 0o644, "other users can read"),
        ("ein-schlüssel-mit-länge", 0o600, "not ASCII"),
    ],
)
def test_a_weak_token_is_refused(tmp_path: Path, text: str, mode: int, said: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    ended = _serve("--token-file", str(path), "--folder", str(tmp_path / "runs"))
    assert ended.returncode == 2
    assert said in ended.stderr


def test_others_need_a_token(tmp_path: Path) -> None:
    ended = _serve("--host", "0.0.0.0", "--folder", str(tmp_path))
    assert ended.returncode == 2
    assert "--token-file" in ended.stderr


def test_what_nobody_expected_is_told_as_all_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("unexpected")

    monkeypatch.setattr(History, "flows", broken)
    transport = httpx.ASGITransport(application(Settings(tmp_path)), raise_app_exceptions=False)

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/flows")

    answer = asyncio.run(asked())
    assert answer.status_code == 500
    assert answer.json()["status"] == 3
    assert answer.json()["errors"][0]["code"] == "internal"
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = _serve("--port", str(taken.getsockname()[1]), "--folder", str(tmp_path))
    assert ended.returncode == 2
    assert "--port 0" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_it_says_is_as_its_schema_says(tmp_path: Path) -> None:
    command = (*COMMAND, "--port", "0", "--folder", str(tmp_path), "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.readline())
        # Ctrl-C ends it well once it serves.
        assert httpx.get(f"{document['address']}api/status", timeout=30).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    schema = json.loads((ROOT / "schema/output.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, {**schema, "anyOf": [{"$ref": "#/$defs/serve"}]})
    assert document["folder"] == str(tmp_path)


def test_a_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = _serve("--port", "0", "--folder", str(tmp_path / "file" / "runs"))
    assert ended.returncode == 2
    assert "cannot keep runs" in ended.stderr


def _serve(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*COMMAND, *options), capture_output=True, text=True, timeout=60, check=False)


def test_an_interrupt_as_soon_as_it_says_its_address_ends_it_cleanly(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=20) == 0
        assert server.process.stderr is not None
        assert "Traceback" not in server.process.stderr.read()


def _with_runs(folder: Path, count: int) -> list[str]:
    import polars as pl

    names = [f"20261127T{number:06d}-0000000a" for number in range(count)]
    for name in names:
        (folder / name).mkdir()
        said = {"title": f"rig {name}", "end_reason": "Converged", "fingerprint": "f"}
        (folder / name / "manifest.json").write_text(json.dumps(said))
        pl.DataFrame({"flow": ["a", "b"], "number": [1, 2]}).write_parquet(folder / name / "flows.parquet")
    return names


def test_of_many_runs_only_the_newest_are_read(tmp_path: Path) -> None:
    names = _with_runs(tmp_path, 150)
    (tmp_path / names[140] / "flows.parquet").write_bytes(b"damaged")
    history = History(tmp_path)
    rows = history.flows(None, 5)
    assert [(row["run"], row["flow"]) for row in rows] == [
        *((name, flow) for name in (names[149], names[148]) for flow in "ab"),
        (names[147], "a"),
    ]
    assert len(history._known) == 64
    assert len(history.flows(None, 1000)) == 2 * 149
    assert [row["flow"] for row in history.flows(names[3], 1000)] == ["a", "b"]
    (tmp_path / names[3] / "manifest.json").write_text("{}")
    assert history.kept(names[3]) is None, "it is read again when it was written again"


def test_a_run_that_another_request_removes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = _with_runs(tmp_path, 1)
    history = History(tmp_path)
    place = history.place(name)
    assert history.remove(name)
    monkeypatch.setattr(History, "place", lambda *_: place)
    assert not history.remove(name)


def test_no_run_is_begun_where_too_many_are_kept(tmp_path: Path) -> None:
    _with_runs(tmp_path, 2)
    limits = Limits(kept_runs=2)
    transport = httpx.ASGITransport(application(Settings(tmp_path, limits=limits)))

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/api/runs", json={"scenario": ""})

    answer = asyncio.run(asked())
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (507, "too-many-kept")
    assert len(list(tmp_path.iterdir())) == 2
