"""How much a user's translation unit with the README's kernel makes the compiler read. Its time is
measured by hand (docs/performance.md); what it is made of is counted here, so that a header that
weighs much is noticed when it comes in."""

import pathlib
import subprocess
import sys
import tempfile

import readme_test

# As counted with g++ 12: 73,500 and 117. Other standard libraries differ by some thousands of lines.
MOST_LINES = 76_000
MOST_HANA_HEADERS = 125


def main(compiler):
    includes = [f"-I{readme_test.ROOT / part / 'include'}" for part in ("dsl", "runtime")]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "readme.cpp"
        source.write_text(readme_test.program())
        def output(*options):
            return subprocess.run([compiler, "-std=c++20", *options, *includes, source], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        lines = output("-E", "-P").count("\n")
        headers = output("-M").replace("\\\n", " ").split()
    hana = sum("/boost/hana/" in header for header in headers)
    own = sum("/include/imbrex/" in header for header in headers)
    print(f"{lines} lines, {len(headers)} headers, {hana} of Hana, {own} of imbrex")
    assert own > 30, "the kernel includes the whole language"
    if lines > MOST_LINES or hana > MOST_HANA_HEADERS:
        sys.exit(f"at most {MOST_LINES} lines and {MOST_HANA_HEADERS} headers of Hana are meant")


if __name__ == "__main__":
    main(sys.argv[1])
