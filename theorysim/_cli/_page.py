"""The page of a report: every claim with its evidence, every figure, and where the numbers come from."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from textwrap import dedent
from typing import Any

from .._claims import VERDICTS
from .._experiment import Experiment
from .._find import parse
from .._verdicts import ALPHA, Evidence
from ._decide import Row
from ._mathtext import as_html
from ._panels import Picture

_TEMPLATE = Path(__file__).parent / "templates" / "report.html"
#: verdict -> class of its badge, its sign, and what it means
_LOOKS = {
    "holds": ("holds", "✓", "the margin is above zero in every part of the claim"),
    "fails": ("fails", "✗", "the margin is below zero in some part; controls are claims that must fail"),
    "undecided": ("undecided", "?", "the seeds do not decide"),
    "not applicable": ("outside", "∅", "a condition of the theorem is not met"),
}
#: pixels for an inch of a figure
_SCALE = 108


@dataclass(frozen=True)
class Drawn:
    """One figure of one preset of a paper."""

    paper: str
    preset: str
    name: str
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Source:
    """One study behind the page: how many trials, and the attributes of its Dataset."""

    paper: str
    preset: str
    study: str
    cells: int
    seeds: int
    attrs: dict[str, Any]


def page(rows: Sequence[Row], drawn: Sequence[Drawn], sources: Sequence[Source], date: str) -> str:
    """The whole page; `date` is when it is made."""
    papers = {row.paper.name: row.paper for row in rows}
    sections = [
        _section(
            paper,
            [row for row in rows if row.paper.name == name],
            [figure for figure in drawn if figure.paper == name],
        )
        for name, paper in papers.items()
    ]
    body = [_head(rows, papers), "<main>", *sections, "</main>", _foot(sources, date)]
    template = Template(_TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(title=f"Report card: {escape(', '.join(papers))}", body="\n".join(body))


def _id(*words: str) -> str:
    return "-".join(re.sub(r"[^\w.]+", "_", word) for word in words)


def _link(target: str, text: str) -> str:
    return f'<a href="#{target}">{text}</a>'


def _badge(verdict: str) -> str:
    look, sign, _ = _LOOKS[verdict]
    return f'<span class="badge {look}"><span aria-hidden="true">{sign}</span> {verdict}</span>'


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _tally(rows: Sequence[Row]) -> str:
    left = sum(row.open for row in rows)
    right = sum(row.as_expected for row in rows) - left
    claims = f"{len(rows)} claim{'s' if len(rows) != 1 else ''}"
    rest = f", {left} left open at this size" if left else ""
    return f"{claims}, {'all' if right == len(rows) else right} as expected{rest}"


def _claim_id(row: Row) -> str:
    return _id("claim", row.paper.name, row.claim.name)


def _figure_id(figure: Drawn) -> str:
    return _id("figure", figure.paper, figure.preset, figure.name)


def _title(paper: Experiment) -> tuple[str, str, str]:
    """The first line of the paper's file, without and within its last parentheses, and what follows it."""
    text = (ast.get_docstring(parse(paper.path)) if paper.path else None) or paper.name
    first, _, rest = text.partition("\n")
    found = re.fullmatch(r"(.+?) \((.+)\)\.?", first)
    return (found[1], found[2], rest) if found else (first.rstrip("."), "", rest)


# --- the parts of the page ---------------------------------------------------------------------------------------------


def _head(rows: Sequence[Row], papers: dict[str, Experiment]) -> str:
    wrong = [row for row in rows if not row.as_expected]
    listed = "".join(
        f"<li>{_link(_claim_id(row), as_html(row.claim.statement))}: {row.verdict}, expected {row.claim.expected}</li>"
        for row in wrong
    )
    counted = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    key = "".join(f"<dt>{_badge(v)}</dt><dd>{n} of {len(rows)}: {_LOOKS[v][2]}</dd>" for v, n in counted.items())
    entries = []
    for name, paper in papers.items():
        own = [row for row in rows if row.paper.name == name]
        link = _link(_id("paper", name), as_html(_title(paper)[0]))
        entries.append(f'<li>{link} <span class="faint">{_tally(own)}</span></li>')
    return f"""<header>
<h1>Report card</h1>
<p class="summary"><strong>{_tally(rows)}</strong>{f", {len(wrong)} not:" if wrong else "."}</p>
{f'<ul class="surprises">{listed}</ul>' if wrong else ""}
<p>Each statement is tested on simulated data, seed by seed: its margin is positive where it holds. The chance that any verdict
of this page is wrong is at most {ALPHA:g}, as far as means of margins over seeds are normal.</p>
<dl class="key">{key}</dl>
</header>
<nav aria-labelledby="contents"><h2 id="contents">Contents</h2>
<ol>{"".join(entries)}<li>{_link("provenance", "Provenance and method")}</li></ol></nav>"""


