#!/usr/bin/env python3
"""Fails when a page links to a file, or to a heading of a page, that is not there, or has a mark that a merge left."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MERGE_MARK = re.compile(r"^(<{7}|>{7})", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page):
    if MERGE_MARK.search(page.read_text()):
        yield f"{page.relative_to(ROOT)}: a mark that a merge left"
    for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if "://" in target or (file.exists() and (not anchor or anchor in anchors(file))):
            continue
        yield f"{page.relative_to(ROOT)}: {target}"


def main():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = [text for page in sorted(pages) for text in broken(page)]
    if found:
        sys.exit("pages to mend, mostly links that lead nowhere:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
