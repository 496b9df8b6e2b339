"""The one public address: `repository.url` in _config.yml. Everything else that shows it is generated.

Moving the book: change that line, run `make notebooks`, commit.
"""

import re
import subprocess
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "_config.yml"
CITATION = "CITATION.cff"
NOTEBOOK_TREES = ("chapters", "exercises", "solutions")


class AddressFault(ValueError):
    """The public address is missing or malformed; says where it must stand and how it reads."""


def address(root: Path = ROOT) -> str:
    """The repository's public address, without a trailing slash.

    >>> address().startswith("https://")
    True
    """
    import yaml  # here, so that the rest of the tools works where only the library is installed

    config = yaml.safe_load((root / SOURCE).read_text(encoding="utf-8")) or {}
    url = str((config.get("repository") or {}).get("url") or "")
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/").count("/") < 1:
        raise AddressFault(f"{SOURCE}: repository.url is {url!r}; it must read https://host/owner/name")
    return url.rstrip("/").removesuffix(".git")


def version(root: Path = ROOT) -> str:
    """The version that pyproject.toml states.

    >>> version().count(".")
    2
    """
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def generated(root: Path = ROOT) -> dict[str, str]:
    """The files, notebooks apart, that state address or version: path -> text as it must be."""
    path = root / CITATION
    if not path.exists():
        return {}
    return {CITATION: stamped(path.read_text(encoding="utf-8"), address(root), version(root))}


def stamped(citation: str, url: str, release: str) -> str:
    """Sets the book's own address and version in CITATION.cff; the works it refers to are left alone.

    >>> print(stamped("title: X\\nversion: 0\\nurl: ?\\nreferences:\\n  - url: y", "https://h/o/n", "1.2.3"))
    title: X
    version: 1.2.3
    url: "https://h/o/n"
    references:
      - url: y
    """
    for key, value in {"version": release, "repository-code": f'"{url}"', "url": f'"{url}"'}.items():
        citation = re.sub(rf"^{key}:.*$", f"{key}: {value}", citation, flags=re.MULTILINE)
    return citation


def spellings(url: str) -> tuple[str, ...]:
    """What no other file may hold: host and path, owner and name alone, and the address of the pages.

    >>> spellings("https://github.com/Some/book")
    ('github.com/some/book', 'some/book', 'some.github.io')
    """
    parts = urlsplit(url.lower())
    path = parts.path.strip("/")
    pages = f"{path.split('/')[0]}.github.io"
    return (f"{parts.hostname}/{path}", path, pages)


def strays(root: Path = ROOT, files: list[str] | None = None) -> list[str]:
    """Tracked files that write the address though they are not generated from it, as `file:line`."""
    wanted = spellings(address(root))
    own = {SOURCE, CITATION}
    found = []
    for name in tracked(root) if files is None else files:
        path = root / name
        if name in own or name.startswith(tuple(f"{t}/" for t in NOTEBOOK_TREES)) or not path.is_file():
            continue
        lines = path.read_bytes().decode("utf-8", errors="ignore").lower().splitlines()
        found += [f"{name}:{i}" for i, line in enumerate(lines, 1) if any(s in line for s in wanted)]
    return found


def tracked(root: Path = ROOT) -> list[str]:
    """The paths that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name]
