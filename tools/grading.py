"""The nbgrader side of an exercise notebook: which cells are graded or locked, and the release version."""

import copy

STUB = "answer = ..."
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"


def grade_id(key: str, role: str) -> str:
    """nbgrader's name of a cell, which allows no dots.

    >>> grade_id("ch03.q2", "check")
    'ch03-q2-check'
    """
    return f"{key.replace('.', '-')}-{role}"


def metadata(key: str, role: str, points: float = 0) -> dict:
    """nbgrader's metadata of a prompt, answer or check cell.

    >>> metadata("ch03.q2", "check", points=2)["points"]
    2
    """
    graded = role == "check"
    found = {
        "grade": graded,
        "grade_id": grade_id(key, role),
        "locked": role != "answer",
        "schema_version": 3,
        "solution": role == "answer",
        "task": False,
    }
    return {**found, "points": points} if graded else found


def check_cell(source: str) -> str:
    """A check line with the assertion that a grader needs: a verdict alone never raises, so it would give full marks.

    It imports `check` itself, whatever the learner calls by that name further up.

    >>> print(check_cell('check("ch01.q1", answer)'))
    from scaling_lib.exercises import check
    <BLANKLINE>
    v = check("ch01.q1", answer)
    ### BEGIN HIDDEN TESTS
    assert v.passed, v
    ### END HIDDEN TESTS
    v
    """
    asserted = "### BEGIN HIDDEN TESTS\nassert v.passed, v\n### END HIDDEN TESTS"
    return f"from scaling_lib.exercises import check\n\nv = {source.strip()}\n{asserted}\nv"


def stub_for(source: str, stub: str) -> str:
    """What takes the solution's place: the exercise's stub, or `...` where the text leaves code around the solution.

    >>> stub_for("### BEGIN SOLUTION\\nanswer = 2\\n### END SOLUTION", "")
    'answer = ...'
    >>> stub_for("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION", "def f(x): ...")
    '...'
    """
    lines = [line for line in source.splitlines() if line.strip()]
    whole = BEGIN in lines[0] and END in lines[-1]
    indented = any(BEGIN in line and line.startswith((" ", "\t")) for line in lines)
    return (stub or STUB) if whole else "..." if indented else STUB


def release(notebook, stubs: dict[str, str]):
    """The learner's version of a solutions notebook, by nbgrader's own preprocessors.

    Args:
      notebook: the solutions notebook, with metadata.
      stubs: key of a code question -> its stub; the others get `answer = ...`.
    """
    from nbgrader.preprocessors import CheckCellMetadata, ClearHiddenTests, ClearOutput, ComputeChecksums, LockCells

    made = copy.deepcopy(notebook)
    _clear_solutions(made, stubs)
    for step in (ClearOutput, ClearHiddenTests, LockCells, ComputeChecksums, CheckCellMetadata):
        made, _ = step().preprocess(made, {})
    return made


def _clear_solutions(notebook, stubs: dict[str, str]) -> None:
    """ClearSolutions cell by cell, for each question may have a stub of its own."""
    from nbgrader.preprocessors import ClearSolutions

    step, by_id = ClearSolutions(), {grade_id(key, "answer"): stub for key, stub in stubs.items()}
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            own = by_id.get(cell.metadata.get("nbgrader", {}).get("grade_id"), "")
            step.code_stub = {"python": stub_for(cell.source, own)}
            step.preprocess_cell(cell, {"language": "python"}, index)
