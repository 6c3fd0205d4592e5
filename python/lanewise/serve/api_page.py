"""Pages that are made here: what may be asked for, from the OpenAPI document, and the front page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVED = '<meta name="lanewise-simulator" content="api/simulator">'
"""Tells the lab that a simulator answers it here, so that it starts none of its own."""

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 0.9em/1.45 ui-monospace, monospace }
pre { overflow-x: auto; padding: .6rem .8rem; border: 1px solid #8886; border-radius: 6px }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #8886 }
h3 { margin: 1.6rem 0 .2rem; overflow-wrap: anywhere }
dt { font-family: ui-monospace, monospace; font-size: .9em } dd { margin: 0 0 .4rem 1.2rem }
.verb { display: inline-block; min-width: 4.2em }
"""

_SOCKETS = """
<h2>WebSockets</h2>
<h3><code class="verb">WS</code> <code>/api/runs/{run_id}/progress</code></h3>
<p>Sends the state of a run whenever it changes, as <code>GET /api/runs/{run_id}</code> returns it, until the
run is over.</p>
<h3><code class="verb">WS</code> <code>/api/simulator</code></h3>
<p>What the lab uses: messages <code>{id, verb, given}</code>, answers <code>{id, answer}</code> or
<code>{id, failure}</code>.</p>
"""


def front_page(page: Path | None) -> str:
    """Return the lab, told that it is served; or what else is here, where it was not built."""
    if page is not None:
        html = (page / "index.html").read_text(encoding="utf-8")
        return html.replace("<head>", f"<head>{SERVED}", 1)
    return _html(
        "Lanewise",
        "<h1>Lanewise</h1><p>The lab in the browser is not part of this installation: <code>make lab</code> "
        'builds it. Everything else is here: <a href="api">API reference</a>.</p>',
    )


def api_page(document: Mapping[str, Any]) -> str:
    """Return the operations of an OpenAPI document as a page."""
    parts = [
        f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>",
        f"<p>{escape(document['info']['description'])} "
        'As a document for programs: <a href="api/openapi.json">openapi.json</a>.</p>',
        "<p>Errors are what <code>--json</code> prints for them. Where the server has a token, send it as "
        "<code>Authorization: Bearer TOKEN</code>.</p>",
    ]
    by_tag: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            by_tag.setdefault(operation["tags"][0], []).append(_operation(verb, path, operation, document))
    for tag, operations in by_tag.items():
        parts += [f"<h2>{escape(tag.capitalize())}</h2>", *operations]
    return _html("Lanewise: API reference", "".join([*parts, _SOCKETS]))


def _operation(verb: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    lines = [
        f'<h3><code class="verb">{verb.upper()}</code> <code>{escape(path)}</code></h3>',
        f"<p>{_code(operation.get('description', ''))}</p>",
    ]
    fields = [
        (each["name"], each["schema"], each.get("description", ""), each.get("required", False))
        for each in operation.get("parameters", [])
    ]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json":
            schema = _resolved(content["schema"], document)
            needed = schema.get("required", [])
            fields += [
                (name, each, each.get("description", ""), name in needed)
                for name, each in schema["properties"].items()
            ]
        else:
            fields.append((kind, {}, "The body.", True))
    if fields:
        lines.append("<dl>")
        for name, schema, description, is_needed in fields:
            said = ", ".join(filter(None, [_kind(schema), "" if is_needed else "optional"]))
            lines.append(
                f"<dt>{escape(name)}{f' ({escape(said)})' if said else ''}</dt><dd>{_code(description)}</dd>"
            )
        lines.append("</dl>")
    return "".join(lines)


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema["$ref"].rpartition("/")[2]
    found: Mapping[str, Any] = document["components"]["schemas"][name]
    return found


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    return str(schema.get("type", ""))


def _code(text: str) -> str:
    """Escape a text, and set what is between backticks as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))


def _html(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>"
    )
