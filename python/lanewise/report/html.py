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
    made.filters |= {"svg": Markup, "breakable": breakable, "cell": _cell}
    return made


def breakable(name: str) -> Markup:
    """Return a name that may be broken behind its dots and underscores."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"[._]", r"\g<0><wbr>", str(escape(name))))


def _cell(text: str) -> Markup | str:
    """Return the text of a cell: names may be broken, sentences have blanks to be broken at."""
    return text if " " in text else breakable(text)
