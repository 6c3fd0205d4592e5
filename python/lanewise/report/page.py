"""The report of a reproduction: one HTML file that needs nothing else, made from results and not from runs.

The headline is the error of the predicted cells, beside that of their null models. Cells of other roles
stand apart: selected and calibrated ones, identities, and those that cannot be predicted, each with its
reason. What the publication leaves odd, what a prediction rests on, and where every number comes from are on
the same page.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.draw.style import rules
from lanewise.experiment.definition import ROLES
from lanewise.experiment.headline import apart, headline
from lanewise.experiment.wording import (
    DASH,
    band_text,
    counted,
    digits_for,
    error_text,
    interval_text,
    null_error_text,
)
from lanewise.extras import need
from lanewise.files import write_whole
from lanewise.report import plots
from lanewise.report.html import environment
from lanewise.report.rigs import rigs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from markupsafe import Markup

    from lanewise.experiment.definition import Fit
    from lanewise.experiment.headline import Headline
    from lanewise.experiment.reproduced_cell import ReproducedCell
    from lanewise.experiment.reproduction import ReproducedExperiment, Reproduction
    from lanewise.experiment.sensitivity import Sensitivity
    from lanewise.report.plots import Figure
    from lanewise.report.rigs import Rig


@dataclass(frozen=True)
class StatedParameter:
    """One value that no specification fixes, in force in some run."""

    name: str
    value: str
    provenance: str
    source: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class ExperimentSection:
    """What the page says about one experiment."""

    experiment: ReproducedExperiment
    headline: Headline
    figures: tuple[Figure, ...]
    rigs: tuple[Rig, ...]
    """What was simulated, drawn."""
    page: Markup
    """The experiment's own page, rendered."""
    sensitivity: Sensitivity | None
    parameters: tuple[StatedParameter, ...]
    """What no specification fixes, over all runs: one entry for each value with its source."""

    @property
    def anchor(self) -> str:
        """Name of the section within the page."""
        return self.experiment.id.lower()

    def cells(self, role: str) -> list[ReproducedCell]:
        """Return the cells of one role."""
        return [cell for cell in self.experiment.cells if cell.role == role]

    @property
    def fits(self) -> list[tuple[Fit, str]]:
        """The fits with their values."""
        fitted = self.experiment.definition.fitted
        return [
            (
                fit,
                " \N{PLUS-MINUS SIGN} ".join(
                    filter(None, (str(fitted[fit.name].value), fitted[fit.name].plus_minus))
                ),
            )
            for fit in self.experiment.definition.fits
            if fit.name in fitted
        ]

    @property
    def provenances(self) -> str:
        """How many parameters have which provenance."""
        numbers = Counter(parameter.provenance for parameter in self.parameters)
        return ", ".join(f"{number} {provenance}" for provenance, number in numbers.most_common())


def write_report(reproduction: Reproduction, path: Path) -> Path:
    """Write the report, whole or not at all; MissingPackageError without the extra ``report``."""
    need("report", "the report")
    return write_whole(path, render(reproduction))


def render(reproduction: Reproduction) -> str:
    """Return the text of the page."""
    from markupsafe import Markup

    from lanewise import __version__

    made = environment()
    made.filters |= {
        "number": number,
        "band": band_text,
        "error": error_text,
        "null_error": null_error_text,
        "interval": interval_text,
        "short": lambda name, own: name.removeprefix(f"{own} "),
        "counted": counted,
        "change": lambda change, unit: DASH if change is None else f"{change:+.2f} {unit}",
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
    }
    experiments = reproduction.experiments
    with plots.unchecked():
        overview = plots.overview(experiments) if len(experiments) > 1 else None
        sections = [_section(experiment, experiments) for experiment in experiments]
    return made.get_template("reproduction.html.j2").render(
        version=__version__,
        topology_style=Markup(rules("auto")),
        headline=headline(experiments),
        selected=headline(experiments, "selected"),
        apart=[apart(experiments, role) for role in ("calibrated", "identity")],
        overview=overview,
        sections=sections,
        numbers={
            role: sum(cell.role == role for each in experiments for cell in each.cells) for role in ROLES
        },
    )


def _section(
    experiment: ReproducedExperiment, everything: Sequence[ReproducedExperiment]
) -> ExperimentSection:
    return ExperimentSection(
        experiment=experiment,
        headline=headline([experiment]),
        figures=tuple(plots.figures(experiment)),
        rigs=tuple(rigs(experiment)),
        page=_readme(experiment.definition.folder, everything),
        sensitivity=experiment.sensitivity,
        parameters=tuple(_parameters(experiment)),
    )


def _readme(folder: Path, everything: Sequence[ReproducedExperiment]) -> Markup:
    """Render the page of an experiment, without its title; links to others stay within the report."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    path = folder / "README.md"
    if not path.is_file():
        return Markup()
    text = path.read_text(encoding="utf-8")
    if text.startswith("# "):
        text = text.partition("\n")[2]
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for other in everything:
        html = html.replace(f'href="../{other.definition.folder.name}"', f'href="#{other.id.lower()}"')
    # Headings of the page stand below those of the report. A wide table scrolls, and not the page with it.
    return Markup(
        html.replace("<h3>", "<h5>")
        .replace("</h3>", "</h5>")
        .replace("<h2>", "<h4>")
        .replace("</h2>", "</h4>")
        .replace("<table>", '<div class="scroll"><table>')
        .replace("</table>", "</table></div>")
    )


def _parameters(experiment: ReproducedExperiment) -> list[StatedParameter]:
    """Gather what no specification fixes: equal values with equal sources once, with all their paths."""
    paths: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for run in experiment.runs:
        for row in run.assumptions.iter_rows(named=True):
            name = row["path"].rpartition(".")[2]
            key = (name, row["value"], row["provenance"], row["source"] or "")
            paths.setdefault(key, {})[row["path"]] = None
    gathered = [StatedParameter(*key, tuple(places)) for key, places in paths.items()]
    order = {"calibrated": 0, "published": 1, "assumed": 2, "datasheet": 3}
    return sorted(gathered, key=lambda each: (order.get(each.provenance, 4), each.paths[0]))


def number(value: float | None, like: float | None = None) -> str:
    """Write a number with the decimals that suit its size, or the size of `like`."""
    return DASH if value is None else f"{value:,.{digits_for(value if like is None else like)}f}"
