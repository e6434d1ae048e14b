#!/usr/bin/env python3
"""What the programs that write libraries of kernels write, and what they say.

    generator_test.py --generators FOLDER --consumer PROGRAM --readelf PROGRAM --ar PROGRAM [--core ARCHIVE]
"""

import argparse
import json
import pathlib
import platform
import re
import subprocess
import tempfile

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("--generators", required=True)
PARSER.add_argument("--consumer", required=True)
PARSER.add_argument("--readelf", required=True)
PARSER.add_argument("--ar", required=True)
PARSER.add_argument("--core", help="libimbrex_aot.a, if it is optimised and without instrumentation")
OPTIONS = PARSER.parse_args()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def generate(name, folder, targets="host", *options, program=None):
    return subprocess.run([f"{OPTIONS.generators}/{program or name}_generator", "--name", name, "--out", folder,
                           "--targets", targets, *options], capture_output=True, text=True)


def expect(is_so, what):
    if not is_so:
        raise SystemExit(f"not so: {what}")


def errors(name):
    with tempfile.TemporaryDirectory() as folder:
        return generate(name, folder).stderr.count(": error: ")


def refuses(name, wanted, targets="host", *options):
    with tempfile.TemporaryDirectory() as folder:
        done = generate(name, folder, targets, *options)
        expect(done.returncode == 1, f"{name} is refused: {done.stdout}{done.stderr}")
        expect(wanted in done.stderr, f"'{wanted}' in\n{done.stderr}")
        expect(not list(pathlib.Path(folder).iterdir()), f"nothing is written of {name}")


def test_launches():
    with tempfile.TemporaryDirectory() as folder:
        done = generate("attributed_cuda", folder, "sm_80,sm_90a", "--ptx-only")
        expect(done.returncode == 1, "sm_80 has no clusters")
        for what in ("cluster", "programmatic"):
            text = f"asks for `{what}`, which launches on sm_80 don't have"
            expect(done.stderr.count(text) == 1, f"'{text}' once in\n{done.stderr}")
        done = generate("attributed_cuda", folder, "host,sm_90a", "--ptx-only")
        expect(done.returncode == 0, done.stderr)
        manifest = json.loads(pathlib.Path(folder, "attributed_cuda.json").read_text())
        launches = {kernel["name"]: [code["launch"] for code in kernel["codes"] if "launch" in code]
                    for kernel in manifest["kernels"]}
        for name, cluster, cooperative, programmatic in (
                ("gathered", 1, True, False), ("paired", 2, False, False),
                ("sixteen", 16, False, False), ("chained", 1, False, True)):
            wanted = {"cluster": [cluster, 1, 1], "cooperative": cooperative, "programmatic": programmatic}
            expect(launches[name] and all(one == wanted for one in launches[name]), f"{name}: {launches[name]}")


