"""Answer and guess boxes: a form in the page in place of a notebook's check cell.

Everything a box says comes from the exercise's own spec (`scaling_lib.exercises.page_spec`); the page's script holds no
formula. The box is complete without its script: hints and solution open by hand, and print lists answers at the end.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KEY = re.compile(r"(?:ch\d\d|app_[a-z])\.[gq]\d+[a-z]?")
LEVEL = re.compile(r"Level \d(?: · \d+ minutes?)?")
STAGES = ("the idea", "the set-up", "the first line")


# What a box is for: an exercise, a guess before the answer is read, or the last step of a worked example's twin.
ROLES = {
    "answer": {"head": "Your answer", "button": "Check", "reveal": "Show solution"},
    "guess": {"head": "Guess: {title}", "button": "Commit to this guess", "reveal": "The answer"},
    "twin": {"head": "Your turn: {title}", "button": "Check", "reveal": "The answer"},
}


class answer_box(nodes.General, nodes.Element):
    """A box for the exercise of `spec`, in a `role` of ROLES, on page `docname`."""


class printed_answers(nodes.General, nodes.Element):
    """The answers of a page's `boxes`, at its end, in print alone."""


def insert(document: nodes.document, docname: str, code_cells) -> None:
    """Replaces each cell tagged check or guess by its box, and hides the answer cells that the box stands for."""
    code, boxes = {}, []
    for cell, tags in code_cells(document, "check", "guess"):
        key = key_of(tags, cell.astext())
        if key is None:
            LOGGER.warning("a cell tagged check or guess names no exercise (tag it ch01.q1)", location=cell)
            continue
        spec = spec_of(key)
        code[key] = spec["code"]
        box = answer_box(spec=spec, role=role_of(cell, tags), docname=docname)
        cell.parent.replace(cell, box)
        boxes.append(box)
        if spec["kind"] == "choice":
            drop_listed_choices(box)
    for cell, tags in code_cells(document, "answer"):
        if code.get(key_of(tags, "")) is False:  # a code question keeps its stub in the page
            cell.parent.remove(cell)
    if boxes:
        document += printed_answers(boxes=[(box["spec"], box["role"]) for box in boxes])
    for emphasis in list(document.findall(nodes.emphasis)):
        if code and LEVEL.fullmatch(emphasis.parent.astext()):  # the box says so as well
            emphasis.parent.parent.remove(emphasis.parent)


def drop_listed_choices(box: answer_box) -> None:
    """Removes the lettered list of choices and how to name one: a notebook needs them, the box shows its own."""
    section = box.parent
    for node in list(section[: section.index(box)]):
        lettered = isinstance(node, nodes.bullet_list) and all(re.match(r"[a-z]: ", item.astext()) for item in node)
        if lettered or (isinstance(node, nodes.paragraph) and node.astext().startswith("Answer with a letter")):
            section.remove(node)


def role_of(cell: nodes.Node, tags: list[str]) -> str:
    """What the box is for; a twin is known by the paragraph before it, which begins with these words."""
    if "guess" not in tags:
        return "answer"
    before = cell.parent[: cell.parent.index(cell)]
    said = next((node.astext() for node in reversed(before) if isinstance(node, nodes.paragraph)), "")
    return "twin" if said.lower().startswith("its twin") else "guess"


def spec_of(key: str) -> dict:
    """The exercise as data."""
    from scaling_lib.exercises import page_spec

    return page_spec(key)


def key_of(tags: list[str], source: str) -> str | None:
    """The exercise that a cell is about: a tag says it, or its `check("…")` call.

    >>> key_of(["check", "ch01.q1"], ""), key_of(["guess"], 'check("ch02.g3", guess)'), key_of(["check"], "")
    ('ch01.q1', 'ch02.g3', None)
    """
    match = next((m for m in map(KEY.fullmatch, tags) if m), None) or KEY.search(source)
    return match[0] if match else None


