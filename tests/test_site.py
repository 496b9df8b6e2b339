"""What the site is made of, checked without a browser: settings, extension, boxes, the traps of the toolchain."""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("jupyter_book", reason="the book's tools are not installed here")
yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
STATIC = ROOT / "book" / "static"
LIMIT = 350  # lines of a script: beyond that it is no longer small


@pytest.fixture(scope="module")
def book():
    """`book("answer_boxes")` imports a module of book/, which is no package."""
    sys.path.append(str(ROOT / "book"))

    def load(name: str):
        spec = importlib.util.spec_from_file_location(f"book_{name}", ROOT / "book" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.path.remove(str(ROOT / "book"))


def raw(document, text: str):
    from docutils import nodes

    return nodes.raw("", text, format="html")


def paragraph(*parts):
    """A document with one paragraph of texts, comments and other nodes."""
    from docutils import nodes
    from docutils.utils import new_document

    document = new_document("test")
    node = nodes.paragraph()
    for part in parts:
        is_comment = isinstance(part, str) and part.startswith("<!--")
        node += raw(document, part) if is_comment else nodes.Text(part) if isinstance(part, str) else part
    document += node
    return document


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "book").glob("*.py")))
def test_examples_in_the_sites_modules_hold(book, name):
    import doctest

    assert doctest.testmod(book(name)).failed == 0


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_a_failed_cell_fails_the_build_and_nothing_stale_is_served():
    assert CONFIG["execute"]["execute_notebooks"] == "force"
    assert CONFIG["execute"]["raise_on_error"] is True


def test_no_page_loads_widget_scripts_from_elsewhere():
    settings = CONFIG["sphinx"]["config"]
    assert settings["nb_ipywidgets_js"] == {}
    assert settings["nb_mime_priority_overrides"] == [["html", "text/html", 0]]


def test_nothing_lies_where_jupyter_book_would_add_it_to_every_page():
    assert not (ROOT / "_static").exists()


def test_pages_come_from_few_places_and_each_stands_in_the_toc(book):
    listed = set(book("build").pages_in_toc())
    patterns = CONFIG["sphinx"]["config"]["include_patterns"]
    found = {p.relative_to(ROOT).with_suffix("").as_posix() for pattern in patterns for p in ROOT.glob(pattern)}
    assert found == listed


def test_no_notebook_has_a_text_of_the_same_name_beside_it():
    for tree in ("chapters", "exercises", "solutions"):
        assert not list((ROOT / tree).glob("*.md"))


def test_the_site_repeats_the_address_nowhere():
    address = CONFIG["repository"]["url"]
    for path in [*(ROOT / "book").rglob("*"), ROOT / "_toc.yml", ROOT / "references.bib"]:
        if path.is_file() and "__pycache__" not in path.parts:
            assert address.split("//")[1] not in path.read_text(encoding="utf-8"), path