def test_refusals():
    refuses("twice", "wrong/second.cpp:3: error: two functions of the library would be called 'clear'")
    refuses("twice", "wrong/second.cpp:4: error: two functions of the library would be called 'clear_dlpack'")
    refuses("named", "wrong/named.cpp:4: error: '2' is no name")
    refuses("twice", "wrong/first.cpp:4: error: a kernel can't be called 'load' here: 'twice_load' is the function that loads")
    refuses("named", "wrong/named.cpp:3: error: 'delete' is no name that C++ can have")
    expect(errors("named") == 2, "of whose kernels none is left, and each was told of, is not called empty besides")
    refuses("thrown", "no table of sizes")
    refuses("empty", "no kernel is named for the library 'empty'")
    refuses("mistaken", "wrong/mistaken.cpp:5: error: the body of this loop is left by break")
    differing = "wrong/differing.cpp"
    refuses("differing", f"{differing}:14: error: 'none' is no kernel of the library, and 'odd' is named as a")
    refuses("differing", f"{differing}:16: error: two configurations of 'fill' would be called 'even'")
    refuses("differing", f"{differing}:20: error: the configuration 'count' of 'fill' takes 2 parameters, and 'fill' itself 1")
    refuses("differing", f"{differing}:21: error: the configuration 'type' of 'fill' takes view<i32, 1> as parameter 0,"
                         " and 'fill' itself view<f32, 1>")
    refuses("differing", f"{differing}:22: error: the configuration 'grid' of 'fill' is launched with a grid, and 'fill' itself computes")
    refuses("large", "cannot read 'nowhere.json'", "host", "--tuned", "nowhere.json")
    refuses("later", "there is no target 'sm_8O'", "sm_8O")
    refuses("later", "'ptx:gfx942': the driver of gfx942 takes no assembly", "ptx:gfx942")
    refuses("later", "there is no target 'host:z80'", "host:z80")
    refuses("later", "there is no code for processors of 'riscv64", "sm_80", "--ptx-only",
            "--processor", "riscv64-unknown-linux-gnu")
    refuses("later", "there is no target 'host:x86-64-v3' for aarch64", "host:x86-64-v3", "--processor", "aarch64-linux-gnu")
    refuses("later", "libraries are of ELF and 64 bits", "sm_80", "--ptx-only", "--processor", "i686-linux-gnu")
    for name in "a-b", "class", "imbrex":
        refuses("later", f"'{name}' is no name that C++ can have", "host", "--namespace", name)
    refuses("later", "no assembler for sm_80 is found", "sm_80")


def test_files():
    """The same bytes each time, wherever sources and builds lie; what has not changed keeps its time; nothing runs by itself."""
    targets = "sm_80,ptx:sm_90a,gfx942,gfx11-generic,host"
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder, program in (first, "app"), (second, "elsewhere"):
            done = generate("app", folder, targets, "--ptx-only", program=program)
            expect(done.returncode == 0 and not done.stderr, done.stderr)
        names = ["app.h", "app.hpp", "app.json", "libapp.a"]
        expect(sorted(path.name for path in pathlib.Path(first).iterdir()) == names, "the files")
        for name in names:
            one, other = (pathlib.Path(folder, name).read_bytes() for folder in (first, second))
            expect(one == other, f"the same {name} from sources elsewhere")
        before = pathlib.Path(first, "app.hpp").stat().st_mtime_ns
        generate("app", first, targets, "--ptx-only")
        expect(pathlib.Path(first, "app.hpp").stat().st_mtime_ns == before, "the header's time")

        archive = pathlib.Path(first, "libapp.a")
        members = output(OPTIONS.ar, "t", archive).split()
        expect({"app_add.o", "app_product.blocks.o", "app_product.check.o"} <= set(members),
               f"the members are {members}")
        sections = output(OPTIONS.readelf, "-SW", archive)
        expect(".init_array" not in sections and ".ctors" not in sections, "nothing runs by itself")

        manifest = json.loads(pathlib.Path(first, "app.json").read_text())
        add = next(kernel for kernel in manifest["kernels"] if kernel["name"] == "add")
        made = {code["target"] for code in add["codes"]}
        expect({"ptx:sm_80", "ptx:sm_90a", "gfx942", "gfx11-generic"} <= made, f"targets are {made}")
        expect(all(code["threads"] > 0 for code in add["codes"] if "threads" in code), "threads")
        last = add["codes"][-1]["assumptions"]["parameters"]
        expect(all(not one["assumed"] for one in last), "the last code assumes nothing")

        expect(b"kernels.h" not in archive.read_bytes(), "no file of the sources is named")
        expect(generate("app", second, "gfx942", "--line-info").returncode == 0, "--line-info")
        expect(b"kernels.h" in pathlib.Path(second, "libapp.a").read_bytes(), "files are named on request")
        whole = archive.stat().st_size
        expect(generate("app", second, targets, "--ptx-only", "--compress").returncode == 0, "--compress")
        expect(pathlib.Path(second, "libapp.a").stat().st_size < 0.6 * whole, "it is much smaller")
        expect(generate("app", second, targets, "--ptx-only", "--no-assumptions").returncode == 0, "--no-assumptions")
        manifest = json.loads(pathlib.Path(second, "app.json").read_text())
        add = next(kernel for kernel in manifest["kernels"] if kernel["name"] == "add")
        expect(len(add["codes"]) == len(targets.split(",")), "one code for each target")
        expect(not any(one["assumed"] for code in add["codes"] for one in code["assumptions"]["parameters"]),
               "each assumes nothing")


