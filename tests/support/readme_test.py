"""The kernel of README.md compiles, and so does the launch that the README shows for it."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """{kernel}
void launch(int M, int N, buffer<f32> &a, buffer<f32> &b, buffer<f32> &c) {{
{launch}
}}
"""


def program():
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    kernel = next(block for block in blocks if "#include <imbrex/imbrex.hpp>" in block)
    launch = next(block for block in blocks if "jit(" in block)
    return PROGRAM.format(kernel=kernel, launch=launch)


def main(compiler):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "readme.cpp"
        source.write_text(program())
        subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                        f"-I{ROOT / 'dsl' / 'include'}", f"-I{ROOT / 'runtime' / 'include'}", source],
                       check=True)


if __name__ == "__main__":
    main(sys.argv[1])