def _section(paper: Experiment, rows: Sequence[Row], drawn: Sequence[Drawn]) -> str:
    title, reference, about = _title(paper)
    shown: dict[str, list[Row]] = {}
    lines = []
    for row in rows:
        target, words = _shown_in(row, drawn)
        shown.setdefault(target, []).append(row)
        lines.append(_line(row, _link(target, words)))
    here = _id("paper", paper.name)
    parts = [
        f'<section id="{here}" aria-labelledby="{here}-title">',
        f'<h2 id="{here}-title">{as_html(title)}</h2>',
        f'<p class="faint">{as_html(reference)}{" · " if reference else ""}<code>{escape(paper.name)}</code></p>',
        *(f"<pre>{escape(dedent(part))}</pre>" if part[0] == " " else f"<p>{as_html(part)}</p>" for part in _paragraphs(about)),
        '<table class="claims" role="table">',
        f"<caption>What the paper states: {_tally(rows)}</caption>",
        '<thead role="rowgroup"><tr role="row">',
        *(f'<th role="columnheader" scope="col">{head}</th>' for head in ("Statement", "Verdict", "Evidence")),
        '</tr></thead>\n<tbody role="rowgroup">',
        *lines,
        "</tbody></table>",
    ]
    for preset in dict.fromkeys(row.preset for row in rows):
        group = _id("figures", paper.name, preset)
        parts.append(f'<h3 id="{group}">Figures at the size <code>{escape(preset)}</code></h3>')
        figures = [_figure(item, shown.get(_figure_id(item), [])) for item in drawn if item.preset == preset]
        parts.append(f'<div class="figures">{"".join(figures)}</div>')
        if group in shown:
            parts.append(f"<p>The data of these figures decide also:</p>{_back(shown[group])}")
    return "\n".join([*parts, "</section>"])


def _paragraphs(text: str) -> list[str]:
    return [part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]


def _shown_in(row: Row, drawn: Sequence[Drawn]) -> tuple[str, str]:
    """Where a claim is shown: in the figure that it names, or that is named as its study, or among those of its preset."""
    for name in filter(None, (row.claim.figure, row.claim.study)):
        for figure in sorted(drawn, key=lambda figure: figure.preset != row.preset):
            if figure.name == name:
                return _figure_id(figure), f"figure {escape(name)}"
    return _id("figures", row.paper.name, row.preset), f"figures at {escape(row.preset)}"


def _line(row: Row, figure: str) -> str:
    claim = row.claim
    study = _link(_id("study", row.paper.name, row.preset, claim.study), f"{escape(row.preset)} / {escape(claim.study)}")
    expected = f"as expected{'' if claim.expected == 'holds' else f': {claim.expected}'}"
    if row.open:
        expected = f"open at this size; expected at {escape(row.own_preset)}: {claim.expected}"
    elif not row.as_expected:
        expected = f"≠ expected: {claim.expected}"
    terms = "".join(f"<dt>{term}</dt><dd>{said}</dd>" for term, said in _evidence(row.evidence, row.verdict))
    return f"""<tr role="row" id="{_claim_id(row)}"{"" if row.as_expected else ' class="surprise"'}>
<th role="rowheader" scope="row"><span class="statement">{as_html(claim.statement)}</span>
<span class="about">{as_html(claim.source)}</span>
<span class="about"><code>{escape(claim.name)}</code> · {figure} · data {study}</span></th>
<td role="cell" class="verdict">{_badge(row.verdict)} <span class="expected">{expected}</span></td>
<td role="cell"><dl class="evidence">{terms}</dl></td></tr>"""


