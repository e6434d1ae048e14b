"""Each excerpt of docs/tutorial.md stands in the example that the comment above it names; each
example is in the tutorial."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXCERPT = re.compile(r"<!-- (\S+) -->\n```cpp\n(.*?)```", re.DOTALL)


def main():
    text = (ROOT / "docs" / "tutorial.md").read_text()
    excerpts = EXCERPT.findall(text)
    wrong = [f"not in {path}:\n{code}" for path, code in excerpts
             if code not in (ROOT / path).read_text()]
    if len(excerpts) != text.count("```cpp"):
        wrong.append("an excerpt does not say above it where it is from")
    shown = {path for path, _ in excerpts}
    wrong += [f"{path} is not in the tutorial"
              for path in sorted(ROOT.glob("examples/*/main.cpp"))
              if str(path.relative_to(ROOT)) not in shown]
    if wrong:
        sys.exit("\n".join(map(str, wrong)))
    print(f"{len(excerpts)} excerpts")


if __name__ == "__main__":
    main()
