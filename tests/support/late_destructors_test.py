"""Nothing of the library is destroyed when the process ends: a launch may come from the destructor of
one of the user's statics, when our own would have gone.

Usage: late_destructors_test.py NM ARCHIVE...
Looks for what registers a destructor: __cxa_atexit. Constructors that run before main are not
allowed either: a static of the user's may launch before ours would have been made."""

import collections
import re
import subprocess
import sys


def offenders(nm, archive):
    """The object files of an archive, and what each has that it should not."""
    text = subprocess.run([nm, "--demangle", archive], check=True, capture_output=True, text=True).stdout
    found = collections.defaultdict(set)
    member = ""
    for line in text.splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif line.endswith(" U __cxa_atexit"):
            found[member].add("registers a destructor of a static")
        elif re.search(r" [tT] _?GLOBAL__sub_I|__cxx_global_var_init", line):
            found[member].add("has a constructor that runs before main")
    return found


def main():
    nm, archives = sys.argv[1], sys.argv[2:]
    failures = 0
    for archive in archives:
        for member, reasons in sorted(offenders(nm, archive).items()):
            failures += 1
            print(f"{archive}({member}): {', '.join(sorted(reasons))}")
    if failures:
        print("hint: permanent(…) of backend/support/lifetime.h keeps an object for good")
    if not archives:
        print("no archive was named")
    return 1 if failures or not archives else 0


sys.exit(main())
