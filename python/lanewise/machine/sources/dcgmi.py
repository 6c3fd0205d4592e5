"""`dcgmi health -c` and `dcgmi diag`: GPUs by number that NVIDIA's DCGM calls unhealthy, and why.

Tables, or JSON (``-j``). Numbers are those of the driver, which counts GPUs by address; `dcgmi discovery -l`
has the addresses. Of a diagnosis every test counts that a GPU fails, but those of the software that is
installed (``Deployment``), which say nothing of the hardware: of these only what they say of memory rows
that were retired and of the InfoROM. Passed and skipped tests are passed over. Source: NVIDIA, DCGM User
Guide 2.0 to 4.2 (Health Checks, Diagnostics), and outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import LONGEST_LINE
from lanewise.machine.sources.documents import documents_of, objects_of, text_at
from lanewise.machine.sources.numbered_health import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LOOKS_LIKE = re.compile(
    r"\|[ \t]{0,8}(?:Health Monitor Report|Overall Health\b|Group \d{1,4}[^|\n]{0,40}\|[ \t]*Overall Health"
    r"|Diagnostic[ \t]{1,40}\|[ \t]*Result)"
    r'|"DCGM (?:GPU )?Diagnostic"|"Overall Health" ?:'
)
_ROW = re.compile(r"[ \t>]{0,16}\|([^|\n]{1,80})\|([^|\n]{0,400})")
_CATEGORY = re.compile(r"-- {1,4}([A-Z][\w ]{2,24}?) {1,4}--")
_LISTED = re.compile(r"PCI Bus ID: ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7])\b")
_NAME = re.compile(r"Name: (\S.{1,60})")
_GPU_ID = re.compile(r"GPU ID: (\d{1,3})\b")
_ENTITY = re.compile(r"-> (\d{1,3})$")
_RESULT = re.compile(r"(Pass|Fail|Warn|Skip)\w{0,4}\b(?: - (?:GPUs?: ?)?(All|[\d, ]{1,400}))?", re.IGNORECASE)
_PART = re.compile(r"GPU ?(\d{1,3}): (Pass|Fail|Warn|Skip)", re.IGNORECASE)
_MESSAGE = re.compile(r"(?:Warning|Error|Info)\b")
_GPU = re.compile(r"\bGPU ?(\d{1,3})\b")
_ABOUT_HARDWARE = re.compile(r"Page Retirement|Row Remap|remap|Inforom", re.IGNORECASE)
_HEALTH = {"Healthy": "OK", "Warning": "Warning", "Failure": "Critical"}
"""Words of `health`, in those of Redfish."""
_OF_TESTS = {"pass": "OK", "fail": "Critical", "warn": "Warning"}
_NVIDIA = 0x10DE


def take(lines: Sequence[str], document: str) -> Told | None:
    """Return what a text says; None where it is no output of this tool."""
    if _LOOKS_LIKE.search("\n".join(lines)) is None and _LOOKS_LIKE.search(document) is None:
        return None
    told = Told("dcgmi", _NVIDIA, "dcgmi discovery -l")
    rows = [(row[1].strip(), row[2].strip()) for line in lines if (row := _ROW.match(line)) is not None]
    _discovered(rows, told)
    _checked(rows, told)
    _tested(lines, told)
    if '"' in document:
        for found in documents_of(document):
            _read_json(found, told)
    return told


def _discovered(rows: Sequence[tuple[str, str]], told: Told) -> None:
    """Take addresses from the list of GPUs."""
    gpu: int | None = None
    for left, right in rows:
        if left.isdigit():
            gpu = int(left) if _NAME.match(right) else None
        if gpu is not None and (listed := _LISTED.match(right)) is not None:
            told.addresses[gpu] = Address.parse(listed[1])
            told.say(gpu, None)
        elif gpu is not None and (name := _NAME.match(right)) is not None:
            told.names[gpu] = name[1].strip()


def _checked(rows: Sequence[tuple[str, str]], told: Told) -> None:
    """Take what the health checks say; a message goes on over several rows."""
    gpu: int | None = None
    of_gpus, part = False, ""
    for left, right in rows:
        entity, numbered = _ENTITY.match(left), _GPU_ID.match(left)
        if numbered is not None:
            gpu, part = int(numbered[1]), ""
        elif entity is not None:
            gpu, part = (int(entity[1]) if of_gpus else None), ""
        elif left and not left.startswith("->"):
            of_gpus, gpu = left in ("GPU", "GPUs"), None
        elif left:
            part = left.removeprefix("->").strip()
        if gpu is None or not right:
            continue
        state = _HEALTH.get(right.split(" ")[0])
        if state is not None and right in _HEALTH:
            told.say(gpu, state, "" if part in ("", "Errors") else part)
        else:
            _go_on(told, gpu, right)


def _go_on(told: Told, gpu: int, words: str) -> None:
    """Join a row to the message that it goes on with."""
    why = told.why.setdefault(gpu, [])
    if why and len(why[-1]) < LONGEST_LINE:
        why[-1] = f"{why[-1]}{' ' if ':' in why[-1] else ': '}{words}"
    elif not why:
        why.append(words)


def _tested(lines: Sequence[str], told: Told) -> None:
    """Take the tests that GPUs fail."""
    category, test, result = "", "", ""
    for line in lines:
        row = _ROW.match(line)
        left, right = (row[1].strip(), row[2].strip()) if row is not None else ("", "")
        if (heading := _CATEGORY.search(line)) is not None:
            category, test = heading[1].strip(), ""
        elif row is None:
            continue
        elif left and _MESSAGE.match(left) is None:
            found = _RESULT.match(right) if category else None
            test, result = (left, found[1].lower()) if found is not None else ("", "")
            if found is not None and found[2] is not None and _counts(category, test, ""):
                for gpu in _numbers(found[2], told):
                    told.say(gpu, _OF_TESTS.get(result), test)
        elif test and (part := _PART.match(right)) is not None and _counts(category, test, ""):
            told.say(int(part[1]), _OF_TESTS.get(part[2].lower()), test)
        elif test and result in ("fail", "warn") and _counts(category, test, right):
            named = _GPU.search(left) or _GPU.search(right)
            if named is not None:
                told.say(int(named[1]), _OF_TESTS[result], f"{test}: {right}")


def _counts(category: str, test: str, message: str) -> bool:
    """Whether a test is of the hardware."""
    return category != "Deployment" or _ABOUT_HARDWARE.search(f"{test} {message}") is not None


def _numbers(text: str, told: Told) -> list[int]:
    if text.strip().lower() == "all":
        return sorted({*told.addresses, *told.health})
    return [int(number) for number in re.findall(r"\d{1,3}", text)]


def _read_json(document: object, told: Told) -> None:
    for one in objects_of(document):
        gpus = one.get("GPU")
        children = gpus.get("children") if isinstance(gpus, dict) else None
        for number, said in children.items() if isinstance(children, dict) else ():
            if number.isdigit():
                words = [word for word in _values(said) if word not in _HEALTH]
                told.say(int(number), _HEALTH.get(text_at(said, "value")), ": ".join(words)[:LONGEST_LINE])
        tests = one.get("tests")
        for test in tests if isinstance(tests, list) else ():
            _test_in_json(text_at(one, "category"), test, told)


def _values(said: object) -> Iterator[str]:
    """Yield names and words below a GPU, but for those that only order them."""
    children = said.get("children") if isinstance(said, dict) else None
    for name, child in children.items() if isinstance(children, dict) else ():
        if name not in ("Errors", "Overall Health"):
            yield name
        if text_at(child, "value"):
            yield text_at(child, "value")
        yield from _values(child)


def _test_in_json(category: str, test: object, told: Told) -> None:
    name, results = text_at(test, "name"), test.get("results") if isinstance(test, dict) else None
    for result in results if isinstance(results, list) else ():
        status = _OF_TESTS.get(text_at(result, "status").lower())
        warnings = result.get("warnings") if isinstance(result, dict) else None
        words = [text_at(w, "warning") or str(w) for w in warnings] if isinstance(warnings, list) else []
        if status is None or not _counts(category, name, " ".join(words)):
            continue
        of_gpus = text_at(result, "entity_group") in ("", "GPU")
        ids = text_at(result, "gpu_ids") or text_at(result, "gpu_id") or text_at(result, "entity_id")
        for gpu in _numbers(ids, told) if of_gpus else ():
            told.say(gpu, status, ": ".join([name, *words[:1]])[:LONGEST_LINE])
