"""A cluster of three nodes on this machine."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import pytest
from cluster_nodes import AT_NODES, Nodes, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes of one core each, beside one without cores, which drivers connect to."""
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "sitecustomize.py").write_text(AT_NODES)
    (folder / "runs").touch()
    # Neither in the home of the user, nor shared with a cluster that this machine has.
    settings = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ |= settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        cluster, port = Cluster(), free_port()
        cluster.add_node(num_cpus=0, include_dashboard=False, ray_client_server_port=port)
        environment = {"PYTHONPATH": str(folder), "LANEWISE_TEST_RUNS": str(folder / "runs")}
        found = Nodes(cluster, folder / "runs", environment, port)
        for _ in range(3):
            found.add()
    yield found
    cluster.shutdown()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
