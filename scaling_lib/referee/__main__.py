"""``python -m scaling_lib.referee``: record what compilers make of programs and products, or check the record."""

import argparse
import sys

from scaling_lib.referee import record
from scaling_lib.referee.programs import PROGRAMS
from scaling_lib.referee.random_products import RECORD
from scaling_lib.referee.report import RECORDED, to_json


def main(argv=None):
    """Write `reports/*.json` and `products.json`; with --check, compare instead and return 1 where they differ."""
    parser = argparse.ArgumentParser(prog="python -m scaling_lib.referee", description=__doc__)
    names = (*PROGRAMS, "products")
    parser.add_argument("program", nargs="*", help=f"all by default: {', '.join(names)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a record would change")
    options = parser.parse_args(argv)
    unknown = [name for name in options.program if name not in names]
    if unknown:
        parser.error(f"unknown program {unknown[0]!r}; known: {', '.join(names)}")
    stale = 0
    for name in options.program or names:
        path, text, why = _products(options.check) if name == "products" else _report(name)
        if why:
            print(f"{name}: cannot be compiled here: {why}", file=sys.stderr)
            return 2
        same = path.exists() and path.read_text(encoding="utf-8") == text
        stale += not same
        if not options.check:
            path.write_text(text, encoding="utf-8")
        print(f"{name}: {'unchanged' if same else 'differs' if options.check else 'recorded'}")
    return 1 if options.check and stale else 0


def _report(name):
    """(path, text, why it cannot be made here) of one program's report."""
    report = PROGRAMS[name].compile()
    return RECORDED / f"{name}.json", to_json(report), report.why_recorded


def _products(check):
    """The same of the record of products; what was recorded with another jaxlib or libtpu cannot be compared."""
    why = record.why_not_made() if check else record.why_no_compiler()
    return RECORD, "" if why else record.text_of(record.made()), why


if __name__ == "__main__":
    sys.exit(main())
