"""The catalogue's files: complete, sourced, and refused where they are not."""

import re
import tomllib

import pytest

import scaling_lib as sl
from scaling_lib.cli import main
from scaling_lib.hardware import catalog
from scaling_lib.hardware.specs import ABSENT, KINDS, TpuChip

TPUS = (catalog.DATA / "tpus.toml").read_text("utf-8")


@pytest.fixture
def read(tmp_path):
    """Reads TPU entries from a changed copy of the file."""

    def read(text):
        path = tmp_path / "tpus.toml"
        path.write_text(text, "utf-8")
        return catalog.read_chips(path, TpuChip)

    return read


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """The real catalogue on other files: gives a function that changes one file."""
    for file in catalog.DATA.glob("*.toml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(catalog, "DATA", tmp_path)

    def change(edit, name="tpus.toml"):
        path = tmp_path / name
        path.write_text(edit(path.read_text("utf-8")), "utf-8")
        catalog._chips.cache_clear()
        catalog._prices.cache_clear()

    yield change
    catalog._chips.cache_clear()
    catalog._prices.cache_clear()


def entry(name):
    """The text of one chip's entry."""
    return re.search(rf"\[{name}\]\n.*?(?=\n\[|\Z)", TPUS, re.S).group()


def test_every_figure_has_a_kind_a_source_and_a_place_in_it():
    for c in sl.chips():
        for field, origin in c.origins.items():
            assert origin.kind in KINDS and origin.source and origin.locator, (c.name, field)
            assert (getattr(c, field) is None) == (origin.kind in ABSENT), (c.name, field)
            assert origin.locator != "none recorded" or origin.kind in ABSENT, (c.name, field)
            assert origin.kind not in ("derived", "assumed") or origin.note, (c.name, field)


def test_our_own_sources_are_written_once_and_all_of_them_are_used():
    keys = set(tomllib.loads((catalog.DATA / "sources.toml").read_text("utf-8")))
    files = "".join(file.read_text("utf-8") for file in catalog.DATA.glob("*.toml"))
    assert set(re.findall(r'source = "([^"]*)"', files)) == keys


def test_a_figure_without_source_is_refused(read):
    line = re.search(r"hbm_bytes = .*", entry("tpu-v5e")).group()
    for bad in (re.sub(r' source = "[^"]*",', "", line), re.sub(r'source = "[^"]*"', 'source = " "', line)):
        with pytest.raises(sl.CatalogError, match=r"tpus.toml \[tpu-v5e\] hbm_bytes: source missing"):
            read(entry("tpu-v5e").replace(line, bad))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (r"hbm_bytes = .*\n", "", "missing hbm_bytes"),
        (r"title = .*\n", "", "missing title"),
        (r"hbm_bytes = ", "hbm_capacity = ", "missing hbm_bytes; unknown hbm_capacity"),
        (r"value = 820e9", 'value = "fast"', "hbm_bytes_per_s: value must be a positive float, got 'fast'"),
        (r"value = 820e9", "value = -820e9", "value must be a positive float, got -8200"),
        (r"value = 820e9", "value = inf", "value must be a positive float, got inf"),
        (r"value = 820e9, ", "", "hbm_bytes_per_s: a value is needed"),
        (r"value = 820e9, kind = \"published\"", 'value = 820e9, kind = "unsupported"', "none is possible"),
        (r"value = 820e9, kind = \"published\"", 'value = 820e9, kind = "rumour"', "kind must be one of published"),
        (r"value = 820e9, kind", "value = 820e9, sauce = 1, kind", "must be a table of .*alternates"),
        (r"hbm_bytes_per_s = \{.*", "hbm_bytes_per_s = 820e9 # {", "must be a table of"),
        (r"pod_shape = \{ value = \[16, 16\]", "pod_shape = { value = [16, 0]", "must be a positive tuple"),
        (r"megacore = \{ value = false", "megacore = { value = 0", "must be a positive bool"),
        (r"value = 800e9, source = \"\w+\"", 'value = 800e9, source = ""', "an alternate has no source"),
    ],
)
def test_a_malformed_entry_is_refused_by_name(read, old, new, says):
    text = entry("tpu-v5e")
    if new.endswith("# {"):  # a bare number: drop the alternates that follow it
        text = re.sub(r"(hbm_bytes_per_s = \{.*?)alternates = \[\n.*?\n\] \}", r"\1 }", text, flags=re.S)
    changed, count = re.subn(old, new, text, count=1)
    assert count == 1
    with pytest.raises(sl.CatalogError, match=says) as error:
        read(changed)
    assert "tpus.toml [tpu-v5e]" in str(error.value)


def test_a_fictional_chip_in_one_entry_shows_in_every_table(catalogue, capsys):
    fiction = entry("tpu-v5e").replace("[tpu-v5e]", "[tpu-v99]").replace('"TPU v5e"', '"TPU v99"')
    fiction = re.sub(r'hbm_bytes_per_s = \{ value = 820e9, (.*?)source = "\w+"', r'hbm_bytes_per_s = { value = 1e12, \1source = "invented for a test"', fiction)  # fmt: skip  # noqa: E501
    catalogue(lambda text: text + "\n" + fiction)
    assert sl.ridge_point("tpu-v99") == 197.0
    assert sl.chip("tpu-v99").origins["hbm_bytes_per_s"].source == "invented for a test"
    for command in (["chips"], ["ridge"], ["matmul", "256", "8192", "8192"], ["chip", "tpu-v99"]):
        assert main(command) == 0
        assert "v99" in capsys.readouterr().out
    assert "TPU v99" in sl.ridge_table() and "TPU v99" in sl.hardware.tables.spec_table("tpu")


def test_a_changed_figure_changes_what_rests_on_it(catalogue):
    catalogue(lambda text: text.replace("value = 820e9", "value = 902e9"))
    assert sl.ridge_point("tpu-v5e") == pytest.approx(197e12 / 902e9)


def test_a_price_needs_provider_region_commitment_date_and_source(catalogue):
    for key in ("provider", "region", "commitment", "date", "source"):
        catalogue(lambda text, key=key: re.sub(rf"{key} = .*\n", "", text, count=1), "prices.toml")
        with pytest.raises(sl.CatalogError, match=f"prices.toml price 1: {key}"):
            sl.prices()
        catalogue(lambda _: PRICES, "prices.toml")
    catalogue(lambda text: text.replace('chip = "h100"', 'chip = "h1000"'), "prices.toml")
    with pytest.raises(sl.UnknownChip, match="h1000"):
        sl.prices()


PRICES = (catalog.DATA / "prices.toml").read_text("utf-8")
