#!/usr/bin/env python3
"""What a step of a product's loop takes a wave that is alone, by a toy of a machine.

    in_order.py FOLDER_OR_ASSEMBLY…             AMD's assembly, as bench_products writes it (NAME.s)
    in_order.py --block 8 FOLDER_OR_ASSEMBLY…   the same of a block of so many waves of 64

The toy issues one instruction every four cycles, in order. The matrix unit is busy for 32 cycles with each
product (64 with one that is 32 x 32 x 64), LDS for 32 with each access, whose result is there 128 later, and
memory answers after 900; s_waitcnt waits as the manual says, for all but so many. Meetings take no time, and
other waves none away. So it says nothing of a machine's speed, but whether the loop's order lets the unit
work: `ratio` is the cycles of a step by those in which the unit has to be busy.

A block's waves lie on four partitions with a matrix unit each, and share LDS, which gives 128 bytes a
cycle; they do meet. Where products have a priority, the second half of the waves is a meeting behind. Two
waves of a partition may issue at once.
"""

import re
import sys
from collections import deque
from pathlib import Path

ISSUE, PRODUCT, LDS_BUSY, LDS_LATENCY, MEMORY_LATENCY = 4, 32, 32, 128, 900
PARTITIONS, LANES, LDS_BYTES = 4, 64, 128
PRODUCTS = re.compile(r"v_s?(mfma|wmma)")


def loops(lines):
    """The instructions between a label and a branch back to it."""
    labels = {match[1]: i for i, line in enumerate(lines) if (match := re.match(r"(\.LBB\w+):", line))}
    for i, line in enumerate(lines):
        match = re.match(r"s_cbranch\w* (\.LBB\w+)", line)
        if match and labels.get(match[1], i) < i:
            yield [one for one in lines[labels[match[1]] + 1 : i + 1] if re.match(r"[a-z]\w+( |$)", one)]


def main_loop(text):
    """The shortest of those with the most products; None where no loop has one."""
    lines = [re.sub(r"\s*;.*", "", line).strip() for line in text.splitlines()]
    found = [loop for loop in loops(lines) if any(map(PRODUCTS.match, loop))]
    return max(found, key=lambda loop: (sum(map(bool, map(PRODUCTS.match, loop))), -len(loop)), default=None)


def left_by(wait):
    """How many accesses of LDS, and of memory, a wait lets go on; None: it does not look."""
    def count(pattern):
        match = re.search(pattern, wait)
        return int(match[1], 0) if match else None

    both = count(r"s_wait_loadcnt_dscnt (\w+)")
    if both is not None:
        return both & 0x3F, both >> 8
    return count(r"(?:lgkmcnt\(|s_wait_dscnt )(\w+)"), count(r"(?:vmcnt\(|s_wait_loadcnt )(\w+)")


class Wave:
    def __init__(self, number):
        self.partition = number % PARTITIONS
        self.now = self.at = 0
        self.is_waiting = False
        self.lds, self.memory, self.ends = deque(), deque(), []


def lds_cycles(instruction):
    """In which LDS has no time for others, by the bytes of a wave of 64."""
    places = 2 if re.match(r"ds_(read|write)2", instruction) else 1
    return places * LANES * int(re.search(r"_b(\d+)", instruction)[1]) // 8 // LDS_BYTES


def product_cycles(instruction):
    """0: no product."""
    if not PRODUCTS.match(instruction):
        return 0
    return PRODUCT * 2 if "32x32x64_f8f6f4" in instruction else PRODUCT


def cycles(loop, count=1, lds_busy=lambda _: LDS_BUSY, trips=12, counted=3):
    """Of a trip of the first of so many waves, once it repeats itself: the earliest wave goes on until it waits."""
    waves = [Wave(number) for number in range(count)]
    unit, lds, arrived = [0] * PARTITIONS, 0, []

    def meet(wave):
        wave.is_waiting = True
        arrived.append(wave)
        if len(arrived) == count:
            now = max(one.now for one in arrived)
            for one in arrived:
                one.now, one.is_waiting = now, False
            arrived.clear()

    if any(instruction.startswith("s_setprio") for instruction in loop):
        for wave in waves[count - count // 2 :]:  # they meet once more
            meet(wave)
    while len(waves[0].ends) < trips:
        wave = min((one for one in waves if not one.is_waiting), key=lambda one: one.now)
        instruction = loop[wave.at]
        busy = product_cycles(instruction)
        if busy and unit[wave.partition] > wave.now:
            wave.now = unit[wave.partition]
            continue
        wave.at = (wave.at + 1) % len(loop)
        if busy:
            unit[wave.partition] = wave.now + busy
        elif instruction.startswith("ds_"):
            lds = max(wave.now, lds) + lds_busy(instruction)
            wave.lds.append(lds + LDS_LATENCY)
        elif re.match(r"(buffer|global)_load", instruction):
            wave.memory.append(wave.now + MEMORY_LATENCY)
        elif instruction.startswith("s_wait"):
            for queue, left in zip((wave.lds, wave.memory), left_by(instruction)):
                while left is not None and len(queue) > left:
                    wave.now = max(wave.now, queue.popleft())
        if not instruction.startswith("s_wait"):
            wave.now += ISSUE
        if wave.at == 0:
            wave.ends.append(wave.now)
        if instruction == "s_barrier":
            meet(wave)
    ends = waves[0].ends
    return (ends[-1] - ends[-1 - counted]) / counted


def main(arguments):
    waves = int(arguments[1]) if arguments[0] == "--block" else 0
    paths = arguments[2:] if waves else arguments
    files = [file for path in map(Path, paths) for file in (sorted(path.glob("*.s")) if path.is_dir() else [path])]
    for file in files:
        loop = main_loop(file.read_text())
        if loop is None:
            continue
        bound = sum(map(product_cycles, loop)) * max(1, waves // PARTITIONS)
        taken = cycles(loop, waves, lds_cycles) if waves else cycles(loop)
        print(f"{file.stem}: {len(loop)} instructions, {taken:.0f} cycles of {bound}, ratio {taken / bound:.2f}")


main(sys.argv[1:] or sys.exit(__doc__))
