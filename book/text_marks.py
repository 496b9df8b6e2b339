"""Gives the text's own catchwords a look: boxes, takeaways, badges of evidence, the pill *Core*.

The text stays plain Markdown, which reads well on Colab and GitHub; here the words it opens with are recognised:
a quotation that begins `**Common mistake.**`, a paragraph that begins `**Takeaway**`, a lone `*Core*`, and `derived`,
`compiled` or `measured` set as code. Printed lines wrap, unless they stand in columns.
"""

import re

from docutils import nodes

BOXES = {"common mistake": "mistake", "on gpus": "gpus", "where we differ": "differ", "on your chip": "try"}
LABELS = ("worked example", "its twin", "predict", "before reading on, guess")
PILLS = ("core", "go deeper")
COLUMNS = re.compile(r"\S {2,}\S")  # a gap inside a line: what is below each other belongs together
BADGES = {
    "derived": "Follows from the formulas and the catalogue's figures",
    "compiled": "What XLA really compiles: kinds and bytes, never seconds",
    "measured": "Timed on hardware; the source is given",
}


def mark(document: nodes.document) -> None:
    """Marks all catchwords of one page."""
    for quotation in list(document.findall(nodes.block_quote)):
        _box(quotation)
    for paragraph in list(document.findall(nodes.paragraph)):
        _paragraph(paragraph)
    for literal in list(document.findall(nodes.literal)):
        if (word := literal.astext()) in BADGES:
            badge = f'<span class="sl-badge sl-badge-{word}" title="{BADGES[word]}">{word}</span>'
            literal.parent.replace(literal, nodes.raw("", badge, format="html"))
    for output in document.findall(nodes.container):
        if "cell_output" in output["classes"]:
            _let_lines_wrap(output)


def catchword(text: str) -> str:
    """The bare word.

    >>> catchword("Common mistake."), catchword("Predict:")
    ('common mistake', 'predict')
    """
    return text.strip().rstrip(".:").lower()


def _box(quotation: nodes.block_quote) -> None:
    strong = _opening(quotation[0], nodes.strong) if quotation.children else None
    kind = BOXES.get(catchword(strong.astext())) if strong else None
    if kind:
        strong["classes"].append("sl-catchword")
        box = nodes.container("", *quotation.children, classes=["sl-box", f"sl-box-{kind}"])
        quotation.parent.replace(quotation, box)


def _paragraph(paragraph: nodes.paragraph) -> None:
    strong, emphasis = _opening(paragraph, nodes.strong), _opening(paragraph, nodes.emphasis)
    if strong and catchword(strong.astext()) == "takeaway":
        paragraph["classes"] += ["sl-box", "sl-box-takeaway"]
        strong["classes"].append("sl-catchword")
    elif strong and catchword(strong.astext()) in LABELS:
        strong["classes"].append("sl-catchword")
    elif emphasis and catchword(paragraph.astext()) in PILLS:
        paragraph["classes"].append("sl-pill")


def _let_lines_wrap(output: nodes.container) -> None:
    for block in output.findall(nodes.literal_block):
        if not COLUMNS.search(block.astext()):
            block["classes"].append("sl-wraps")


def _opening(node: nodes.Node, kind: type):
    """The node's first child that shows something, if it is of this kind."""
    first = next((child for child in node.children if child.astext().strip()), None)
    return first if isinstance(first, kind) else None
