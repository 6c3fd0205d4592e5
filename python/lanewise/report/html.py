"""A report as one HTML file that needs nothing else: no network, no scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from lanewise.report.content import Page


def html(page: Page) -> str:
    """Return the text of the page."""
    return environment().get_template("report.html.j2").render(page=page)


def environment() -> Environment:
    """Return what all templates are filled by: everything is escaped that is not said to be safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("lanewise.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"svg": Markup, "breakable": breakable}
    return made


def breakable(text: str) -> Markup:
    """Return a text whose names may be broken behind their dots and underscores; numbers may not."""
    from markupsafe import Markup, escape

    return Markup(_WITHIN_NAME.sub(r"\g<0><wbr>", str(escape(prose(text)))))


_WITHIN_NAME = re.compile(r"(?<=[\w\]])[._](?=[A-Za-z])")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[num]?s|[GM]i?B/s|GB/s|B|[KMG]iB)(?![\w/]))")
"""The blank between a number and its unit."""


def prose(text: str) -> str:
    """Return a sentence whose numbers stay on the line of their unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)
