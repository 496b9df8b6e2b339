"""Turns text/ into chapters/, exercises/ and solutions/: one way, and byte for byte the same each time.

python tools/notebooks.py [STEM ...]   writes the notebooks, and the files that state the public address
python tools/notebooks.py --check      writes nothing; fails, and says where, if a file is not what the text gives

A text is MyST markdown, cells of prose parted by `+++`. In exercises each question has a prompt below its target
`(ch01-q1)=`, a code cell tagged `answer` and one tagged `check`, each also with the key, `ch01.q1`. A cell of prose
tagged `solution` (`+++ {"tags": ["solution"]}`) is shown with the solutions only. A chapter's guess box is tagged
`guess`.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

if __package__ in (None, ""):  # run as a script
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tools import trees
from tools.address import NOTEBOOK_TREES, ROOT, address, generated, version
from tools.cells import Cell, TextFault, faults, read_cells
from tools.matching import chapter_of, match_exercises, match_guesses, unmarked_checks, with_prompts
from tools.outputs import RunFault, in_fresh_processes, run_cells


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("stems", nargs="*", help="only these, such as ch01_rooflines; all if left out")
    options.add_argument("--check", action="store_true", help="compare, and write nothing")
    given = options.parse_args(arguments)
    try:
        made = build(ROOT, given.stems)
    except (TextFault, RunFault) as fault:
        print(f"notebooks: {fault}", file=sys.stderr)
        return 1
    extra = [] if given.stems else unexpected(ROOT, made)
    if given.check:
        stale = [says for name, content in made.items() if (says := difference(ROOT / name, content, name))]
        stale += [f"{name}: no text makes this file" for name in extra]
        print("\n".join([*stale, "run `make notebooks`"] if stale else [f"{len(made)} generated files are up to date"]))
        return bool(stale)
    write(ROOT, made, extra)
    return 0


def specs_of(chapter: str) -> dict[str, object]:
    """The exercises of a chapter, key -> spec; none for a chapter without exercises."""
    from scaling_lib.exercises import chapters, exercises

    return {spec.key: spec for spec in exercises(chapter)} if chapter in chapters() else {}


def build(root: Path = ROOT, stems: list[str] | None = None, specs: Callable = specs_of) -> dict[str, bytes]:
    """Every generated file: path -> bytes. Nothing is written.

    Raises:
      TextFault: a text that no notebook can be made of.
      RunFault: a solution that fails its own check.
    """
    stated = {name: text.encode() for name, text in generated(root).items()}
    return stated | build_chapters(root, stems, specs) | build_exercises(root, stems, specs)


def build_chapters(root: Path = ROOT, stems: list[str] | None = None, specs: Callable = specs_of) -> dict[str, bytes]:
    """The notebooks of chapters/."""
    found = texts(root, "chapters", stems)
    return {f"chapters/{path.stem}.ipynb": trees.to_bytes(chapter(path, root, specs)) for path in found}


def build_exercises(root: Path = ROOT, stems: list[str] | None = None, specs: Callable = specs_of) -> dict[str, bytes]:
    """The notebooks of exercises/ and solutions/; the solutions are run."""
    made = {}
    instructors = {path: assignment(path, root, specs) for path in texts(root, "exercises", stems)}
    cells = [trees.code_cells(notebook, places(path, root)) for path, notebook in instructors.items()]
    for (path, notebook), shown in zip(instructors.items(), in_fresh_processes(run_cells, cells), strict=True):
        stubs = {key: spec.stub for key, spec in specs(chapter_of(path.stem)).items()}
        learners = trees.exercises(path.stem, notebook, stubs, address(root), version(root))
        made[f"exercises/{path.stem}.ipynb"] = trees.to_bytes(learners)
        made[f"solutions/{path.stem}.ipynb"] = trees.to_bytes(trees.solution_page(trees.store(notebook, shown)))
    return made


def chapter(path: Path, root: Path = ROOT, specs: Callable = specs_of):
    """The notebook of a chapter's text."""
    cells = read(path, root)
    known = specs(chapter_of(path.stem))
    match_guesses(path.relative_to(root).as_posix(), cells, {k: s for k, s in known.items() if s.is_guess})
    return trees.chapter(path.stem, cells, address(root), version(root))


def assignment(path: Path, root: Path = ROOT, specs: Callable = specs_of):
    """The instructor's notebook of an exercise text, as nbgrader takes it: with solutions, without outputs."""
    known = {key: spec for key, spec in specs(chapter_of(path.stem)).items() if not spec.is_guess}
    cells = read(path, root)
    written = {cell.key for cell in cells if cell.key}
    cells = with_prompts(cells, written | set(known))
    match_exercises(path.relative_to(root).as_posix(), cells, known)
    points = {key: spec.points for key, spec in known.items()}
    return trees.solutions(path.stem, cells, points, address(root), version(root))


def read(path: Path, root: Path = ROOT) -> list[Cell]:
    """The cells of a text; refuses what no notebook of this book may hold."""
    name = path.relative_to(root).as_posix()
    cells = read_cells(path.read_text(encoding="utf-8"), name)
    for cell in cells:
        if found := faults(cell, chapter=path.parent.name == "chapters") or unmarked_checks(cell):
            raise TextFault(f"{name}:{cell.line}: {found[0]}")
    return cells


def texts(root: Path, tree: str, stems: list[str] | None = None) -> list[Path]:
    """The texts of a tree, all or those of the given stems."""
    found = sorted((root / "text" / tree).glob("*.md"))
    known = {p.stem for t in ("chapters", "exercises") for p in (root / "text" / t).glob("*.md")}
    if unknown := set(stems or ()) - known:
        raise TextFault(f"no text for {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [path for path in found if not stems or path.stem in stems]


def places(path: Path, root: Path) -> dict[str, str]:
    """Where the cells stand in the text: cell id -> file:line."""
    name = path.relative_to(root).as_posix()
    cells = read_cells(path.read_text(encoding="utf-8"), name)
    return {trees.cell_id(path.stem, i): f"{name}:{cell.line}" for i, cell in enumerate(cells, 1)}


def unexpected(root: Path, made: dict[str, bytes]) -> list[str]:
    """Notebooks in the trees that no text makes."""
    present = [p.relative_to(root).as_posix() for tree in NOTEBOOK_TREES for p in sorted((root / tree).glob("*.ipynb"))]
    return [name for name in present if name not in made]


def difference(path: Path, content: bytes, name: str) -> str:
    """Where a file first differs from what it must be; empty if it does not."""
    if not path.exists():
        return f"{name}: missing"
    present = path.read_bytes()
    if present == content:
        return ""
    pairs = enumerate(zip(present, content, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(present), len(content)))
    line = content[:at].count(b"\n") + 1
    has, must = (data[at : at + 40].decode(errors="replace") for data in (present, content))
    return f"{name}: first difference at byte {at} (line {line}): has {has!r}, the text gives {must!r}"


def write(root: Path, made: dict[str, bytes], extra: list[str]) -> None:
    """Writes what changed, removes what no text makes, and says which."""
    changed = [name for name, content in made.items() if difference(root / name, content, name)]
    for name in changed:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(made[name])
        print(f"wrote {name}")
    for name in extra:
        (root / name).unlink()
        print(f"removed {name}: no text makes it")
    print(f"{len(made)} generated files, {len(changed)} written")


if __name__ == "__main__":
    sys.exit(main())
