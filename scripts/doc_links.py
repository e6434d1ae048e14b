#!/usr/bin/env python3
"""Fails when a page links to a file, or to a heading of a page, that is not there."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page):
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
        sys.exit("links that lead nowhere:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