def test_scripts_stay_small_and_hold_no_address_of_another_host():
    for path in STATIC.glob("*.[cj]s*"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= LIMIT, path
        assert "http://" not in text and "https://" not in text, path


def test_links_are_made_from_the_one_address(book):
    extension = book("scaling_book")
    options = {"repository_url": "https://github.com/o/n", "launch_buttons": CONFIG["launch_buttons"]}
    app = SimpleNamespace(
        srcdir=ROOT,
        config=SimpleNamespace(html_theme_options=options),
        env=SimpleNamespace(doc2path=lambda name: ROOT / f"{name}.ipynb"),
    )
    links = extension.links_of(app, "chapters/ch01_rooflines")
    assert links["colab"] == "https://colab.research.google.com/github/o/n/blob/main/chapters/ch01_rooflines.ipynb"
    assert links["report"].startswith(
        "https://github.com/o/n/issues/new?title=Error+in+chapters%2Fch01_rooflines.ipynb"
    )
    for name in ("cite", "licence"):
        assert (ROOT / links[name].removeprefix("https://github.com/o/n/blob/main/")).is_file()


def test_no_output_needs_a_kernel_to_be_seen():
    executed = sorted((ROOT / "_build" / "jupyter_execute").rglob("*.ipynb"))
    if not executed:
        pytest.skip("the site is not built: run `make book`")
    for path in executed:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                kinds = output.get("data", {})
                assert "application/vnd.jupyter.widget-view+json" not in kinds or "text/html" in kinds, path


# --- The build --------------------------------------------------------------------------------------------------------


def test_a_page_that_is_missing_or_shows_an_error_is_named(book, tmp_path):
    build = book("build")
    (tmp_path / "a.html").write_text("<p>fine</p>")
    (tmp_path / "b.html").write_text('<div class="output traceback highlight">Traceback</div>')
    assert build.explain_missing(["a"], tmp_path) == ""
    assert build.explain_missing(["a", "c"], tmp_path) == "no HTML for c"
    assert build.explain_missing(["a", "b"], tmp_path) == "an error is shown on b"


def test_the_fingerprint_follows_the_library(book, tmp_path, monkeypatch):
    build = book("build")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "scaling_lib").mkdir()
    (tmp_path / "scaling_lib" / "a.py").write_text("x = 1")
    before = build.fingerprint()
    (tmp_path / "notes.md").write_text("prose")
    assert build.fingerprint() == before
    (tmp_path / "scaling_lib" / "a.py").write_text("x = 2")
    assert build.fingerprint() != before


# --- Show the sums ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("the chip does 197 TFLOP/s ", "197 TFLOP/s"),
        ("that is about 2,189 ", "about 2,189"),
        ("so 1.97 × 10¹⁴ ", "1.97 × 10¹⁴"),
        ("on a TPU v5e it is 240 FLOPs per byte ", "240 FLOPs per byte"),
        ("it costs $1.20 ", "$1.20"),
        ("from 3 to 0.2% ", "0.2%"),
        ("less than a tenth ", "tenth"),
    ],
)
def test_the_number_before_a_check_is_marked(book, text, marked):
    sums = book("checked_sums")
    document = paragraph(text, "<!-- = 1 + 1 -->", " and so on.")
    assert sums.mark_numbers(document) == 1
    (number,) = document.findall(sums.checked_number)
    assert (number.astext().replace("\xa0", " "), number["expr"]) == (marked, "1 + 1")
    assert (
        document.astext().replace("\xa0", " ") == text.rstrip() + " and so on."
    )  # nothing is lost, and no comment is left


def test_a_bold_number_and_a_premise_are_marked_too(book):
    from docutils import nodes

    sums = book("checked_sums")
    document = paragraph(
        "It takes ", nodes.strong("", "12 s"), " ", "<!-- = t -->", ", given 3 chips ", "<!-- given -->"
    )
    assert sums.mark_numbers(document) == 2
    assert [(n.astext(), n["expr"]) for n in document.findall(sums.checked_number)] == [
        ("12 s", "t"),
        ("3\xa0chips", ""),
    ]


def test_other_comments_are_left_alone(book):
    document = paragraph("a number 3 ", "<!-- a note -->")
    assert book("checked_sums").mark_numbers(document) == 0


# --- Boxes ------------------------------------------------------------------------------------------------------------


def test_every_exercise_makes_a_box_that_holds_all_its_help(book):
    from scaling_lib.exercises import exercises

    boxes = book("answer_boxes")
    for e in exercises():
        spec = boxes.spec_of(e.key)
        made = boxes.box_html(spec, "guess" if e.is_guess else "answer", "s.html", "https://c")
        assert made.count("<details") == made.count("</details>") == len(spec["hints"]) + 1
        data = made.split('<script type="application/json">')[1].split("</script>")[0]
        assert json.loads(data)["value"] == spec["value"]
        assert boxes.answer_text(spec).split(" ")[0] in made


