#!/usr/bin/env python3
"""Prints which tests of a run did not test all that they could on this machine, and why.

The argument is what `ctest --output-junit` wrote. A reason is what a test says behind `SKIP: `, or
that a device is missing.
"""

import collections
import re
import sys
import xml.etree.ElementTree

REASON = re.compile(r"SKIP: (.*)|(there is no device '.*')")


def reasons(test):
    output = test.findtext("system-out") or ""
    found = [said or missing for said, missing in REASON.findall(output)]
    return list(dict.fromkeys(found)) or ["it does not say why"]


def main(path):
    tests_of = collections.defaultdict(list)
    for test in xml.etree.ElementTree.parse(path).iter("testcase"):
        if test.find("skipped") is not None:
            for reason in reasons(test):
                tests_of[reason].append(test.get("name"))
    for reason, tests in tests_of.items():
        print(f"skipped: {reason}: {', '.join(tests)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
