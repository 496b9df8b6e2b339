"""``python -m scaling_lib.referee``: record the TPU compiler's reports, or check that the recorded ones still hold."""

import argparse
import sys

from scaling_lib.referee.programs import PROGRAMS
from scaling_lib.referee.report import RECORDED, to_json


def main(argv=None):
    """Write `reports/*.json`; with --check, compare instead and return 1 where they differ."""
    parser = argparse.ArgumentParser(prog="python -m scaling_lib.referee", description=__doc__)
    parser.add_argument("program", nargs="*", help=f"all by default: {', '.join(PROGRAMS)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a report would change")
    options = parser.parse_args(argv)
    unknown = [name for name in options.program if name not in PROGRAMS]
    if unknown:
        parser.error(f"unknown program {unknown[0]!r}; known: {', '.join(PROGRAMS)}")
    stale = 0
    for name in options.program or PROGRAMS:
        report = PROGRAMS[name].compile()
        if report.recorded:
            print(f"{name}: cannot be compiled here: {report.why_recorded}", file=sys.stderr)
            return 2
        path = RECORDED / f"{name}.json"
        same = path.exists() and path.read_text(encoding="utf-8") == to_json(report)
        stale += not same
        if not options.check:
            path.write_text(to_json(report), encoding="utf-8")
        print(f"{name}: {'unchanged' if same else 'differs' if options.check else 'recorded'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
