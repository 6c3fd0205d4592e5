"""The loader's own tests, and how large the module is."""

from __future__ import annotations

import gzip
import os

import pytest
from in_node import HERE, MODULE, node


def test_the_loader() -> None:
    done = node().run("--test", "--test-reporter=tap", str(HERE / "loader.test.mjs"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout


@pytest.mark.skipif("LANEWISE_WASM" not in os.environ, reason="only what `make wasm` optimised has its size")
def test_the_module_is_small() -> None:
    module = MODULE.read_bytes()
    assert len(module) <= 2_500_000
    assert len(gzip.compress(module, 9)) <= 900_000


def test_the_module_names_no_folder_of_the_machine_it_was_built_on() -> None:
    node()
    home = os.path.expanduser("~")
    module = MODULE.read_bytes()
    assert os.fsencode(home + "/.cargo") not in module
    assert os.fsencode(str(HERE.parents[1])) not in module
