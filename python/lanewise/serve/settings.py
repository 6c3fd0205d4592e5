"""What may be set when serving: where, for whom, and the limits on what is asked."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

LEAST_TOKEN = 16
"""Characters that a token has at least: 96 bits where they are drawn as base64. Assumed."""

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,1024}")
"""What is allowed as a bearer token (RFC 6750, section 2.1) is allowed in a cookie, too."""

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8765
"""Not registered with IANA for a service that is in use. Assumed."""


@dataclass(frozen=True)
class Limits:
    """How much is done at once, and for how long; everything beyond is refused or ended, and said."""

    runs_at_once: int = field(default_factory=lambda: max(1, os.cpu_count() or 1))
    """Runs that go on at the same time, each in a process."""
    waiting_runs: int = 100
    """Runs that may wait for their turn."""
    kept_runs: int = 10_000
    """Runs that are kept; no other is begun until some are removed."""
    waiting_requests: int = 50
    """Requests to read a scenario or a machine that may wait for their turn."""
    run_seconds: float = 600.0
    """Real time that a run may take, s."""
    request_seconds: float = 60.0
    """Real time that any other request may take, s."""
    memory_bytes: int = 4 << 30
    """Address space of each process that works, B."""
    upload_bytes: int = 64 << 20
    """Length of what is sent with one request, B."""
    pages: int = 8
    """Pages that have a simulator of their own at the same time."""
    idle_seconds: float = 900.0
    """Real time after which a page that asks nothing loses its simulator, s."""


@dataclass(frozen=True)
class Settings:
    """Where it listens, who may ask, and where runs are kept."""

    folder: Path
    """Runs are kept here, one folder each."""
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    token: str | None = None
    """Every request must carry it; None is allowed on loopback only."""
    page: Path | None = None
    """Folder with the built lab; none where it was not built."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Raise InputError for an address that others reach without a token."""
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"'{self.host}' can be reached by others, so a token is needed; write one of at least "
                f"{LEAST_TOKEN} characters to a file and name it with --token-file"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """Read a token from a file: one line of visible ASCII. InputError says what is wrong with it."""
    try:
        text = path.read_bytes()[:4097].decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"the token in '{path}' is not ASCII") from error
    if len(text) < LEAST_TOKEN:
        raise InputError(f"the token in '{path}' has {len(text)} characters; it needs at least {LEAST_TOKEN}")
    if not _TOKEN.fullmatch(text):
        raise InputError(
            f"the token in '{path}' is not one word of at most 1024 letters, digits and any of . _ ~ + / = -"
        )
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise InputError(f"other users can read '{path}'; keep the token secret with 'chmod 600 {path}'")
    return text
