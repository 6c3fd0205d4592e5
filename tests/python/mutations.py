"""Damages the dumps and outputs that are shipped, and looks at what the readers make of it.

    python tests/python/mutations.py --seconds 300 --seed 1

Pieces are cut out, doubled, swapped and spliced between kinds, bytes and numbers are replaced. Every input is
either read, or refused with `InputError`; anything else, and what takes far too long, is printed with the
seed that makes it again.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.health.judge import judge
from lanewise.health.judge.detect import decoded, parse_measurement
from lanewise.machine import read, read_bytes
from lanewise.machine.json_form import to_json
from lanewise.machine.model import Machine

HERE = Path(__file__).parent
DUMPS = HERE / "machine" / "dumps"
LONGEST_S = 20.0
"""Of processor time for an input of some hundred KiB; they take a second at most on a quiet machine."""
_NUMBERS = (b"0", b"-1", b"9" * 40, b"1e999", b"NaN", b"0x" + b"f" * 40, b"4294967295", b"\xd9\xa3", b"1.1.1")
_BYTES = (
    b"\0",
    b"\xff",
    b"\x1b[2J",
    b"\r",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae",
    b"<",
    b'"',
    b"{",
    b"\\",
    b"=\n",
)
_DIGITS = re.compile(rb"\d+")


@cache
def material() -> tuple[bytes, ...]:
    """Return what is damaged: our dumps, and outputs of tools."""
    files = sorted((*DUMPS.iterdir(), *(HERE / "captured").glob("*.*")))
    return tuple(path.read_bytes() for path in files if path.is_file())


@cache
def machine() -> Machine:
    """Return the machine that outputs are set beside."""
    return read(DUMPS / "qemu.vvv")


def mutated(seed: int) -> bytes:
    """Return the damaged input of a seed."""
    chance = random.Random(seed)
    data = chance.choice(material())
    packed = data[:2] == b"\x1f\x8b"
    if packed and chance.random() < 0.7:
        data = gzip.decompress(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        data = chance.choice(_WAYS)(data, chance)[: 1 << 20]
    return gzip.compress(data) if packed and chance.random() < 0.5 else data


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _without(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.choice((1, 10, 1000)) :]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [data]
    at = chance.randrange(len(lines))
    piece = lines[at : at + chance.choice((1, 3, 30))]
    return b"".join(lines[:at] + piece * chance.choice((2, 5, 200)) + lines[at:])


def _shuffled(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines) + 1)
    piece = lines[at : at + 40]
    chance.shuffle(piece)
    return b"".join(lines[:at] + piece + lines[at + 40 :])


def _spliced(data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(material())
    if other[:2] == b"\x1f\x8b":
        other = gzip.decompress(other)
    start, at = chance.randrange(len(other) + 1), chance.randrange(len(data) + 1)
    return data[:at] + other[start : start + chance.choice((100, 5000, 1 << 20))] + data[at:]


def _odd_byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_BYTES) * chance.choice((1, 1, 50)) + data[at + 1 :]


def _odd_number(data: bytes, chance: random.Random) -> bytes:
    found = list(_DIGITS.finditer(data, 0, 1 << 18))
    if not found:
        return data
    match = chance.choice(found)
    return data[: match.start()] + chance.choice(_NUMBERS) + data[match.end() :]


def _prefixed(data: bytes, chance: random.Random) -> bytes:
    mark = chance.choice((b"> ", b"+", b"-", b"[    1.000000] ", b" 0: ", b"\t", b"| "))
    return b"".join(mark + line for line in data.splitlines(keepends=True))


_WAYS = (_cut, _without, _doubled, _shuffled, _spliced, _odd_byte, _odd_number, _odd_number, _prefixed)


def look_at(data: bytes) -> None:
    """Do with an input what the verbs do; raises what they should not."""
    with suppress(InputError):
        found = read_bytes(data)
        str(to_json(found))
        diagnose(found, cost=False)
    with suppress(InputError):
        judge(parse_measurement(decoded(data, "-")), machine())


def failures(seeds: Iterator[int], seconds: float) -> Iterator[str]:
    """Go through inputs for some time; yield what went wrong."""
    end = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > end:
            return
        data, start = mutated(seed), time.process_time()
        try:
            look_at(data)
        except Exception:
            yield f"seed {seed}: {traceback.format_exc()}"
        took = time.process_time() - start
        if took > LONGEST_S:
            yield f"seed {seed}: {took:.1f} s for {len(data):,} B"


def main() -> None:
    """Look for inputs that are neither read nor refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    count = 0

    def seeds() -> Iterator[int]:
        nonlocal count
        while True:
            yield given.seed + count
            count += 1

    wrong = 0
    for failure in failures(seeds(), given.seconds):
        print(failure, flush=True)
        wrong += 1
    print(f"{count:,} inputs, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
