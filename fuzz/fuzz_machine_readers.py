"""Feeds damaged dumps to every reader of machines: ``fuzz_machine_readers.py [SECONDS] [FOLDER...]``.

Takes the dumps in ``tests/python/machine/dumps`` and in the folders named, cuts, overwrites, swaps, repeats
and splices them, puts strange numbers in, wraps some, and looks at what comes out. Anything but a machine or
an `InputError` within ten seconds of processor time is written into the current folder with its seed, and
ends the run with status 1.
"""

from __future__ import annotations

import gzip
import html
import io
import json
import random
import re
import sys
import time
import traceback
import zipfile
from pathlib import Path

from lanewise.errors import InputError
from lanewise.machine import read_bytes
from lanewise.machine.json_form import to_json
from lanewise.machine.scenario import scan_to_scenario

OWN = Path(__file__).parents[1] / "tests/python/machine/dumps"
SLOW_S = 10.0
MOST_BYTES = 400_000
NUMBER = re.compile(rb"[0-9]+")
STRANGE_NUMBERS = ("²".encode(), b"9" * 5000, b"1.1", b".", b"-1", b"0x" + b"f" * 5000, b"", "٣".encode())


def damaged(dumps: list[bytes], chance: random.Random) -> bytes:
    """Return a damaged dump."""
    data = bytearray(chance.choice(dumps))
    start = chance.randrange(max(1, len(data) - 1000))
    data = data[start if chance.random() < 0.5 else 0 :][: chance.randrange(1, MOST_BYTES)]
    for _ in range(chance.choice((0, 1, 10, 200))):
        if data:
            how, at = chance.randrange(6), chance.randrange(len(data))
            if how == 0:
                data[at] = chance.randrange(256)
            elif how == 1:
                data[at : at + chance.randrange(40)] = b""
            elif how == 2:
                other = chance.choice(dumps)
                data[at:at] = other[(cut := chance.randrange(len(other))) : cut + chance.randrange(2000)]
            elif how == 3:
                data[at:at] = data[at : at + chance.randrange(400)] * chance.randrange(1, 4)
            elif how == 4:
                data[at : at + 8] = b"%x" % chance.getrandbits(32)
            elif number := NUMBER.search(data, at):
                data[number.start() : number.end()] = chance.choice(STRANGE_NUMBERS)
    return wrapped(bytes(data), chance) if chance.random() < 0.1 else bytes(data)


def wrapped(data: bytes, chance: random.Random) -> bytes:
    """Return what happens to dumps on their way: packed, on a web page, in JSON, behind something."""
    text = data.decode("latin-1")
    how = chance.randrange(6)
    if how == 0:
        return gzip.compress(data, 1)
    if how == 1:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("report/lspci.txt", data)
        packed = bytearray(file.getvalue())
        packed[chance.randrange(len(packed))] ^= chance.choice((0, 0, 255))
        return bytes(packed)
    if how == 2:
        return f"<html><pre>{html.escape(text)}</pre>".encode("utf-8", "replace")
    if how == 3:
        return json.dumps({"stdout": text}).encode()
    if how == 4:
        return "\n".join(f"{n:5d}: {line}" for n, line in enumerate(text.split("\n"))).encode()
    return text.encode("utf-16-le")


def look_at(data: bytes) -> None:
    """Read, and use what was read."""
    try:
        machine = read_bytes(data)
        json.dumps(to_json(machine))
        for function in machine:
            machine.path(function)
        scan_to_scenario(machine)
    except InputError:
        return


def main(arguments: list[str]) -> int:
    """Run until the time is up or something goes wrong."""
    seconds = float(arguments[0]) if arguments else 60.0
    folders = [OWN, *(Path(name) for name in arguments[1:])]
    dumps = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        dumps.append(data)
        if data[:2] == b"\x1f\x8b":
            dumps.append(gzip.decompress(data))
    end, seed = time.monotonic() + seconds, int(time.time())
    count = 0
    while time.monotonic() < end:
        seed += 1
        data = damaged(dumps, random.Random(seed))
        start = time.process_time()
        try:
            look_at(data)
            problem = "slow" if time.process_time() - start > SLOW_S else ""
        except Exception:
            problem = traceback.format_exc()
        if problem:
            Path(f"fuzz-{seed}.bin").write_bytes(data)
            print(f"seed {seed}: {problem}", file=sys.stderr)
            return 1
        count += 1
    print(f"{count} damaged dumps in {seconds:g} s, all read or refused")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
