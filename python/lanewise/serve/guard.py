"""Which requests are accepted, and how long they may be: this sees each before anything else does.

A page of another site may send requests to this machine's loopback, and a name of its own may lead there. So
the host that a request names is one of ours, and so is the origin that a browser says. Where there is a
token, each request has it: as ``Authorization: Bearer``, or as a cookie that the page with ``?token=`` sets.
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.exceptions import HTTPException

from lanewise.serve.settings import is_loopback
from lanewise.serve.workers import JobError, failure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lanewise.serve.settings import Settings

_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src 'self' blob: data:; "
        b"style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
        b"frame-ancestors 'none'",
    ),
]
"""Nothing from elsewhere is loaded, nothing is sent elsewhere, and no other page may frame this one."""


class Guard:
    """Refuses what may not pass, and gives every answer the headers of `_HEADERS`."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stand before an application."""
        self._app = app
        self._settings = settings
        # Browsers send a cookie to every port of a host (RFC 6265, section 8.5): so it is not the token, and
        # its name has the port, or another server of this host would take its place.
        self._cookie = secrets.token_urlsafe(24)
        self._cookie_name = f"lanewise_{settings.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        if self._sets_cookie(scope):
            await self._to_page(send)
            return
        answer = _Answer(send)
        try:
            await self._app(scope, self._limited(receive), answer.send)
        except Exception as error:
            if scope["type"] == "http" and not answer.has_begun:
                said = failure(3, "internal", f"{type(error).__name__}: {error}")
                await _send_error(send, 500, said)
            # Uvicorn writes it to its log.
            raise

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        """Return status, code and words for what may not pass."""
        host = headers.get("host", "")
        if self._settings.token is None and not is_loopback(_name_of(host)):
            return 421, "wrong-host", f"this server is not called '{host}'"
        origin = headers.get("origin")
        if origin is not None and _place_of(origin) != host:
            return 403, "wrong-origin", f"pages from '{origin}' may not ask here"
        if self._settings.token is not None and not self._has_token(scope, headers):
            return (
                401,
                "no-token",
                "this needs the token; open the page with '?token=…', or send 'Authorization: Bearer …'",
            )
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._settings.limits.upload_bytes:
            return 413, "too-long", f"at most {self._settings.limits.upload_bytes} B may be sent at once"
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        said = [bearer] if kind.lower() == "bearer" else []
        said += _asked_tokens(scope)
        return _is_any(said, self._settings.token or "") or _is_any(
            _cookies(headers, self._cookie_name), self._cookie
        )

    def _sets_cookie(self, scope: Scope) -> bool:
        return self._settings.token is not None and scope["type"] == "http" and bool(_asked_tokens(scope))

    async def _to_page(self, send: Send) -> None:
        """Have the browser keep what stands for the token, and leave it out of the address."""
        cookie = f"{self._cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        headers = [
            (b"location", b"/"),
            (b"set-cookie", cookie.encode()),
            (b"content-length", b"0"),
            *_HEADERS,
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _limited(self, receive: Receive) -> Receive:
        """Count what is sent: a request need not say how long it is."""
        left = self._settings.limits.upload_bytes

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                if left < 0:
                    # As HTTP says it: FastAPI lets nothing else through while it reads a body.
                    raise HTTPException(413, "more was sent than is allowed here")
            return message

        return counted


def _name_of(host: str) -> str:
    """Return the name or address in a `Host` header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _place_of(origin: str) -> str | None:
    """Return name and port in an `Origin` header; None for what is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_any(said: list[str], expected: str) -> bool:
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in said)


def _cookies(headers: dict[str, str], ours: str) -> list[str]:
    """Return the values of our cookie; those of other servers of this host may look like anything."""
    pairs = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
    return [value for name, _, value in pairs if name == ours]


def _asked_tokens(scope: Scope) -> list[str]:
    """Return the tokens in the address: of the page alone, for addresses are written down in many places."""
    if scope["path"] != "/":
        return []
    return parse_qs(scope["query_string"].decode("latin-1")).get("token", [])


class _Answer:
    """Gives an answer the headers of `_HEADERS`, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await self._send(message)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, code: str, message: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": message[:120]})
        return
    await _send_error(send, status, failure(2, code, message))


async def _send_error(send: Send, status: int, error: JobError) -> None:
    body = json.dumps(error.document, ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *([(b"www-authenticate", b"Bearer")] if status == 401 else []),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
