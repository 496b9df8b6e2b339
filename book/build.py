"""Builds the site: `make book` runs it bare, `make quick` with `--quick`.

The bare build runs every notebook from scratch. The quick one keeps the outputs of code cells that did not change, so
it serves for prose; it forgets all of them when the library changed, for the cache looks at a cell's text alone.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
CACHE = BUILD / ".jupyter_cache"
STAMP = BUILD / ".library"
JOBS = 2
ERROR = re.compile(r'class="output (?:traceback|error)|<div class="system-message')


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="rebuild what changed; keep outputs of unchanged code")
    quick = options.parse_args(arguments).quick
    started, current = time.monotonic(), fingerprint()
    prepare_environment()
    quick = quick and still_valid(current)
    failed = plan_prose() or run_sphinx(quick) or explain_missing(pages_in_toc(), SITE)
    if failed:
        print(f"The book was not built: {failed}", file=sys.stderr)
        return 1
    if not quick:
        seed_cache()
    STAMP.write_text(current, encoding="utf-8")
    print(f"The book is in {(SITE / 'index.html').relative_to(ROOT)} ({time.monotonic() - started:.0f} s).")
    print("`make serve` shows it on http://localhost:8000")
    return 0


def prepare_environment() -> None:
    """What the kernels of the build inherit."""
    os.environ["SCALING_BOOK"] = "1"  # explorers leave their scripts to the page
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else frozen modules bring a warning into the outputs
    hook = ROOT / "tools" / "kernel"
    if hook.is_dir():
        os.environ["IPYTHONDIR"] = str(hook)  # a start-up script there records the values of checked prose


def plan_prose() -> str:
    """Tells the kernels which expressions of the prose to evaluate, and after which cell; returns what went wrong."""
    script = ROOT / "tools" / "prose.py"
    if script.exists() and subprocess.run([sys.executable, str(script), "--plan"], cwd=ROOT).returncode:
        return "the prose has faults, listed above"
    return ""


def fingerprint() -> str:
    """A digest of all that a page depends on, apart from its text: library, extension, versions."""
    digest = hashlib.sha256(sys.version.encode())
    library = [p for p in (ROOT / "scaling_lib").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    for path in sorted([*library, *(ROOT / "book").glob("*.py"), *ROOT.glob("requirements.lock")]):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def still_valid(current: str) -> bool:
    """Whether what the last build kept may be used."""
    if STAMP.exists() and CACHE.is_dir() and STAMP.read_text(encoding="utf-8") == current:
        return True
    print("The library or the site's extension changed, or nothing was built yet: building from scratch.")
    return False


def run_sphinx(quick: bool) -> str:
    """Runs Jupyter Book with warnings as errors; returns what went wrong, or nothing."""
    from jupyter_book.sphinx import build_sphinx

    if not quick:
        STAMP.unlink(missing_ok=True)
        for stale in (SITE, CACHE, BUILD / "jupyter_execute", BUILD / ".doctrees"):
            shutil.rmtree(stale, ignore_errors=True)
    overrides = {
        "external_toc_path": (ROOT / "_toc.yml").as_posix(),
        "nitpicky": True,
        "nb_execution_mode": "cache" if quick else "force",
        "nb_execution_cache_path": str(CACHE),
        "latex_individualpages": False,
    }
    result = build_sphinx(
        ROOT,
        SITE,
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides=overrides,
        doctreedir=BUILD / ".doctrees",
        warningiserror=True,
        keep_going=True,
        jobs=1 if quick else JOBS,  # two at once can fall over each other in the cache
    )
    if isinstance(result, BaseException):
        return f"{result}\n{result.__cause__ or ''}"  # the cause of a failed notebook shows its cell and traceback
    return "see the warnings above" if result else ""


def pages_in_toc() -> list[str]:
    """The pages that _toc.yml lists.

    >>> "intro" in pages_in_toc()
    True
    """
    from sphinx_external_toc.parsing import parse_toc_yaml

    site_map = parse_toc_yaml(ROOT / "_toc.yml")
    return sorted(re.sub(r"\.(md|ipynb)$", "", name) for name in site_map)


def explain_missing(pages: list[str], site: Path) -> str:
    """Names pages without HTML and pages that show an error; nothing when all is well."""
    missing = [page for page in pages if not (site / f"{page}.html").is_file()]
    if missing:
        return f"no HTML for {', '.join(missing)}"
    broken = [page for page in pages if ERROR.search((site / f"{page}.html").read_text(encoding="utf-8"))]
    return f"an error is shown on {', '.join(broken)}" if broken else ""


def seed_cache() -> None:
    """Hands the notebooks that were just run to the cache, so that the next quick build need not run them."""
    from jupyter_cache import get_cache

    cache = get_cache(CACHE)
    for path in sorted((BUILD / "jupyter_execute").rglob("*.ipynb")):
        source = ROOT / path.relative_to(BUILD / "jupyter_execute")
        cache.cache_notebook_file(path, uri=str(source), check_validity=False, overwrite=True)


if __name__ == "__main__":
    sys.exit(main())
