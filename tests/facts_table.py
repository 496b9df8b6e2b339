"""Facts of tests/data/facts: every one is checked against the library, or listed with the reason why not."""

import json
from pathlib import Path

import pytest

FACTS = Path(__file__).parent / "data" / "facts"


def load(*stems):
    """{fact id: fact} of some fact files."""
    return {fact["id"]: fact for stem in stems for fact in json.loads((FACTS / f"{stem}.json").read_text("utf-8"))}


def no_counterpart():
    """{"id" or "id/key": why the library has nothing to compare}."""
    listed = {}
    for path in sorted(FACTS.glob("no_counterpart*.json")):
        listed |= json.loads(path.read_text("utf-8"))
    return listed


def inputs(fact):
    """A fact's inputs as plain values."""
    return {name: given["value"] for name, given in fact["inputs"].items()}


def pairs(facts):
    """Every (fact id, key) of some facts."""
    return [(name, key) for name, fact in facts.items() for key in fact["expected"]]


def reason_of(name, key):
    """Why this pair has no counterpart, or None."""
    listed = no_counterpart()
    return listed.get(f"{name}/{key}", listed.get(name))


def assert_holds(fact, key, ours, rel=None):
    """Our value is the fact's, to `rel` or else to the fact's own tolerance."""
    stated = fact["expected"][key]
    if isinstance(stated["value"], str):
        assert ours == stated["value"]
    else:
        assert ours == pytest.approx(stated["value"], rel=stated["rel_tol"] if rel is None else rel)
