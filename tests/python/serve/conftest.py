from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("runs"), "--runs", "2") as server:
        yield server
