"""The page of a report: well formed, whole, without the network, and the same for the same data."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import pytest

import theorysim as ts
from theorysim._cli._mathtext import as_html, as_words
from theorysim._cli._panels import pictures

VOID = {"meta", "link", "img", "br"}
STATEMENT = r"the total is < $\|\mu\|^2$ & more"


class Page(HTMLParser):
    """What a page holds; a tag that is not closed in its turn is a failure."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.loads, self.alts, self.headings = [], [], [], [], [], []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.loads += [value for key, value in attrs if key in ("src", "srcset", "data") or (tag == "link" and key == "href")]
        self.alts += [given["alt"]] if tag == "img" else []
        self.headings += [int(tag[1])] if re.fullmatch(r"h\d", tag) else []
        self.words += " " * (tag in ("dt", "dd", "td", "th", "p"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data if self.open and self.open[-1] != "style" else ""


@pytest.fixture
def made(theorysim, work):
    """Write a report and read it."""

    def call(*arguments: str, code: int = 0) -> tuple[str, Page]:
        said = theorysim("report", *arguments)
        assert (said.code, said.out) == (code, "results/report.html\n"), said.err
        text = (work / "results/report.html").read_text(encoding="utf-8")
        return text, Page(text)

    return call


def test_the_page(made, work, text_of):
    paper = text_of().replace('"the total is below 0"', f"r'{STATEMENT}'")
    paper = paper.replace('regime=lambda data: {"signal >= 3"', 'figure="again", regime=lambda data: {"signal > 3 & more"')
    (work / "experiments/toy.py").write_text(paper.replace("A toy: draws around a level.", "A <toy> (Ours, 2024)."))
    text, page = made()
    assert len(set(page.ids)) == len(page.ids)
    assert page.links
    assert {link for link in page.links if link[0] != "#" or link[1:] not in page.ids} == set()
    assert page.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    # nothing is loaded from anywhere
    assert all(load.startswith("data:") for load in page.loads)
    assert not re.search(r"https?:|@import|url\(|<script", text)
    # what is said
    words = " ".join(page.words.split())
    assert "4 claims, all as expected" in words
    assert "A <toy>" in words
    assert "the total is < ‖μ‖2 & more" in words
    assert "the total is &lt; " in text
    for verdict in ("holds", "fails", "undecided", "not applicable"):
        assert f"{verdict} 1 of 4" in words
    assert "signal > 3 & more fails by 2" in words
    assert re.search(r"Margin 0\.5 \[0\.49\d, 0\.50\d\] Weakest part signal=1 Seeds 20", words)
    assert re.search(r"Seeds 20; about \d+ would decide", words)
    assert "99.9 %" in words
    assert "root seed 0" in words
    assert re.search(r"jax \d", words)


def test_what_is_measured_stands_beside_what_is_stated(made, work, text_of):
    effect = "effect=lambda data: ts._claims.Effect('slope in $d$', 0.249, 0.24, 0.26, 0.25)"
    regime = "regime=lambda data: {'large': 1.5}"
    (work / "experiments/toy.py").write_text(
        text_of().replace('-data.total, "fails"', f'-data.total, "fails", {effect}, {regime}')
    )
    _, page = made()
    assert "Measured slope in d 0.249 [0.24, 0.26] against 0.25 Regime 1.5 decades inside Seeds 20" in " ".join(
        page.words.split()
    )


def test_claims_and_figures_are_linked(made, work, text_of):
    (work / "experiments/toy.py").write_text(text_of().replace('-data.total, "fails"', '-data.total, "fails", figure="again"'))
    text, page = made()
    assert page.links.count("#figure-toy-quick-again") == 1  # from the claim to its figure
    assert page.links.count("#claim-toy-below") == 1  # and back
    figure = text[text.index('id="figure-toy-quick-again"') :]
    assert '"#claim-toy-below"' in figure[: figure.index("</figure>")]
    # a claim without a figure of its own leads to those of its preset
    assert page.links.count("#figures-toy-quick") == 3
    assert page.links.count("#study-toy-quick-curve") == 2


def test_figures_are_inlined(made):
    text, page = made("toy")
    pictures = re.findall(r'src="data:image/png;base64,([^"]*)"', text)
    assert len(pictures) == 2
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert page.alts == ["total against signal; drawn: total"] * 2


def test_the_same_data_give_the_same_page(made):
    first, again = (re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", made()[0]) for _ in range(2))
    assert first == again


def test_an_unexpected_verdict(made, work, text_of):
    (work / "experiments/toy.py").write_text(text_of("not applicable"))
    text, page = made(code=1)
    assert "4 claims, 3 as expected, 1 not:" in page.words
    assert "≠ expected: not applicable" in page.words
    assert page.links.count("#claim-toy-above") == 2  # on top, and at the figures
    assert text.count('class="surprise"') == 1


def test_another_preset_and_place(theorysim, work):
    said = theorysim("report", "--preset", "paper", "--out", "my/own.html")
    assert (said.code, said.out) == (0, "my/own.html\n")
    page = Page((work / "my/own.html").read_text(encoding="utf-8"))
    assert "2 claims, all as expected" in page.words
    assert "figures-toy-paper" in page.ids
    assert "study-toy-quick-map" not in page.ids


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("yot", "experiment = yot: unknown; there are toy"),
        ("toy ./experiments/toy.py", "experiment = toy: is given twice"),
        ("toy --preset huge", "preset = huge: unknown; there are quick, paper"),
        ("--out experiments", "out = experiments: is a folder"),
        ("--out experiments/toy.py/page.html", "out = experiments/toy.py/page.html: is a folder, or below a file"),
    ],
)
def test_refused(theorysim, contents, arguments, words):
    before = contents()
    code, out, err = theorysim("report", *arguments.split())
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err
    assert contents() == before


def test_a_missing_drawing_is_told_before_anything_runs(theorysim, work, contents):
    (work / "figures/toy.py").unlink()
    before = contents()
    assert "there is no figures/toy.py" in theorysim("report").err
    assert contents() == before


def test_columns_of_panels_become_pictures():
    figure, axes = ts.plotting.canvas(columns=2, rows=2)
    for k, panel in enumerate(axes.flat):
        panel.plot([0, 1], [0, k], label="a $x^2$")
    axes[0, 0].set(ylabel="above", title="left")
    axes[1, 0].set(ylabel=r"$\bar\rho$", xlabel="time")
    axes[1, 1].set(xlabel="time")
    figure.colorbar(axes[0, 1].scatter([0, 1], [0, 1], c=[0, 1]), ax=axes[0, 1], label="colour")
    left, right = pictures(figure)
    assert left.words == "above against time, left; drawn: a x^2. ρ̄ against time; drawn: a x^2"
    assert right.words.startswith("above against time; drawn: a x^2. ρ̄ against time")
    assert right.words.endswith("colours: colour")
    assert left.width + right.width == pytest.approx(figure.get_figwidth())
    assert left.data == pictures(figure)[0].data
    figure.suptitle("of both columns")  # is not cut
    assert len(pictures(figure)) == 1


@pytest.mark.parametrize(
    ("text", "marked", "words"),
    [
        ("a < b & `c`", "a &lt; b &amp; <code>c</code>", "a < b & c"),
        (r"$x_i^2$", '<i>x</i><span class="scripts"><sub><i>i</i></sub><sup>2</sup></span>', "x_i^2"),
        (r"$d^{1/4}$", "<i>d</i><sup>1/4</sup>", "d^1/4"),
        (r"$\frac{1}{2}\min\tau$", "1/2\u2009min\u2009<i>τ</i>", "1/2 min τ"),
        (r"$\frac{a+b}{\sqrt{2n}}$", None, "(a + b)/(√2n)"),
        (r"$\max\bar\rho<\log2$", None, "max ρ̄ < log 2"),
        (r"$\mathrm{Var}[\mathbf{w}]\propto\mathbb{E}[x]$", None, "Var[w] ∝ 𝔼[x]"),
        (r"$\unknown{x}$ for \$5 and a $", None, r"$\unknown{x}$ for $5 and a $"),
        (r"$\left(-x\right)^*$", None, "(−x)^∗"),
        (r"$\frac$, $x^$, ${$, $}$", None, None),
    ],
)
def test_mathtext(text, marked, words):
    found = as_html(text)
    Page(found)
    assert marked is None or marked in found
    assert words is None or as_words(text) == words
