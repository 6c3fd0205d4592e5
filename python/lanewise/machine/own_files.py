"""Files that Lanewise wrote itself: they speak of a machine or a run, and are no dump of one.

Names of devices and addresses stand in pictures and findings as they stand in a list of `lspci`, so such a
file would be read as a poor one.
"""

from __future__ import annotations

import re

_HEAD, _FOOT = 4096, 1024
"""Bytes in which a sign stands, at the beginning and at the end."""
_PICTURE = re.compile(rb"\s*<svg\b")
_DRAWN = b'class="lw-topology"'
_JSON = re.compile(rb'\s*\{\s*"format": ?\d+,')
_CHECKED = re.compile(rb'"name": ?"lanewise doctor"|<testsuite name="lanewise doctor|# HELP lanewise_')
_FINDINGS = re.compile(rb"[^\n]*   \d+ functions?, \d+ links?, \d+ rules(?:; [^\n]{1,40})?\n")
_REPORT = b"Made by Lanewise "
_OF_LSPCI = re.compile(rb"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] \S", re.MULTILINE)
"""The first line of a function, where it is not indented and in no table."""


def said_of_an_own_file(content: bytes, name: str) -> str | None:
    """Say what a file of Lanewise, or a picture, is, and what to give instead; None for all others."""
    head, foot = content[:_HEAD], content[-_FOOT:]
    if _PICTURE.match(head):
        drawn = ", as 'lanewise draw' makes it" if _DRAWN in head else ""
        return f"'{name}' is a picture (SVG){drawn}; give the dump or the scenario that it shows"
    if _REPORT in foot and not _OF_LSPCI.search(content):
        return f"'{name}' is a report that Lanewise made; give the scenario or the dump that it is about"
    if _JSON.match(head):
        return f"'{name}' is JSON that Lanewise printed; give the dump or the scenario that it was made from"
    if _CHECKED.search(head) or (_FINDINGS.match(head) and not _OF_LSPCI.search(content)):
        return f"'{name}' is what 'lanewise doctor' printed; give the dump that it was made from"
    return None
