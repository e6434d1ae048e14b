"""compile_fail.py FILE COMPILER FLAG...: see CMakeLists.txt beside this."""

import re
import subprocess
import sys

EXPECT = re.compile(r"//.*\bexpect( elsewhere)?: (.*)")


def compile_file(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    # The compiler's own words: not the lines of source that it quotes, `expect:` among them.
    text = "\n".join(re.findall(r".*: (?:fatal )?(?:error|note): .*", done.stderr))
    return done.returncode == 0, text, done.stderr


def lines_to_name(lines):
    """Of each expectation the lines of which the compiler must name one: its own, or, where it
    stands alone, those up to the next one or the end of the branch."""
    for at, line in enumerate(lines):
        expected = EXPECT.search(line)
        if not expected or expected[1]:
            continue
        stands_alone = line.lstrip().startswith(("//", "#"))
        end = at + 1
        while stands_alone and not lines[end].startswith("#") and not EXPECT.search(lines[end]):
            end += 1
        yield range(at + 1 + stands_alone, end + 1)


def main(path, *command):
    command = [*command, "-fsyntax-only", path]
    source = open(path).read()
    expected = [pattern for _, pattern in EXPECT.findall(source)]
    if not expected:
        sys.exit(f"{path} has no line with '// expect: '")

    compiles, text, _ = compile_file(command)
    if not compiles:
        sys.exit(f"{path} does not compile as it is:\n{text}")
    compiles, text, said = compile_file([*command, "-DIMBREX_SHOULD_FAIL"])
    if compiles:
        sys.exit(f"{path} compiles although it should fail")
    errors = len(re.findall(r": (?:fatal )?error: ", text))
    most = re.search(r"^// errors: (\d+)$", source, re.M)
    if most and errors > int(most[1]):
        sys.exit(f"{path} fails with {errors} errors, and {most[1]} are meant:\n{text}")
    missing = [pattern for pattern in set(expected)
               if len(re.findall(pattern.strip(), text)) < expected.count(pattern)]
    if missing:
        sys.exit(f"{path} fails, but without: {missing}\n{text}")
    named = {int(number) for number in re.findall(re.escape(path) + r":(\d+):", said)}
    unnamed = [lines.start for lines in lines_to_name(source.splitlines())
               if named.isdisjoint(lines)]
    if unnamed:
        sys.exit(f"{path} fails, and the compiler does not name its lines {unnamed}\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