def test_tuning():
    """A table changes the library and its manifest, and no header."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = pathlib.Path(folder, "table.json"), pathlib.Path(folder, "out")
        seen = {}
        for config in "large", "odd":
            rows = [{"targets": ["host", "sm_80"], "where": {"n": [None, 5]}, "config": config}]
            table.write_text(json.dumps({"chosen": rows}))
            done = generate("large", out, "host,sm_80", "--ptx-only", "--tuned", str(table), "--namespace", "tuned")
            expect(done.returncode == 0 and not done.stderr, done.stderr)
            kernel = json.loads(pathlib.Path(out, "large.json").read_text())["kernels"][0]
            host = "host:armv8-a" if platform.machine() == "aarch64" else "host:x86-64-v3"
            expect(kernel["tuned"] == [{"config": config, "targets": [host, "ptx:sm_80"], "where": {"n": [None, 5]}}],
                   f"the rows are {kernel['tuned']}")
            expect([one["config"] for one in kernel["configs"]] == [config], "what is compiled")
            for name in "large.h", "large.hpp":
                text = pathlib.Path(out, name).read_text()
                expect(seen.setdefault(name, text) == text, f"{name} stays the same")
            # Several libraries may share a namespace.
            expect("int large_load(" in seen["large.h"] and "namespace large {" in seen["large.hpp"], "the loader")


def test_telling():
    """What prints and asserts is named by its file alone, and asks for a runtime that can tell it."""
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder, "libtelling.a")
        seen = {}
        for options in (), ("--line-info",):
            done = generate("telling", folder, "sm_80,gfx942,host", "--ptx-only", *options)
            expect(done.returncode == 0 and not done.stderr, done.stderr)
            seen[options] = archive.read_bytes()
            sections = output(OPTIONS.readelf, "-SW", archive)
            expect(".init_array" not in sections and ".ctors" not in sections, "nothing runs by itself")
        for options, is_whole in ((), False), (("--line-info",), True):
            expect(b"telling_kernels.h:16\0" in seen[options], "the line of an assert")
            expect((b"/telling_kernels.h:16\0" in seen[options]) == is_whole, f"its folder, {options}")
        expect(b"imbrex_aot_launch_observing_" in seen[()], "the launch of what prints")
        # Also where it is a configuration that prints.
        table = pathlib.Path(folder, "table.json")
        table.write_text(json.dumps({"counted": [{"where": {"n": 1}, "config": "loud"}]}))
        for options, is_observing in ((), False), (("--tuned", str(table)), True):
            expect(generate("telling", folder, "host", *options).returncode == 0, "a table")
            member = subprocess.run([OPTIONS.ar, "p", archive, "telling_counted.o"], check=True, capture_output=True).stdout
            expect((b"observing" in member) == is_observing, f"the launch of what may print, {options}")
        generate("app", folder, "host")
        expect(b"observing" not in pathlib.Path(folder, "libapp.a").read_bytes(), "the launch of what does not")


def test_consumer():
    needed = output(OPTIONS.readelf, "-d", OPTIONS.consumer)
    for word in "LLVM", "libcuda", "libamdhip", "boost":
        expect(word not in needed, f"the consumer links no {word}")


def test_core():
    """What programs get of the library that launches kernels is small."""
    sections = output(OPTIONS.readelf, "-SW", OPTIONS.core)
    loaded = re.findall(r"\] \S+ +\w+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +[WXMSILOGTCxop]*A", sections)
    expect(len(loaded) > 10, "sections are found")
    expect(sum(int(size, 16) for size in loaded) < 100 << 10, f"{OPTIONS.core} is small")


test_refusals()
test_launches()
test_files()
test_tuning()
test_telling()
test_consumer()
if OPTIONS.core:
    test_core()
