#!/usr/bin/env python3
"""Prints which tests of a run failed, with the end of what they wrote, and which did not test all
that they could on this machine, and why.

The argument is what `ctest --output-junit` wrote. A reason is what a test says behind `SKIP: `, or
that a device is missing.
"""

import collections
import re
import sys
import xml.etree.ElementTree

REASON = re.compile(r"SKIP: (.*)|(there is no device '.*')")
LAST_LINES = 40


def output(test):
    return test.findtext("system-out") or ""


def reasons(test):
    found = [said or missing for said, missing in REASON.findall(output(test))]
    return list(dict.fromkeys(found)) or ["it does not say why"]


def main(path):
    tests = list(xml.etree.ElementTree.parse(path).iter("testcase"))
    tests_of = collections.defaultdict(list)
    for test in tests:
        if test.find("skipped") is not None:
            for reason in reasons(test):
                tests_of[reason].append(test.get("name"))
    for reason, skipped in tests_of.items():
        print(f"skipped: {reason}: {', '.join(skipped)}")
    for test in tests:
        if test.find("failure") is not None:
            last = output(test).splitlines()[-LAST_LINES:]
            print(f"failed: {test.get('name')}", *last, sep="\n  ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