def test_print_lists_every_answer_of_a_page(book):
    from scaling_lib.exercises import exercises

    boxes = book("answer_boxes")
    shown = [(boxes.spec_of(e.key), "guess" if e.is_guess else "answer") for e in exercises()]
    made = boxes.answers_html(shown)
    assert made.count("<dt>") == made.count("</dd>") == len(shown)
    assert all(boxes.answer_text(spec).split(" ")[0] in made for spec, role in shown)


def test_the_hardware_appendix_has_a_heading_for_every_chip():
    from scaling_lib.hardware import chips

    text = (ROOT / "text" / "chapters" / "app_c_hardware.md").read_text(encoding="utf-8")
    assert [c.name for c in chips() if f"(app-c-{c.name})=\n### {c.title}\n" not in text] == []


def test_a_tables_number_keeps_its_unit(book):
    touched = book("page_parts").touch_up("<td><p>80 GB (74.51 GiB)</p></td><td><p>chips per host</p></td>")
    assert touched == "<td><p>80\xa0GB (74.51\xa0GiB)</p></td><td><p>chips per host</p></td>"


def test_a_twin_is_told_from_a_guess(book):
    from docutils import nodes

    boxes = book("answer_boxes")
    document = paragraph("Its twin. The same on an H100?")
    cell = nodes.container()
    document += cell
    assert boxes.role_of(cell, ["guess", "ch01.g1"]) == "twin"
    assert boxes.role_of(cell, ["check", "ch01.q1"]) == "answer"
    document[0][0] = nodes.Text("What share will it use?")
    assert boxes.role_of(cell, ["guess", "ch01.g1"]) == "guess"


@pytest.mark.parametrize(
    ("opening", "kind"), [("Common mistake.", "mistake"), ("On GPUs.", "gpus"), ("Where we differ.", "differ")]
)
def test_a_quotation_with_a_catchword_is_a_box(book, opening, kind):
    from docutils import nodes
    from docutils.utils import new_document

    document = new_document("test")
    words = nodes.paragraph("", "", nodes.Text(""), nodes.strong("", opening), nodes.Text(" Bits for bytes."))
    document += nodes.block_quote("", words)
    book("text_marks").mark(document)
    assert document[0]["classes"] == ["sl-box", f"sl-box-{kind}"]
    assert document.astext() == f"{opening} Bits for bytes."


def test_printed_lines_wrap_unless_they_stand_in_columns(book):
    from docutils import nodes

    texts = ["a line\n  and one indented", "a  1\nb  2"]
    output = nodes.container("", *(nodes.literal_block(text, text) for text in texts), classes=["cell_output"])
    document = paragraph("text")
    document += [output, nodes.literal_block("code", "code")]
    book("text_marks").mark(document)
    assert [block["classes"] for block in document.findall(nodes.literal_block)] == [["sl-wraps"], [], []]


def test_the_graders_marks_stay_out_of_solution_pages(book):
    extension = book("scaling_book")
    code = "v = check(1)\n### BEGIN HIDDEN TESTS\nassert v\n### END HIDDEN TESTS\nv"
    assert extension.HIDDEN.sub("", code) == "v = check(1)\nv"
    assert extension.MARKERS.search("### BEGIN SOLUTION") and extension.MARKERS.search("### END SOLUTION")


def test_choices_are_listed_once(book):
    from docutils import nodes

    boxes = book("answer_boxes")
    section = nodes.section("", nodes.paragraph("", "Which one?"))
    letters = nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph("", f"{c}: choice")) for c in "ab"))
    plain = nodes.bullet_list("", nodes.list_item("", nodes.paragraph("", "a fact of the question")))
    box = boxes.answer_box(spec={"kind": "choice"}, role="answer", docname="x")
    section += [plain, letters, nodes.paragraph("", 'Answer with a letter, such as "a".'), box]
    boxes.drop_listed_choices(box)
    assert [type(node) for node in section] == [nodes.paragraph, nodes.bullet_list, boxes.answer_box]