def box_html(spec: dict, role: str, solution_url: str, colab_url: str) -> str:
    """The box's markup. `solution_url` is empty where no page holds the worked solution."""
    e, words = html.escape, ROLES[role]
    name = spec["key"].replace(".", "-")
    head = words["head"].format(title=spec["title"])
    data = json.dumps(spec, ensure_ascii=False).replace("</", "<\\/")
    parts = [
        f'<section class="sl-answer sl-is-{role}" id="box-{name}" aria-label="{e(spec["title"])}">',
        f'<p class="sl-answer-head"><strong id="box-{name}-head">{e(head)}</strong>'
        f'<span class="sl-facts">{_facts(spec, role)}</span></p>',
        _code_note(spec, colab_url),
        f'<form class="sl-form" autocomplete="off">{_fields(spec, name, words["button"])}</form>',
        '<p class="sl-ask" hidden></p>',
        f'<div class="sl-said" id="box-{name}-said" role="status" aria-live="polite"></div>',
        _hints(spec),
        _solution(spec, words["reveal"], solution_url),
        f'<p class="sl-in-print">{_print_line(spec, role)}</p>',
        f'<script type="application/json">{data}</script>',
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _facts(spec: dict, role: str) -> str:
    """Level, minutes and points."""
    if role != "answer":
        return "before you read on" if role == "guess" else "the last step"
    points = f"{spec['points']} point{'s' if spec['points'] != 1 else ''}"
    return f"level {spec['level']} of 3 · about {spec['minutes']} min · {points}"


def _code_note(spec: dict, colab_url: str) -> str:
    """For a code question: where to write the code, and what the page asks instead."""
    if not spec["code"]:
        return ""
    call = html.escape(spec["call"])
    return (
        f'<p class="sl-code-note">Write and check the function <a href="{html.escape(colab_url)}">in Colab</a> '
        f'or in your own copy of the notebook. Here, answer for one call: <code translate="no">{call}</code></p>'
    )


def _fields(spec: dict, name: str, button: str) -> str:
    e = html.escape
    submit = f'<button type="submit" class="sl-button sl-main">{button}</button>'
    if spec["kind"] == "choice":
        options = "".join(
            f'<label class="sl-choice"><input type="radio" name="{name}" value="{e(text)}">'
            f"<span>{e(text)}</span></label>"
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
        f'<details class="sl-hint"><summary>Hint {i}: {stage}</summary><p>{html.escape(text)}</p></details>'
        for i, (stage, text) in enumerate(zip(STAGES, spec["hints"], strict=False), 1)
    )
    return f'<div class="sl-hints">{stages}</div>' if stages else ""


def _solution(spec: dict, reveal: str, solution_url: str) -> str:
    link = f' <a href="{html.escape(solution_url)}">Worked solution</a>' if solution_url else ""
    worked = f" {html.escape(spec['solution'])}" if spec.get("solution") else ""
    return (
        f'<details class="sl-solution"><summary>{reveal}</summary>'
        f"<p><strong>{html.escape(answer_text(spec))}</strong>.{worked}{link}</p></details>"
    )


def _print_line(spec: dict, role: str) -> str:
    """What print says in place of the form: the choices, and where the answer stands."""
    choices = "Choose: " + "; ".join(spec["choices"]) + ". " if spec.get("choices") else ""
    return html.escape(f"{choices}The answer is at the end of this page, under “{printed_name(spec, role)}”.")


def printed_name(spec: dict, role: str) -> str:
    """What an exercise is called in the list of answers.

    >>> printed_name({"key": "ch01.q3", "title": "Time to load"}, "answer")
    'Q3 · Time to load'
    >>> printed_name({"key": "ch01.g1", "title": "a dot product"}, "guess")
    'Guess: a dot product'
    """
    if role == "answer":
        return f"{spec['key'].partition('.')[2].upper()} · {spec['title']}"
    return ROLES[role]["head"].format(title=spec["title"])


def answers_html(boxes: list[tuple[dict, str]]) -> str:
    """The list of a page's answers."""
    e = html.escape
    entries = "".join(
        f"<dt>{e(printed_name(spec, role))}</dt>"
        f"<dd><strong>{e(answer_text(spec))}</strong>. {e(spec.get('solution') or '')}</dd>"
        for spec, role in boxes
    )
    return f'<section class="sl-printed-answers"><h2>Answers</h2><dl>{entries}</dl></section>'


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
    colab = links_of(app, node["docname"])["colab"]
    self.body.append(box_html(spec, node["role"], url if node["role"] == "answer" else "", colab))
    raise nodes.SkipNode


def _visit_printed_answers(self, node: printed_answers) -> None:
    self.body.append(answers_html(node["boxes"]))
    raise nodes.SkipNode


def _visit_plain(self, node: answer_box) -> None:
    raise nodes.SkipNode


def setup(app) -> dict:
    plain = (_visit_plain, None)
    others = {"latex": plain, "text": plain, "man": plain, "texinfo": plain}
    app.add_node(answer_box, html=(_visit_html, None), **others)
    app.add_node(printed_answers, html=(_visit_printed_answers, None), **others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
