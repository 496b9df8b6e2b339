"""The first cell of every notebook: it installs the pinned release where `scaling_lib` is missing (on Colab)."""

TEMPLATE = """\
# {path} · {address}
# Nothing happens where scaling_lib is installed. Elsewhere (Colab) its pinned release joins what is there.
import importlib.util

if importlib.util.find_spec("scaling_lib") is None:
    import subprocess
    import sys

    release = "{release}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", release], check=True)
    importlib.invalidate_caches()"""


def release_archive(address: str, version: str) -> str:
    """The address from which the pinned release is installed.

    >>> release_archive("https://host/owner/name", "0.1.0")
    'https://host/owner/name/archive/refs/tags/v0.1.0.zip'
    """
    return f"{address}/archive/refs/tags/v{version}.zip"


def bootstrap(path: str, address: str, version: str) -> str:
    """The source of the first cell; its first line tells the notebook's path and the book's address."""
    return TEMPLATE.format(path=path, address=address, release=release_archive(address, version))


def notebook_path(source: str) -> str:
    """The path that a first cell states.

    >>> notebook_path(bootstrap("chapters/ch01_x.ipynb", "https://host/owner/name", "0.1.0"))
    'chapters/ch01_x.ipynb'
    """
    return source.splitlines()[0].removeprefix("# ").split(" · ")[0]
