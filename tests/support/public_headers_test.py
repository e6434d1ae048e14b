"""Whatever a public header reaches is the standard library, Boost, or another public header: no
LLVM, no vendor, nothing of the compiler. And each public header compiles alone."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = [ROOT / "dsl" / "include", ROOT / "runtime" / "include"]
FOREIGN = ("llvm", "clang", "lld", "cuda", "hip", "hsa", "nvvm")


def includes_of(compiler, header, folder):
    source, dependencies = folder / "one.cpp", folder / "one.d"
    source.write_text(f"#include <{header}>\n")
    subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-MD", "-MF",
                    dependencies, *(f"-I{path}" for path in PUBLIC), source], check=True)
    words = dependencies.read_text().replace("\\\n", " ").split()[1:]
    return [pathlib.Path(word).resolve() for word in words if word != str(source)]


def is_foreign(path):
    if path.is_relative_to(ROOT):
        return not any(path.is_relative_to(public) for public in PUBLIC)
    return any(part.lower().startswith(FOREIGN) for part in path.parts)


def main(compiler):
    headers = [path.relative_to(public) for public in PUBLIC for path in public.rglob("*.hpp")]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for header in sorted(headers):
            reached = includes_of(compiler, header, pathlib.Path(folder))
            print(f"{header}: {len(reached)} files")
            wrong += [f"{header} reaches {path}" for path in reached if is_foreign(path)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1])
