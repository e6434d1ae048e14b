#!/usr/bin/env python3
"""A program that runs with another owner's rights is led nowhere by its user's environment.

Only root can make such a program of somebody else's; for others, and where the folder for
temporary files ignores its bit, the test is skipped.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NOBODY = 65534


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIPPED)


def output(program, folder, device, driver):
    """What a launch says, and the files that it made."""
    dumped = folder / "dumped"
    shutil.rmtree(dumped, ignore_errors=True)
    dumped.mkdir()
    dumped.chmod(0o777)
    environment = {
        "PATH": os.environ["PATH"],
        "IMBREX_DEVICE": device,
        "IMBREX_CUDA_DRIVER": driver,
        "IMBREX_DUMP": str(dumped),
    }
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, list(dumped.iterdir())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, help="launches on IMBREX_DEVICE")
    parser.add_argument("--driver", required=True, help="a path that is no library's")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        skip("only root can give a program to somebody else")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        own, others = folder / "own", folder / "others"
        for copy in (own, others):
            shutil.copy(arguments.program, copy)
        os.chown(others, NOBODY, NOBODY)
        others.chmod(0o4755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            skip("programs in the folder for temporary files have their user's rights")
        text, _ = output(own, folder, "cuda:0", arguments.driver)
        assert arguments.driver in text, text
        text, _ = output(others, folder, "cuda:0", arguments.driver)
        assert text and arguments.driver not in text, text
        text, dumped = output(own, folder, "host", arguments.driver)
        assert dumped, text
        text, dumped = output(others, folder, "host", arguments.driver)
        assert text and not dumped, (text, dumped)


main()
