"""Mathtext as HTML: italic letters, raised and lowered scripts, Greek; and as plain words, for the alternative of a picture."""

from __future__ import annotations

import html
import re
from collections import deque

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "ell": "ℓ",
}  # fmt: skip
_UPRIGHT = {
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
    "|": "‖", "cdot": "·", "ldots": "…", "dots": "…", "cdots": "⋯", "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑",
    "prod": "∏", "int": "∫", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "top": "⊤", "perp": "⊥", "prime": "′", "odot": "⊙", "forall": "∀", "exists": "∃", "circ": "∘", "mid": "|", "vert": "|",
    ",": "\u2009", ";": "\u2009", ":": "\u2009", " ": "\u2009", "quad": "\u2003", "!": "", "left": "", "right": "",
}  # fmt: skip
#: with a thin space on either side
_RELATIONS = {
    "=": "=", "<": "<", ">": ">", "+": "+", "geq": "≥", "ge": "≥", "leq": "≤", "le": "≤", "neq": "≠", "ne": "≠", "ll": "≪",
    "gg": "≫", "propto": "∝", "sim": "∼", "approx": "≈", "equiv": "≡", "in": "∈", "to": "→", "rightarrow": "→", "pm": "±",
    "times": "×", "gtrsim": "≳", "lesssim": "≲", "subset": "⊂", "cup": "∪", "cap": "∩", "otimes": "⊗",
}  # fmt: skip
_ACCENTS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "dot": "\u0307"}
_DOUBLE = dict(zip("CENPQRZ", "ℂ𝔼ℕℙℚℝℤ", strict=True))
_TOKEN = re.compile(r"\\[A-Za-z]+|\\?.", re.DOTALL)
_CHARACTERS = {"-": "−", "*": "∗", "'": "′", "~": "\u2009", " ": "", ",": ",\u2009"}


def as_html(text: str) -> str:
    r"""A sentence with mathtext between dollar signs and code between backticks.

    >>> as_html(r"error < $p$ if $\|\mu\|\geq6$")
    'error &lt; <span class="math"><i>p</i></span> if <span class="math">‖<i>μ</i>‖\u2009≥\u20096</span>'
    """
    pieces = re.split(r"(?<!\\)\$", text)
    if len(pieces) % 2 == 0:  # a dollar without its partner
        pieces = [text]
    parts = []
    for k, piece in enumerate(pieces):
        if k % 2:
            parts.append(f'<span class="math">{_row(deque(_TOKEN.findall(piece)))}</span>')
        else:
            parts.append(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(piece.replace(r"\$", "$"))))
    return "".join(parts)


def as_words(text: str) -> str:
    r"""The same without markup.

    >>> as_words(r"slope of $n\|\mu\|^4/(\sigma_p^4d)$")
    'slope of n‖μ‖^4/(σ_p^4d)'
    """
    marked = as_html(text).replace("<sup>", "^").replace("<sub>", "_")
    return html.unescape(re.sub(r"<[^>]*>", "", marked)).replace("\u2009", " ")


def _row(tokens: deque[str]) -> str:
    """All up to the brace that closes, or to the end."""
    parts = []
    while tokens:
        token = tokens.popleft()
        if token == "}":
            break
        base = "" if token in ("^", "_") else _atom(token, tokens)
        if token in ("^", "_"):
            tokens.appendleft(token)
        scripts: dict[str, str] = {}
        while tokens and tokens[0] in ("^", "_") and tokens[0] not in scripts:
            which = tokens.popleft()
            scripts[which] = _argument(tokens)
        low, high = (f"<{tag}>{scripts[s]}</{tag}>" if s in scripts else "" for s, tag in (("_", "sub"), ("^", "sup")))
        if low and high:  # one above the other, on the line of what they stand at
            parts.append(f'<span class="bound">{base}<span class="scripts">{low}{high}</span></span>')
        else:
            parts.append(base + low + high)
    return "".join(parts).strip("\u2009")


def _argument(tokens: deque[str]) -> str:
    while tokens and tokens[0] == " ":
        tokens.popleft()
    return _atom(tokens.popleft(), tokens).strip("\u2009") if tokens else ""


def _atom(token: str, tokens: deque[str]) -> str:
    """One symbol, or a command with what it takes."""
    if token == "{":
        return _row(tokens)
    if token in _RELATIONS or (token[0] == "\\" and token[1:] in _RELATIONS):
        return "\u2009" + html.escape(_RELATIONS[token.lstrip("\\")]) + "\u2009"
    if token[0] != "\\":
        return f"<i>{token}</i>" if token.isalpha() else html.escape(_CHARACTERS.get(token, token))
    name = token[1:]
    if name in _GREEK:
        return f"<i>{_GREEK[name]}</i>"
    if name in _UPRIGHT:
        return _UPRIGHT[name]
    if name in _ACCENTS:
        return _argument(tokens).replace("</i>", _ACCENTS[name] + "</i>", 1)
    if name in ("frac", "dfrac", "tfrac"):
        return f"{_whole(_argument(tokens))}/{_whole(_argument(tokens))}\u2009"
    if name == "sqrt":
        return f"√{_whole(_argument(tokens))}"
    if name in ("mathrm", "text", "mathbf", "mathbb", "operatorname", "mathcal", "mathsf", "boldsymbol"):
        return _in_face(name, _argument(tokens))
    if not name.isalpha():
        return html.escape(name)
    # a function such as log or max, or a command that is not known here
    return name + ("\u2009" if tokens and tokens[0] not in ("(", "[", "^", "_", "}") else "")


def _in_face(face: str, inner: str) -> str:
    plain = re.sub(r"</?i>", "", inner)
    if face in ("mathbf", "boldsymbol"):
        return f"<b>{plain}</b>"
    if face == "mathbb":
        return "".join(_DOUBLE.get(letter, letter) for letter in plain)
    return inner if face == "mathcal" else plain


def _whole(inner: str) -> str:
    """In parentheses where there is more than a number or a letter."""
    return inner if re.sub(r"<[^>]*>", "", inner).isalnum() else f"({inner})"
