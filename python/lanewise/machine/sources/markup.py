"""Markup of web pages and forums, taken off a dump that stands in it.

A table of tags, not any text between angle brackets: `lspci` prints such text itself (``<access denied>``).
"""

from __future__ import annotations

import re

_MARKUP = re.compile(
    r"</(?:pre|code|span|div|p|td|body|html|font|b)>|<(?:br|pre|p|div)\b[^<>]*>", re.IGNORECASE
)
_BREAKS = re.compile(r"<br[ /]*>\n?|</(?:p|div|tr|li|pre|h[1-6]|title|option)>", re.IGNORECASE)
_TAGS = re.compile(
    r"</?(?:html|head|body|div|span|pre|code|p|br|b|i|u|s|em|strong|font|a|td|tr|th|table|tbody|thead|ul|ol|li|h[1-6]"
    r"|blockquote|img|hr|title|meta|link|script|style|tt|article|section|button|svg|path|small|sup|sub|main|nav)\b"
    r"[^<>]{0,2000}>|<!--[^<>]{0,2000}-->|<!doctype[^<>]{0,200}>",
    re.IGNORECASE,
)
_ENTITIES = (
    ("&nbsp;", " "),
    ("&#160;", " "),
    ("&gt;", ">"),
    ("&lt;", "<"),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&amp;", "&"),
)
_FORUM = re.compile(r"\[/?(?:code|quote|spoiler|pre|font)\b[^\]\n]{0,100}\]", re.IGNORECASE)
_SIZES = re.compile(
    r"\[/?size(?!=\d{1,4}(?:[KMGT]\]|\][ \t]*$))\b[^\]\n]{0,100}\]", re.IGNORECASE | re.MULTILINE
)
_COLORS = re.compile(r"\[/?color\b[^\]\n]{0,100}\]", re.IGNORECASE)
"""Those of a terminal change within a line; the tags above stand around whole ones."""


def taken_off(text: str, head: str) -> str:
    """Return a text without the markup that its beginning shows signs of."""
    if _MARKUP.search(head):
        text = _TAGS.sub("", _BREAKS.sub("\n", text))
    if "&" in head:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    if "[/" in head:
        text = _COLORS.sub("", text)
        if _FORUM.search(head):
            text = _FORUM.sub("\n", text)
        # `lspci` prints ``[size=32]`` and ``[size=8K]`` too, at the end of lines.
        if "[/size" in head.lower():
            text = _SIZES.sub("\n", text)
    return text


_HALF_A_TAG = re.compile(rb"</?[a-z_]{2,40}&gt;")
_MOST_HEAD = 64 << 10
_FEWEST = 3
_HIDDEN, _HIDDEN_ADDRESS = (
    b"***@***.***:",
    re.compile(rb"\*{3}@\*{3}\.\*{3}:([0-9a-f]{2}:[01][0-9a-f]\.[0-7])\b"),
)
"""What GitHub leaves of ``pci@0000:05:00.0`` in a mail that it shows: it takes it for a mail address."""


def mended(content: bytes) -> bytes:
    """Return a text with the addresses that GitHub hid, and XML as it was before a forum escaped its tags."""
    if _HIDDEN in content:
        content = _HIDDEN_ADDRESS.sub(rb"pci@0000:\1", content)
    if len(_HALF_A_TAG.findall(content[:_MOST_HEAD])) < _FEWEST:
        return content
    return content.replace(b"&gt;", b">").replace(b"&nbsp;", b" ")