def _evidence(found: Evidence, verdict: str) -> list[tuple[str, str]]:
    """Terms and what is said of each."""
    said = []
    if found.outside:
        said.append(("Condition", as_html(found.outside)))
    else:
        interval = f"[{_number(found.low)}, {_number(found.high)}]" if math.isfinite(found.low) else "without an interval"
        said.append(("Margin", f"{_number(found.mean)} {interval}"))
        said += [("Weakest part", as_html(found.part))] if found.part else []
    said += [("Measured", as_html(found.effect))] if found.effect else []
    if not found.outside and found.depth is not None and 0.005 <= found.depth < math.inf:
        said.append(("Regime", f"{found.depth:.2g} decades inside"))
    needed = f"; about {found.needed} would decide" if verdict == "undecided" and found.needed else ""
    return [*said, ("Seeds", f"{found.seeds}{needed}")]


def _back(rows: Sequence[Row]) -> str:
    listed = (f"<li>{_link(_claim_id(row), as_html(row.claim.statement))}: {row.verdict}</li>" for row in rows)
    return f"<ul>{''.join(listed)}</ul>"


def _figure(figure: Drawn, rows: Sequence[Row]) -> str:
    images = "".join(
        f'<img src="{picture.data}" width="{picture.width * _SCALE:.0f}" height="{picture.height * _SCALE:.0f}"'
        f' alt="{escape(picture.words)}">'
        for picture in figure.pictures
    )
    label = escape(figure.name.replace("_", " "))
    return f"""<figure id="{_figure_id(figure)}"><div class="parts">{images}</div>
<figcaption><strong>{label}</strong>{f", which shows:{_back(rows)}" if rows else ""}</figcaption></figure>"""


# --- provenance --------------------------------------------------------------------------------------------------------


def _foot(sources: Sequence[Source], date: str) -> str:
    facts = [_facts(source) for source in sources]
    # what all studies share is said once
    common = [name for name in (facts[0] if facts else ()) if len({fact[name] for fact in facts}) == 1]
    own = [name for name in (facts[0] if facts else ()) if name not in common]
    columns = ["seeds", "cells", *own, "compile", "run"]
    lines = []
    for source, fact in zip(sources, facts, strict=True):
        seconds = {key: f"{float(source.attrs.get(f'{key}_seconds', math.nan)):.1f} s" for key in ("compile", "run")}
        values = {"seeds": str(source.seeds), "cells": str(source.cells), **fact, **seconds}
        cells = "".join(f'<td role="cell" data-label="{name}">{escape(values[name])}</td>' for name in columns)
        where = " / ".join(map(escape, (source.paper, source.preset, source.study)))
        here = _id("study", source.paper, source.preset, source.study)
        lines.append(f'<tr role="row" id="{here}"><th role="rowheader" scope="row"><code>{where}</code></th>{cells}</tr>')
    heads = "".join(f'<th role="columnheader" scope="col">{name}</th>' for name in ["study", *columns])
    level = f"{100 * (1 - ALPHA):g} %"
    settings = {"page made": date, **{name: facts[0][name] for name in common}}
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in settings.items())
    return f"""<footer id="provenance">
<h2>Provenance and method</h2>
<p>A claim gives one signed margin for each seed and each of its parts. Every part is tested by Student's t over seeds; a claim
holds if all of its parts do, and fails if one of them does (Bonferroni over parts). Holm's correction over all claims of this
page keeps the chance of any wrong verdict at {ALPHA:g} or less. Shown is the weakest part, with its own {level} interval. A
measured number stands beside the one that the theorem states; decades say how deep inside its regime the data lie.</p>
<dl class="settings">{listed}</dl>
<table class="studies" role="table"><caption>The studies behind this page</caption>
<thead role="rowgroup"><tr role="row">{heads}</tr></thead>
<tbody role="rowgroup">
{chr(10).join(lines)}
</tbody></table>
</footer>"""


def _facts(source: Source) -> dict[str, str]:
    """Where a study's numbers come from, in words."""
    attrs = {name: str(value) for name, value in source.attrs.items()}
    commit = re.sub(r"^([0-9a-f]{12})[0-9a-f]*", r"\1", attrs.get("commit", "unknown"))
    versions = json.loads(attrs.get("versions", "{}"))
    return {
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "device": attrs.get("device", "unknown"),
        "random numbers": attrs.get("prng", "unknown"),
        "root seed": attrs.get("root_seed", "unknown"),
        "precision": attrs.get("dtype", "unknown"),
        "commit": commit,
        "written": attrs.get("written", "unknown")[:16].replace("T", " ") + " UTC",
    }
