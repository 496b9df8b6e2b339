"""*Show the sums*: checked numbers of the prose become things to point at.

The text states a number and, in an HTML comment right after it, the expression that yields it (`tools/prose.py`
compares the two). Here each comment is taken out of the page and its expression is kept on the number itself, so that
it reaches neither the search index nor print.
"""

import re

from docutils import nodes

COMMENT = re.compile(r"<!--\s*(?:=\s*(?P<expr>.*?)|(?P<given>given))\s*-->", re.DOTALL)
# A number as prose writes it: an optional "about", sign or currency, digits, a power of ten.
NUMBER = re.compile(r"(?:\b[Aa]bout |≈ ?|~)?[-−]?[$€]?(?<![\w.,])\d[\d,]*(?:\.\d+)?(?:\s?×\s?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
LONGEST_UNIT = 40  # characters between a number and its comment; beyond that only the last word is marked


class checked_number(nodes.inline):
    """A number of the prose and `expr`, the expression that yields it."""


def number_starts_at(text: str) -> int:
    """Where the number at the end of `text`, with its unit, begins.

    >>> text = "the chip does 197 TFLOP/s"
    >>> text[number_starts_at(text):]
    '197 TFLOP/s'
    >>> text = "so it takes about 2 × 10⁻⁹ s"
    >>> text[number_starts_at(text):]
    'about 2 × 10⁻⁹ s'
    >>> text = "no more than a tenth"
    >>> text[number_starts_at(text):]
    'tenth'
    """
    found = [m for m in NUMBER.finditer(text) if len(text) - m.end() <= LONGEST_UNIT]
    return found[-1].start() if found else len(text) - len(text.split()[-1])


def mark_numbers(document: nodes.document) -> int:
    """Wraps the number before each check comment in a `checked_number`; returns how many there were."""
    count = 0
    for comment in list(document.findall(nodes.raw)):
        match = COMMENT.fullmatch(comment.astext().strip())
        if not match:
            continue
        parent, at = comment.parent, comment.parent.index(comment)
        before = next((node for node in reversed(parent[:at]) if node.astext().strip()), None)
        parent.remove(comment)
        if before is None:
            continue
        expr = "" if match["given"] else " ".join(match["expr"].split())
        _wrap(before, checked_number(expr=expr))
        count += 1
    return count


def _wrap(node: nodes.Node, wrapper: checked_number) -> None:
    """Moves the number that ends `node` (or, where it is not plain text, the whole of it) into `wrapper`."""
    parent, at = node.parent, node.parent.index(node)
    if not isinstance(node, nodes.Text):
        parent[at] = wrapper
        wrapper += node
        return
    text = node.astext()
    stripped = text.rstrip()
    start = number_starts_at(stripped)
    wrapper += nodes.Text(unbroken(stripped[start:]))
    parent[at : at + 1] = [n for n in (nodes.Text(text[:start]), wrapper) if n.astext()]


def unbroken(number: str) -> str:
    """The number with spaces at which no line breaks: around × and before its unit.

    >>> unbroken("about 6.3 × 10²⁴ FLOPs per byte")
    'about 6.3\xa0×\xa010²⁴\xa0FLOPs per byte'
    """
    return re.sub(r" (×) |(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹]) (?=[^\W\d])", lambda m: f"\xa0{m[1]}\xa0" if m[1] else "\xa0", number)


def _visit_html(self, node: checked_number) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="sl-sum", **{"data-sum": node["expr"]}))


def _depart_html(self, node: checked_number) -> None:
    self.body.append("</span>")


def _pass(self, node: checked_number) -> None:
    """Other builders show the number alone."""


def setup(app) -> dict:
    plain = (_pass, _pass)
    app.add_node(checked_number, html=(_visit_html, _depart_html), latex=plain, text=plain, man=plain, texinfo=plain)
    app.connect("doctree-read", lambda app, document: mark_numbers(document) and None)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
