"""Answer and guess boxes: a form in the page in place of a notebook's check cell.

Everything a box says comes from the exercise's own spec (`scaling_lib.exercises.page_spec`); the page's script holds no
formula. The box is complete without its script: hints and solution open by hand, and print spells the answer out.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KEY = re.compile(r"(?:ch\d\d|app_[a-z])\.[gq]\d+[a-z]?")
STAGES = ("the idea", "the set-up", "the first line")


class answer_box(nodes.General, nodes.Element):  # noqa: N801  (docutils names its nodes so)
    """A box for the exercise `key` on page `docname`."""


def insert(document: nodes.document, docname: str, code_cells) -> None:
    """Replaces each cell tagged check or guess by its box, and hides the answer cells that the box stands for."""
    code = {}
    for cell, tags in code_cells(document, "check", "guess"):
        key = key_of(tags, cell.astext())
        if key is None:
            LOGGER.warning("a cell tagged check or guess names no exercise (tag it ch01.q1)", location=cell)
            continue
        spec = spec_of(key)
        code[key] = spec["code"]
        cell.parent.replace(cell, answer_box(spec=spec, guess="guess" in tags, docname=docname))
    for cell, tags in code_cells(document, "answer"):
        if code.get(key_of(tags, "")) is False:  # a code question keeps its stub in the page
            cell.parent.remove(cell)


def spec_of(key: str) -> dict:
    """The exercise as data; for a code question also `call`, the one call whose result the page asks for."""
    from scaling_lib.exercises import exercise, page_spec

    spec = page_spec(key)
    if spec["code"]:
        given = ", ".join(f"{name}={value:.6g}".replace("e+", "e") for name, value in exercise(key).page.inputs.items())
        spec["call"] = f"{spec['function']}({given})"
    return spec


def key_of(tags: list[str], source: str) -> str | None:
    """The exercise that a cell is about: a tag says it, or its `check("…")` call.

    >>> key_of(["check", "ch01.q1"], ""), key_of(["guess"], 'check("ch02.g3", guess)'), key_of(["check"], "")
    ('ch01.q1', 'ch02.g3', None)
    """
    match = next((m for m in map(KEY.fullmatch, tags) if m), None) or KEY.search(source)
    return match[0] if match else None


def box_html(spec: dict, guess: bool, solution_url: str, colab_url: str) -> str:
    """The box's markup. `solution_url` is empty where no page holds the worked solution."""
    e = html.escape
    name = spec["key"].replace(".", "-")
    head = f"Guess: {spec['title']}" if guess else "Your answer"
    data = json.dumps(spec, ensure_ascii=False).replace("</", "<\\/")
    parts = [
        f'<section class="sl-answer{" sl-guess" if guess else ""}" id="box-{name}" '
        f'aria-label="{"Guess" if guess else "Answer"}: {e(spec["title"])}">',
        f'<p class="sl-answer-head"><strong id="box-{name}-head">{e(head)}</strong>{_facts(spec, guess)}</p>',
        _code_note(spec, colab_url),
        f'<form class="sl-form" autocomplete="off">{_fields(spec, name, guess)}</form>',
        '<p class="sl-ask" hidden></p>',
        f'<div class="sl-said" id="box-{name}-said" role="status" aria-live="polite"></div>',
        _hints(spec),
        _solution(spec, guess, solution_url),
        f'<p class="sl-in-print">{_print_line(spec)}</p>',
        f'<script type="application/json">{data}</script>',
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _facts(spec: dict, guess: bool) -> str:
    """Level, minutes and points."""
    if guess:
        return '<span class="sl-facts">before you read on</span>'
    points = spec.get("points") or 0
    facts = [
        f"level {spec['level']} of 3",
        f"about {spec['minutes']} min",
        f"{points} point{'s' if points != 1 else ''}",
    ]
    return f'<span class="sl-facts">{" · ".join(facts)}</span>'


def _code_note(spec: dict, colab_url: str) -> str:
    """For a code question: where to write the code, and what the page asks instead."""
    if not spec["code"]:
        return ""
    return (
        f'<p class="sl-code-note">Write and check the function <a href="{html.escape(colab_url)}">in Colab</a> or in your '
        f'own copy of the notebook. Here, answer for one call: <code translate="no">{html.escape(spec["call"])}</code></p>'
    )


def _fields(spec: dict, name: str, guess: bool) -> str:
    e = html.escape
    submit = f'<button type="submit" class="sl-button sl-main">{"Commit to this guess" if guess else "Check"}</button>'
    if spec["kind"] == "choice":
        options = "".join(
            f'<label class="sl-choice"><input type="radio" name="{name}" value="{e(text)}"><span>{e(text)}</span></label>'
            for text in spec["choices"]
        )
        return f'<fieldset aria-labelledby="box-{name}-head">{options}</fieldset><p class="sl-controls">{submit}</p>'
    unit = f'<span class="sl-unit" id="box-{name}-unit" translate="no">{e(spec["unit"])}</span>' if spec["unit"] else ""
    return (
        f'<p class="sl-controls"><input name="answer" type="text" spellcheck="false" autocapitalize="off" '
        f'aria-labelledby="box-{name}-head{f" box-{name}-unit" if unit else ""}" aria-describedby="box-{name}-said">'
        f"{unit}{submit}</p>"
    )


def _hints(spec: dict) -> str:
    stages = "".join(
        f'<details class="sl-hint"><summary>Hint {i + 1}: {STAGES[min(i, 2)]}</summary><p>{html.escape(text)}</p></details>'
        for i, text in enumerate(spec.get("hints") or ())
    )
    return f'<div class="sl-hints">{stages}</div>' if stages else ""


def _solution(spec: dict, guess: bool, solution_url: str) -> str:
    link = f' <a href="{html.escape(solution_url)}">Worked solution</a>' if solution_url else ""
    worked = f" {html.escape(spec['solution'])}" if spec.get("solution") else ""
    head = "Show the answer" if guess else "Show solution"
    return (
        f'<details class="sl-solution"><summary>{head}</summary>'
        f"<p><strong>{html.escape(answer_text(spec))}</strong>.{worked}{link}</p></details>"
    )


def _print_line(spec: dict) -> str:
    choices = "Choose: " + "; ".join(spec["choices"]) + ". " if spec.get("choices") else ""
    worked = f" {spec['solution']}" if spec.get("solution") else ""
    return html.escape(f"{choices}Answer: {answer_text(spec)}.{worked}")


def answer_text(spec: dict) -> str:
    """The right answer as a reader writes it.

    >>> answer_text({"value": 0.002, "unit": ""}), answer_text({"value": 2189.0, "unit": "tokens"})
    ('0.002', '2,189 tokens')
    >>> answer_text({"value": 4.878e-06, "unit": "s"}), answer_text({"value": 1.97e14, "unit": "FLOP/s"})
    ('4.878 × 10⁻⁶ s', '1.97 × 10¹⁴ FLOP/s')
    """
    value = spec["value"]
    if isinstance(value, str):
        return value
    exponent = int(f"{value:e}".split("e")[1])
    if value and not -4 <= exponent < 9:
        mantissa = f"{value / 10**exponent:.4g}"
        number = f"{mantissa} × 10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    else:
        number = f"{value:,.{max(0, 3 - exponent)}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number} {spec['unit']}" if spec.get("unit") else number


def solution_page(env, docname: str, key: str) -> tuple[str, str]:
    """The page of worked solutions that belongs to `docname`, with the question's anchor; empty where there is none."""
    page = f"solutions/{Path(docname).name}"
    if page not in env.found_docs:
        return "", ""
    name = key.replace(".", "-")
    labels = env.domaindata["std"]["anonlabels"]
    anchor = next((target for label, (doc, target) in labels.items() if doc == page and label.startswith(name)), "")
    return page, anchor


def _visit_html(self, node: answer_box) -> None:
    from scaling_book import links_of

    app, spec = self.builder.app, node["spec"]
    page, anchor = solution_page(app.env, node["docname"], spec["key"])
    url = self.builder.get_relative_uri(node["docname"], page) + (f"#{anchor}" if anchor else "") if page else ""
    # A guess is settled by the text that follows it.
    self.body.append(box_html(spec, node["guess"], "" if node["guess"] else url, links_of(app, node["docname"])["colab"]))
    raise nodes.SkipNode


def _visit_plain(self, node: answer_box) -> None:
    raise nodes.SkipNode


def setup(app) -> dict:
    plain = (_visit_plain, None)
    app.add_node(answer_box, html=(_visit_html, None), latex=plain, text=plain, man=plain, texinfo=plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
