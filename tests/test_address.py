"""The public address stands in one place."""

from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="the book's tools are not installed here")

from tools import address as tool  # noqa: E402  (after the skip)

ROOT = Path(__file__).resolve().parent.parent


def checkout(folder, url="https://host.example/someone/book"):
    (folder / "_config.yml").write_text(f"repository:\n  url: {url}\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    return folder


def test_no_other_tracked_file_writes_the_address():
    assert tool.strays() == []


def test_a_stray_address_is_found_with_its_line(tmp_path):
    checkout(tmp_path)
    (tmp_path / "README.md").write_text("one\nsee https://HOST.example/someone/book/issues\n")
    (tmp_path / "short.md").write_text("someone/book\n")
    (tmp_path / "pages.md").write_text("https://someone.github.io/book\n")
    (tmp_path / "fine.md").write_text("someone wrote a book\n")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.ipynb").write_text("https://host.example/someone/book\n")
    files = ["README.md", "short.md", "pages.md", "fine.md", "chapters/a.ipynb", "_config.yml", "gone.md"]
    assert tool.strays(tmp_path, files) == ["README.md:2", "short.md:1", "pages.md:1"]


def test_what_is_generated_from_it_is_up_to_date():
    for name, text in tool.generated().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run `make notebooks`"


def test_a_new_address_and_version_reach_the_citation_alone(tmp_path):
    checkout(tmp_path)
    before = (
        'version: 0\nurl: "x"\nrepository-code: "x"\nreferences:\n  - type: book\n    url: "https://other.example"\n'
    )
    (tmp_path / "CITATION.cff").write_text(before)
    after = yaml.safe_load(tool.generated(tmp_path)["CITATION.cff"])
    assert after["version"] == "1.2.3"
    assert after["url"] == after["repository-code"] == "https://host.example/someone/book"
    assert after["references"][0]["url"] == "https://other.example"


@pytest.mark.parametrize("url", ["", "http://host.example/a/b", "host.example/a/b", "https://host.example/a", "42"])
def test_a_malformed_address_says_how_it_must_read(tmp_path, url):
    with pytest.raises(
        tool.AddressFault, match=r"_config\.yml: repository\.url is .* it must read https://host/owner/name"
    ):
        tool.address(checkout(tmp_path, url))
