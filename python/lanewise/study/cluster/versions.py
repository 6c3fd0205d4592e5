"""Whether a node has what this study has: points give the same bits only where the same core runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ClusterError(InputError):
    """A cluster cannot be used: it is not there, has another Ray or Lanewise, or has no node left."""


def check_versions(found: Mapping[str, str | None], address: str) -> None:
    """Raise ClusterError unless a node, of which `found` says what it has, has what is here."""
    import ray

    from lanewise import __version__
    from lanewise.runs.cache import core_hash

    node = f"node {found['node']} ({address})"
    if found["ray"] != ray.__version__:
        raise ClusterError(
            f"{node} has Ray {found['ray']}, and here is {ray.__version__}: install the same version on both"
        )
    if found["lanewise"] is None:
        raise ClusterError(
            f"{node} has no Lanewise: install {__version__}, from the wheel that is installed here "
            f"({found['error']})"
        )
    if found["lanewise"] != __version__:
        raise ClusterError(
            f"{node} has Lanewise {found['lanewise']}, and here is {__version__}: "
            "install the same wheel on both"
        )
    if found["core"] != core_hash():
        why = f" ({found['error']})" if found["error"] else ""
        raise ClusterError(
            f"{node} has Lanewise {__version__} with another build of the simulator{why}, whose results may "
            "differ: install the same wheel on both"
        )
