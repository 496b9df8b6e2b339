"""The tables of an explorer as its page reads them: from the JSON in the figure."""

import json
import re

import numpy as np


def data_of(figure):
    """All that the figure's script is given."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)[1])


def tables_of(data):
    """{name: entries, one axis for each name the table stands over}; logarithms as they are."""
    stops = data["stops"] | {control["name"]: control["stops"] for control in data["controls"]}
    found = {}
    for table in data["tables"]:
        entries = [data["entries"][entry] for run in table["runs"] for entry in data["runs"][run]]
        shape = [len(stops[name]) for name in table["over"]]
        found[table["name"]] = np.array(entries, dtype=object).reshape(shape)
    return found
