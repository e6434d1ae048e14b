"""Fails when a row of diagnostics.def was reported by no test of this run."""

import re
import sys

table, reported = sys.argv[1:]
rows = re.findall(r"^IMBREX_DIAG\((\w+),", open(table).read(), re.M)
seen = set(open(reported).read().split())
missing = [row for row in rows if row not in seen]
print(f"{len(rows) - len(missing)} of {len(rows)} kinds of diagnostics were provoked")
if missing:
    sys.exit("no test provokes: " + ", ".join(missing))
