"""Parts of a page's HTML that stand around the text or touch up what Sphinx made of it. Pure functions of strings."""

import html
import re

NOTRANSLATE = re.compile(r'(<\w+ (?:(?!translate=)[^>])*?class="[^"]*\bnotranslate\b[^"]*")')
SHORT_CELL = re.compile(r"(<t[dh][^>]*><p>)([^<>]{1,30})(</p>)")
UNIT = re.compile(r"(?<=\d) (?=[^\W\d])")
LEAD = re.compile(r"(<h1>.*?</h1>)\s*(<p class=\"sl-tools.*?</p>)\s*<p><em>(.*?)</em></p>", re.DOTALL)
# Docutils gives a bibliography the role of a list whose entries are no list items.
BAD_ROLE = '<div role="list" class="citation-list">'


def touch_up(body: str) -> str:
    """Small repairs that no stylesheet can make.

    >>> touch_up('<td class="text-right"><p>197 TFLOP/s</p></td>')
    '<td class="text-right"><p>197\\xa0TFLOP/s</p></td>'
    >>> touch_up('<code class="docutils literal notranslate">B</code>')
    '<code class="docutils literal notranslate" translate="no">B</code>'
    """
    body = SHORT_CELL.sub(lambda m: m[1] + UNIT.sub("\xa0", m[2]) + m[3], body)  # a number keeps its unit
    body = body.replace(BAD_ROLE, '<div class="citation-list">')
    return NOTRANSLATE.sub(r'\1 translate="no"', body)


def tool_row(colab: str, download: str) -> str:
    """The line below a page's title; `download` is empty where the page is no notebook.

    The switch of *Show the sums* is added by its script.
    """
    notebook = (
        f'<a href="{html.escape(colab)}">Open in Colab</a>'
        f'<a href="{html.escape(download)}" download>Download notebook</a>'
    )
    return f'<p class="sl-tools d-print-none">{notebook if download else ""}</p>'


def description(text: str, most: int = 155) -> str:
    """What a search engine shows of a page: its first words, cut at a word's end.

    >>> description('Write down "how" arrays lie on many chips.', most=30)
    '<meta name="description" content="Write down &quot;how&quot; arrays lie…">'
    """
    words = " ".join(text.removeprefix("What you will be able to do.").split())
    short = words if len(words) <= most else words[: most - 1].rsplit(" ", 1)[0] + "…"
    return f'<meta name="description" content="{html.escape(short)}">' if short else ""


def start_page(body: str, first: str, title: str) -> str:
    """The start page's head: title, the first line in italics, and the way to the first chapter."""
    link = f'<a class="sl-go" href="{html.escape(first)}">Start with {html.escape(title)}</a>'
    return LEAD.sub(rf'<header class="sl-start">\1<p class="sl-lead">\3</p><p>{link}</p></header>\2', body, count=1)


def footer(links: dict[str, str]) -> str:
    """The line at the end of each page."""
    items = {"report": "Report an error on this page", "cite": "Cite this book", "licence": "Licence"}
    anchors = (f'<a href="{html.escape(links[key])}">{text}</a>' for key, text in items.items())
    return f'<p class="sl-foot">{"".join(anchors)}</p>'
