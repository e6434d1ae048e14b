#!/usr/bin/env python3
"""Prints the code lines (no blank lines, no comments) of each folder, and which files are longer than
CONTRIBUTING.md says that they are at most. With a git revision as argument, also the change since then."""

import collections
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".h", ".hpp", ".cpp", ".def", ".py", ".sh", ".cmake"}
CEILING = {".cpp": 600, ".h": 200, ".hpp": 200}


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True,
                          text=True, errors="replace").stdout


def is_code(line):
    line = line.strip()
    return bool(line) and not line.startswith(("//", "#!", "# ", "/*", "*"))


def folder(path):
    parts = pathlib.PurePath(path).parts[:-1]
    return "/".join(parts[:2] if parts and parts[0] in ("backend", "tests") else parts[:1]) or "."


def count(names, read):
    lines = collections.Counter()
    for name in names:
        if pathlib.PurePath(name).suffix in SUFFIXES:
            lines[folder(name)] += sum(map(is_code, read(name).splitlines()))
    return lines


def main(base):
    names = git("ls-files").splitlines()
    now = count(names, lambda name: (ROOT / name).read_text(errors="replace"))
    before = collections.Counter()
    if base:
        before = count(git("ls-tree", "-r", "--name-only", base).splitlines(),
                       lambda name: git("show", f"{base}:{name}"))
    for name in sorted(set(now) | set(before)):
        change = f"  {now[name] - before[name]:+6}" if base else ""
        print(f"{now[name]:7}{change}  {name}")
    print(f"{sum(now.values()):7}{f'  {sum(now.values()) - sum(before.values()):+6}' if base else ''}  all")

    for name in names:
        ceiling = CEILING.get(pathlib.PurePath(name).suffix)
        size = len((ROOT / name).read_text(errors="replace").splitlines()) if ceiling else 0
        if ceiling and size > ceiling:
            print(f"note: {name} has {size} lines, more than {ceiling}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
