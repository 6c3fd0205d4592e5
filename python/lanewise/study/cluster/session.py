"""The cluster that a study runs on: found at an address, or started on this machine; let go of at the end."""

from __future__ import annotations

import importlib
import logging
import os
import re
import secrets
import shutil
import socket
import tempfile
import warnings
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lanewise.study.cluster.versions import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

OBJECT_STORE_BYTES = 100 << 20
"""Of a cluster on this machine. Points and outcomes go through it by kilobytes; Ray wants at least 75 MiB."""

_ENVIRONMENT = {
    # Nothing about this machine goes elsewhere.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # No copy of the current folder for the nodes, however Lanewise was started.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # A small /dev/shm, as containers have it, is a warning in a terminal otherwise.
    "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE": "1",
}
"""While Ray is imported and started."""


def _environment_of_this_machine() -> dict[str, str]:
    """Return what holds, beside that, for a cluster on this machine."""
    return {
        # It would end the host with all that it runs; the system ends the process that has most.
        "RAY_memory_monitor_refresh_ms": "0",
        # Nothing but the host runs on it; workers in store would take a second of a processor each.
        "RAY_enable_worker_prestart": "0",
        "RAY_prestart_worker_first_driver": "0",
        # Of this process alone: Ray would write one into the home of the user, for all clusters that come.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": _TOKEN,
    }


_ANSWERS_WITHIN_S = 5.0
"""Before Ray is asked to connect, which says much and takes long where nothing listens. Assumed: much longer
than a connection takes anywhere."""

_NO_SERVER = ("Starting Ray client server failed", "Initialization failure from server")
"""Ray's words where the server of a client ended before it listened, as happens on a machine with much to do:
its process is gone, or is looked at as it goes."""

_CONNECTS = 3
"""How often Ray is asked to start such a server."""

_TOKEN = secrets.token_hex(32)
"""Who has it may use the clusters that this process starts. One for all of them: Ray reads it once."""

_ADDRESS = re.compile(r"(?:ray://)?(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")


def connect(address: str, processes: int | None = None) -> Callable[[], None]:
    """Connect to a cluster; return what lets go of it.

    `address` is "local" for one on this machine, of so many cores, started now; "auto" for one that runs on
    this machine or that RAY_ADDRESS names; "ray://HOST:PORT" for one whose client server listens there;
    "HOST:PORT" for one that this machine is a node of. A connection that the program has made already is
    used, and kept.

    Raises MissingPackageError without Ray, and ClusterError for a cluster that is not there or has another
    Ray.
    """
    from lanewise.extras import need

    where = _checked(address)
    need("cluster", "--ray")
    with _quiet(_ENVIRONMENT | (_environment_of_this_machine() if address == "local" else {})):
        import ray

        if ray.is_initialized():
            return lambda: None
        if where is not None:
            _reach(*where, address)
        with ExitStack() as stack:
            settings: dict[str, Any] = {
                "address": address,
                "logging_level": logging.CRITICAL,
                "log_to_driver": False,
            }
            if address == "local":
                settings |= _of_this_machine(processes, stack.enter_context(_short_folder()))
                _read_again()
                stack.callback(_without_token)
            stack.callback(_shut_down)
            stack.enter_context(_without_words_of_nodes())
            _init(address, settings)
            return stack.pop_all().close


def head_address() -> tuple[str, int] | None:
    """Return where the head of the cluster listens that this process is connected to.

    None where it need not be reached from here: clients speak to a server of theirs.
    """
    import ray

    with suppress(Exception):
        from ray.util.client import ray as client

        if client.is_connected():
            return None
    with suppress(Exception):
        found = _ADDRESS.fullmatch(ray.get_runtime_context().gcs_address)
        if found is not None:
            return found["host"].strip("[]"), int(found["port"])
    return None


def answers(host: str, port: int) -> bool:
    """Whether something listens at an address."""
    try:
        socket.create_connection((host, port), timeout=_ANSWERS_WITHIN_S).close()
    except OSError:
        return False
    return True


def _init(address: str, settings: Mapping[str, Any]) -> None:
    """Let Ray connect; again where the server that it starts for a client did not come up."""
    import ray

    for left in reversed(range(_CONNECTS)):
        try:
            ray.init(**settings)
            return
        except (ConnectionError, RuntimeError, TimeoutError, ValueError, OSError) as error:
            if not left or not any(words in str(error) for words in _NO_SERVER):
                raise ClusterError(_said(address, error)) from error


def _checked(address: str) -> tuple[str, int] | None:
    """Return host and port of an address, if it has them."""
    if address in ("local", "auto"):
        return None
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise ClusterError(
            f"'{address}' is not an address of a Ray cluster: write ray://HOST:10001, HOST:6379 on one "
            "of its "
            "nodes, 'auto' for the one that runs here, or 'local' to start one"
        )
    return match["host"].strip("[]"), int(match["port"])


def _reach(host: str, port: int, address: str) -> None:
    try:
        socket.create_connection((host, port), timeout=_ANSWERS_WITHIN_S).close()
    except OSError as error:
        raise ClusterError(f"nothing answers at '{address}': {error.strerror or error}") from error


def _of_this_machine(processes: int | None, folder: str) -> dict[str, object]:
    return {
        "num_cpus": processes or os.cpu_count() or 1,
        "num_gpus": 0,
        "_node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE_BYTES,
        "_temp_dir": folder,
    }


@contextmanager
def _short_folder() -> Iterator[str]:
    """Make a folder for Ray's sockets and logs. The names of sockets have 107 bytes at most."""
    folder = tempfile.mkdtemp(prefix="lanewise-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read_again() -> None:
    """Let Ray read the environment, which it does once, so that another cluster may have another one."""
    with suppress(ImportError, AttributeError):
        raylet: Any = importlib.import_module("ray._raylet")
        raylet.Config.initialize("")
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _without_token() -> None:
    """Have no token for the next cluster, unless a person has one."""
    with _quiet({"RAY_AUTH_MODE": "disabled"}):
        _read_again()


def _shut_down() -> None:
    import ray

    with suppress(Exception), _quiet({}):
        ray.shutdown()


@contextmanager
def _without_words_of_nodes() -> Iterator[None]:
    """Keep what nodes say off standard output.

    Ray prints the log of a node that dies there, whatever `log_to_driver` says, and has no setting for it.
    """
    from ray._private import worker

    printed = getattr(worker, "print_to_stdstream", None)
    if printed is None:
        yield
        return
    worker.print_to_stdstream = lambda *_, **__: None
    try:
        yield
    finally:
        worker.print_to_stdstream = printed


def _said(address: str, error: Exception) -> str:
    text = str(error)
    if "ersion mismatch" in text or "versions" in text:
        return f"the cluster at '{address}' has another Ray or Python: {' '.join(text.split())}"
    if address == "auto":
        return "no Ray cluster runs on this machine: start one with `ray start --head`, or write --ray local"
    return f"Ray cannot connect to '{address}': {' '.join(text.split())}"


@contextmanager
def _quiet(environment: dict[str, str]) -> Iterator[None]:
    """Set variables, where a person has not, and let no warning out."""
    unset = [name for name in environment if name not in os.environ]
    os.environ.update({name: environment[name] for name in unset})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in unset:
            os.environ.pop(name, None)
