"""The site's own Sphinx extension: what the pages need beyond Jupyter Book.

* answer and guess boxes in place of the cells tagged `check` and `guess` (`answer_boxes.py`);
* *Show the sums* (`checked_sums.py`);
* an explorer's scripts, on the pages that hold one (Jupyter Book would add whatever lies in `_static` to all pages);
* links made from the one public address in `_config.yml`: Colab, report an error, cite;
* solution pages without the grader's marker lines; the look of the text's catchwords (`text_marks.py`).
"""

import re
from pathlib import Path
from urllib.parse import quote, urlencode

import answer_boxes
import page_parts
import text_marks
from docutils import nodes

ROOT = Path(__file__).resolve().parent.parent
STATIC = (ROOT / "book" / "static", ROOT / "scaling_lib" / "widgets" / "static")
MARKERS = re.compile(r"### (?:BEGIN|END) SOLUTION")
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS\n?", re.DOTALL)
# The theme draws its icons by font; this script (half a megabyte, compressed) would draw them once more.
ICON_SCRIPT = re.compile(r"\s*<(?:script|link)[^>]*fontawesome[^>]*/js/all\.min\.js[^>]*>(?:</script>)?")


def code_cells(document: nodes.document, *tags: str):
    """The code cells that carry one of the tags, with their tags."""
    for node in list(document.findall(nodes.container)):
        found = (node.get("cell_metadata") or {}).get("tags", []) if node.get("nb_element") == "cell_code" else []
        if not tags or set(tags) & set(found):
            yield node, found


def on_doctree(app, document: nodes.document) -> None:
    """Rewrites one page after it was read."""
    docname = app.env.docname
    if docname.startswith("solutions/"):
        tidy_solutions(document)
    else:
        answer_boxes.insert(document, docname, code_cells)
    text_marks.mark(document)


def tidy_solutions(document: nodes.document) -> None:
    """Takes the grader's markers out, and the code of the checks, whose verdict is enough."""
    for cell, tags in code_cells(document):
        for block in cell.findall(nodes.literal_block):
            text = HIDDEN.sub("", block.astext())
            text = "\n".join(line for line in text.splitlines() if not MARKERS.search(line)).strip("\n")
            if text != block.astext() and block.get("language", "").startswith(("ipython", "python")):
                block.rawsource = text
                block[:] = [nodes.Text(text)]
        if "check" in tags:
            for source in [n for n in cell.children if n.get("nb_element") == "cell_code_source"]:
                cell.remove(source)


def links_of(app, docname: str) -> dict[str, str]:
    """The page's links that depend on the public address."""
    options = app.config.html_theme_options
    address, branch = options["repository_url"].rstrip("/"), options.get("repository_branch") or "main"
    path = Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
    body = f"Page: {path}\n\nWhat it says:\n\nWhat it should say, and why (a source helps):\n"
    colab = options.get("launch_buttons", {}).get("colab_url", "").rstrip("/")
    return {
        "colab": f"{colab}/{address.removeprefix('https://').replace('.com', '', 1)}/blob/{branch}/{quote(path)}",
        "report": f"{address}/issues/new?" + urlencode({"title": f"Error in {path}", "body": body}),
        "cite": f"{address}/blob/{branch}/CITATION.cff",
        "licence": f"{address}/blob/{branch}/LICENSE-TEXT.md",
    }


def on_page(app, pagename, templatename, context, doctree) -> str | None:
    """Finishes one page's context just before it is written."""
    context["default_mode"] = context.get("default_mode") or "auto"  # an empty one puts an error into the console
    for assets in (context["script_files"], context["css_files"]):
        assets[:] = [asset for asset in assets if not _is_thebe(asset)]  # in place: `load` adds to these very lists
    if doctree is None or pagename not in app.env.all_docs:
        return None
    links, body = links_of(app, pagename), page_parts.touch_up(context["body"])
    if 'class="sl-answer' in body:
        load(app, "grammar.js", "answers.js")
    if 'class="sl-explorer' in body:
        load(app, "vega.min.js", "explorer.js", "explorer.css")
    is_notebook = context.get("page_source_suffix") == ".ipynb"
    download = f"{context['pathto']('_sources', 1)}/{context['sourcename']}" if is_notebook else ""
    body = body.replace("</h1>", "</h1>\n" + page_parts.tool_row(links["colab"], download), 1)
    if pagename == app.config.root_doc:
        first = next(iter(app.env.toctree_includes[pagename]))
        body = page_parts.start_page(body, context["pathto"](first), app.env.titles[first].astext())
    context["body"] = body
    context["theme_extra_footer"] = page_parts.footer(links)
    first = next(doctree.findall(nodes.paragraph), None)
    context["metatags"] = context.get("metatags", "") + page_parts.description(first.astext() if first else "")
    return None


def load(app, *names: str) -> None:
    """Adds files of `_static` to the page that is being written, and to no other."""
    for name in names:
        if name.endswith(".css"):
            app.add_css_file(name, priority=600)
        else:
            app.add_js_file(name, loading_method="defer", priority=600)


def _is_thebe(asset) -> bool:
    """Whether an asset is sphinx-thebe's; its scripts put a SyntaxError into every console."""
    name = str(getattr(asset, "filename", asset) or "")
    return "thebe" in name.lower() or "THEBE" in str((getattr(asset, "attributes", None) or {}).get("body", ""))


def on_builder(app) -> None:
    """Two extensions forget to say that they may run in parallel; both only set things up once."""
    for name in ("sphinx_multitoc_numbering", "sphinx-mathjax-offline"):
        if name in app.extensions:
            app.extensions[name].parallel_read_safe = app.extensions[name].parallel_write_safe = True


def on_finished(app, exception) -> None:
    """Takes out of the written pages what only the theme's template can put there."""
    if exception is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        lighter = ICON_SCRIPT.sub("", text)
        if lighter != text:
            page.write_text(lighter, encoding="utf-8")


def on_config(app, config) -> None:
    # `force` and `cache` give the same pages, so a quick build after a bare one need not read all of them again.
    mode = config.values["nb_execution_mode"]
    config.values["nb_execution_mode"] = type(mode)(mode.default, "", mode.valid_types)
    config.html_static_path.extend(str(folder) for folder in STATIC if folder.is_dir())


def setup(app) -> dict:
    app.setup_extension("checked_sums")
    app.setup_extension("answer_boxes")
    app.add_css_file("book.css", priority=700)
    app.add_css_file("print.css", priority=701)
    app.add_js_file("page.js", loading_method="defer")
    app.connect("config-inited", on_config)
    app.connect("builder-inited", on_builder)
    app.connect("build-finished", on_finished)
    app.connect("doctree-read", on_doctree)
    app.connect("html-page-context", on_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
