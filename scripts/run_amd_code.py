#!/usr/bin/env python3
"""Runs our machine code for AMD's GPUs on the CPU, and holds what it leaves against the interpreter.

    scripts/run_amd_code.py TINYGRAD [--build build/ci] [--machine gfx942 …] [--kernel NAME …] [--seed N]

TINYGRAD is the path of a clone of github.com/tinygrad/tinygrad, whose test/mockgpu/amd/emu.py has an
emulator of CDNA 3 and 4, RDNA 3 and RDNA 4, made from the pseudocode of AMD's ISA documents. Without it
nothing is run. It wants Python 3.11 and `clang`, by which it compiles each instruction.

Our own emulator runs LLVM IR. This runs what LLVM's code generator and assembler make of it, for the
kernels of tests/codegen's table: the program write_launches, which the build makes on demand, writes
their code and what they should leave. docs/emulator.md tells what it can find and what not.
"""
import argparse
import ctypes
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

LLVM = "/usr/lib/llvm-22/bin"  # where Debian has it
MACHINES = {"gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
MOST_INSTRUCTIONS = 20_000_000  # of a block's waves together; more is a loop without an end

# --- what is to be run ---


class CodeObject:
    """The segments of an ELF file, in memory that can be written, and its symbols."""

    def __init__(self, elf):
        program, sections = struct.unpack_from("<QQ", elf, 32)
        programs, _, section_count = struct.unpack_from("<HHH", elf, 56)
        headers = [struct.unpack_from("<IIQQQQQQ", elf, program + 56 * i) for i in range(programs)]
        loads = [h for h in headers if h[0] == 1]
        size = max(address + bytes_ for _, _, _, address, _, _, bytes_, _ in loads)
        self.memory = ctypes.create_string_buffer(size + 8192)
        self.base = ctypes.addressof(self.memory) + 4095 & ~4095
        for _, _, offset, address, _, stored, _, _ in loads:
            ctypes.memmove(self.base + address, elf[offset:offset + stored], stored)
        self.symbols = {}
        table = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + 64 * i)
                 for i in range(section_count)]
        for section in table:
            if section[1] == 4:
                raise NotImplementedError("the code object wants relocations")
            if section[1] != 11:  # the dynamic symbols
                continue
            names = table[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
                end = elf.index(b"\0", names + name)
                self.symbols[elf[names + name:end].decode()] = self.base + value


class Descriptor:
    """What a kernel's descriptor says (LLVM, AMDGPUUsage, "Kernel Descriptor")."""

    def __init__(self, address):
        raw = ctypes.string_at(address, 64)
        self.shared, self.scratch = struct.unpack_from("<II", raw, 0)
        self.entry = address + struct.unpack_from("<q", raw, 16)[0]
        self.resources1, self.resources2 = struct.unpack_from("<II", raw, 48)
        self.properties, preload = struct.unpack_from("<HH", raw, 56)
        self.preload = preload & 0x7F, preload >> 7  # words of arguments, and the first

    def user_data(self, arguments):
        """The scalar registers that a wave begins with."""
        sizes = [4, 2, 2, 2, 2, 2, 1]  # words, in the order of the bits that ask for them
        kernel_arguments = 3
        words = []
        for bit, size in enumerate(sizes):
            if not self.properties >> bit & 1:
                continue
            words += split64(arguments) if bit == kernel_arguments else [0] * size
        count, first = self.preload
        return words + list((ctypes.c_uint32 * count).from_address(arguments + 4 * first))


def split64(number):
    return [number & 0xFFFFFFFF, number >> 32]


class Launch:
    """A kernel's arguments and memory, as write_launches has written them."""

    def __init__(self, folder, name):
        self.about = json.loads((folder / f"{name}.json").read_text())
        self.code = CodeObject((folder / f"{name}.elf").read_bytes())
        self.memory, self.meant, self.kept = {}, {}, []
        for buffer in self.about["buffers"]:
            which = buffer["array"]
            before = (folder / f"{name}.{which}.before").read_bytes()
            self.memory[which] = ctypes.create_string_buffer(before, max(len(before), 1))
            self.meant[which] = (folder / f"{name}.{which}.after").read_bytes()
        self.arguments = ctypes.create_string_buffer(self.about["bytes"])
        for word in self.about["words"]:
            bits = 8 * word["bytes"]
            value = (self.value(word) & (1 << bits) - 1).to_bytes(word["bytes"], "little")
            ctypes.memmove(ctypes.addressof(self.arguments) + word["at"], value, len(value))

    def value(self, word):
        if "value" in word:
            return word["value"]
        if "array" in word:
            return ctypes.addressof(self.memory[word["array"]])
        if "table" in word:  # the addresses, and a null one behind them
            arrays = [ctypes.addressof(self.memory[which]) for which in word["table"]]
            self.kept.append((ctypes.c_uint64 * (len(arrays) + 1))(*arrays, 0))
            return ctypes.addressof(self.kept[-1])
        # What prints and failed asserts go to (backend/lower/observations.h): the second word is its room.
        record = (ctypes.c_uint64 * (8 + word["room"]))(0, word["room"])
        self.kept.append(record)
        return ctypes.addressof(record)

    def differences(self):
        for buffer in self.about["buffers"]:
            meant = self.meant[buffer["array"]]
            found = self.memory[buffer["array"]].raw[:len(meant)]
            if found != meant and (what := differs(buffer["element"], found, meant)):
                yield f"{buffer['name']}: {what}"


FORMATS = {"f64": "d", "f32": "f", "f16": "e", "bf16": "H", "i64": "q", "i32": "i", "i16": "h",
           "i8": "b", "u64": "Q", "u32": "I", "u16": "H"}  # of others, bytes


def differs(element, found, meant):
    """Which elements differ; NaNs are equal, and sums in another order may be as far apart as that."""
    kind = FORMATS.get(element, "B")
    size = struct.calcsize(kind)
    ours, theirs = ([n for (n,) in struct.iter_unpack("<" + kind, data)] for data in (found, meant))
    if element == "bf16":
        wide = lambda bits: struct.unpack("<f", struct.pack("<I", bits << 16))[0]
        ours, theirs = list(map(wide, ours)), list(map(wide, theirs))
    is_rounded = element in ("f32", "f64")
    largest = max((abs(n) for n in theirs if math.isfinite(n)), default=0) if is_rounded else 0

    def is_same(a, b):
        if a != a or b != b:
            return a != a and b != b
        if a == b:
            return math.copysign(1, a) == math.copysign(1, b)
        return abs(a - b) <= 1e-5 * largest

    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if not is_same(a, b)]
    if not wrong:
        return None
    at = wrong[0]
    return (f"{len(wrong)} of {len(theirs)} {element} differ, the first at {at} (byte {at * size}): "
            f"{ours[at]!r} for {theirs[at]!r}")


# --- the machine ---

PC, EXEC, M0 = 256, 126, 124  # where the emulator keeps them among the scalar registers


@dataclass
class Wave:
    state: object
    buffers: list  # scalar and vector registers, memory, LDS, scratch, accumulators: their addresses
    kept: object
    is_waiting: bool = False
    loads: list = field(default_factory=list)  # under way: what each does when it lands, or None


class Registers:
    """A wave's, as words."""

    def __init__(self, buffers, lanes):
        self.lanes = lanes
        self.scalar = (ctypes.c_uint32 * 264).from_address(buffers[0].value)
        self.vector = (ctypes.c_uint32 * (256 * lanes)).from_address(buffers[1].value)

    def active(self):
        mask = self.scalar[EXEC] | (self.scalar[EXEC + 1] << 32 if self.lanes == 64 else 0)
        return [lane for lane in range(self.lanes) if mask >> lane & 1]

    def row(self, number):
        """The lanes of a vector register, that can be written."""
        first = ctypes.addressof(self.vector) + 4 * self.lanes * number
        return (ctypes.c_uint32 * self.lanes).from_address(first)

    def wide(self, number):
        return self.scalar[number] | self.scalar[number + 1] << 32

    def go_on(self, size):
        pc = ctypes.c_uint64.from_address(ctypes.addressof(self.scalar) + 4 * PC)
        pc.value += size


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 & 1 else value


class Machine:
    """Runs the waves of a block in a random order, a few instructions at a time.

    Each instruction is the emulator's, but for those that it lacks or errs in: `own` has them, as
    functions of a wave's buffers.
    """

    def __init__(self, emulator, name, seed):
        self.emulator, self.name, self.arch = emulator, name, MACHINES[name]
        self.lanes = 64 if self.arch == "cdna" else 32
        self.random = random.Random(seed)
        self.program = {}

    # --- what the emulator lacks ---

    def own(self, pc, word):
        """The instruction at an address, if it is one of ours: its name, and what it does."""
        if size := self.size_of_cache_control(word):
            return "cache control", lambda buffers: Registers(buffers, self.lanes).go_on(size)
        top = word >> 26 & 0x3F
        is_cdna = self.arch == "cdna"
        if word >> 23 & 0x1FF == 0x17D and word >> 8 & 0xFF == (0x1C if is_cdna else 0x47):
            return "s_getpc_b64", lambda buffers: self.get_pc(buffers, pc, word >> 16 & 0x7F)
        lds = word >> (17 if is_cdna else 18) & 0xFF
        if top == 0x36 and lds == (0x3D if is_cdna else 0x35):
            return "ds_swizzle_b32", lambda buffers: self.swizzle(buffers, word)
        if not is_cdna and top == 0x35 and word >> 16 & 0x3FF in (0x25B, 0x25C):
            return "v_permlane16_b32", lambda buffers: self.permute_rows(buffers, pc, word)
        if is_cdna and word >> 25 & 0x7F == 0x3F and word >> 9 & 0xFF in (0x59, 0x5A):
            return "v_permlane_swap", lambda buffers: self.swap_rows(buffers, word)
        if not is_cdna and top == 0x36 and 0xA2 <= lds <= 0xA7:
            return "ds_load_d16", lambda buffers: self.load_half(buffers, word, lds)
        if load := self.buffer_load(pc, word):
            if is_cdna and word >> 16 & 1:
                return "buffer_load_lds", lambda buffers: self.load_to_lds_from_buffer(buffers, *load)
            return "BUFFER_LOAD", lambda buffers: self.load_from_buffer(buffers, *load)
        if update := self.wide_swap(pc, word):
            return "global_atomic_cmpswap_b64", lambda buffers: self.swap_wide(buffers, *update)
        if is_cdna and top == 0x37 and word >> 18 & 0x7F in (0x2A, 0x7D, 0x7E):
            return "global_load_lds", lambda buffers: self.load_to_lds(buffers, word)
        return None

    def size_of_cache_control(self, word):
        """There is no cache: write-backs and invalidations do nothing."""
        if self.arch == "cdna" and word >> 26 & 0x3F == 0x38 and word >> 18 & 0x7F in (0x28, 0x29):
            return 8
        if self.arch == "rdna3" and word >> 26 & 0x3F == 0x38 and word >> 18 & 0xFF in (0x2B, 0x2C):
            return 8
        is_global = self.arch == "rdna4" and word >> 24 & 0xFF == 0xEE
        return 12 if is_global and word >> 14 & 0xFF in (0x2B, 0x2C, 0x4F) else 0

    def get_pc(self, buffers, pc, to):
        registers = Registers(buffers, self.lanes)
        registers.scalar[to], registers.scalar[to + 1] = split64(pc + 4)
        registers.go_on(4)

    def swizzle(self, buffers, word):
        registers = Registers(buffers, self.lanes)
        pattern, active = word & 0xFFFF, set(registers.active())
        source, to = list(registers.row(word >> 32 & 0xFF)), registers.row(word >> 56 & 0xFF)
        for lane in active:
            if pattern & 0x8000:  # within four lanes
                other = lane & ~3 | pattern >> 2 * (lane & 3) & 3
            else:  # within 32: and, or, xor
                number = (lane & 31 & pattern | pattern >> 5 & 31) ^ pattern >> 10 & 31
                other = lane & ~31 | number
            to[lane] = source[other] if other in active else 0
        registers.go_on(8)

    def permute_rows(self, buffers, pc, word):
        """v_permlane16 and v_permlanex16, whose choice of lanes may be a literal."""
        registers = Registers(buffers, self.lanes)
        low, high = word >> 41 & 0x1FF, word >> 50 & 0x1FF
        literal = ctypes.c_uint32.from_address(pc + 8).value

        def value(code):
            if code < 128:
                return registers.scalar[code]
            if code == 255:
                return literal
            return (code - 128 if code <= 192 else 192 - code) & 0xFFFFFFFF

        choice = value(low) | value(high) << 32
        across = 16 if word >> 16 & 0x3FF == 0x25C else 0
        source = list(registers.row((word >> 32 & 0x1FF) - 256))
        to = registers.row(word & 0xFF)
        for lane in registers.active():
            to[lane] = source[(lane & 16 ^ across) + (choice >> 4 * (lane & 15) & 15)]
        registers.go_on(12 if 255 in (low, high) else 8)

    def swap_rows(self, buffers, word):
        """v_permlane16_swap, v_permlane32_swap: odd rows of one register with even ones of another."""
        registers = Registers(buffers, self.lanes)
        rows = 16 if word >> 9 & 0xFF == 0x59 else 32
        one, other = registers.row(word >> 17 & 0xFF), registers.row((word & 0x1FF) - 256)
        for first in range(0, self.lanes, 2 * rows):
            for lane in range(first, first + rows):
                one[lane + rows], other[lane] = other[lane], one[lane + rows]
        registers.go_on(4)

    def load_to_lds(self, buffers, word):
        """Lane after lane from M0 on."""
        registers = Registers(buffers, self.lanes)
        size = {0x2A: 4, 0x7D: 16, 0x7E: 12}[word >> 18 & 0x7F]
        offset, address, base = signed(word & 0x1FFF, 13), word >> 32 & 0xFF, word >> 48 & 0x7F
        low, high = registers.row(address), registers.row(address + 1)
        to = buffers[3].value + (registers.scalar[M0] & 0x3FFFF) + offset
        for lane in registers.active():
            if base == 0x7F:
                source = low[lane] | high[lane] << 32
            else:
                source = registers.wide(base) + low[lane]
            ctypes.memmove(to + lane * size, source + offset, size)
        registers.go_on(8)

    def load_half(self, buffers, word, lds):
        """ds_load_u8_d16, _d16_hi, and so on: one half of a register, the other stays."""
        registers = Registers(buffers, self.lanes)
        addresses, to = registers.row(word >> 32 & 0xFF), registers.row(word >> 56 & 0xFF)
        for lane in registers.active():
            at = addresses[lane] + (word & 0xFFFF) & 0xFFFFFFFF
            raw = ctypes.string_at(buffers[3].value + at, 1 if lds < 0xA6 else 2)
            half = int.from_bytes(raw, "little", signed=lds in (0xA4, 0xA5)) & 0xFFFF
            to[lane] = to[lane] & 0xFFFF | half << 16 if lds & 1 else to[lane] & ~0xFFFF | half
        registers.go_on(8)

    def buffer_load(self, pc, word):
        """One of bytes, halves or words: its size and opcode, where its offsets and its buffer are,
        and where to. Only CDNA's words are known to the emulator."""
        if self.arch == "rdna4":
            beyond = struct.unpack("<I", ctypes.string_at(pc + 8, 4))[0]
            where = word & 0x7F, word >> 41 & 0x1FF, word >> 62 & 3, beyond & 0xFF, beyond >> 8
            top, code, size, to = 0x31, word >> 14 & 0xFF, 12, word >> 32 & 0xFF
        else:
            offsets = word >> (12 if self.arch == "cdna" else 54) & 3
            where = word >> 56, (word >> 48 & 0x1F) * 4, offsets, word >> 32 & 0xFF, word & 0xFFF
            top, code, size, to = 0x38, word >> 18 & 0x7F, 8, word >> 40 & 0xFF
        is_load = word >> 26 & 0x3F == top and 0x10 <= code <= 0x17
        return (size, code, where, to) if is_load else None

    def read_buffer(self, registers, code, where):
        """By lane that is active: words, zero beyond the buffer's end."""
        scalar, first, offsets, vector, constant = where
        base, records = registers.wide(first) & (1 << 48) - 1, registers.scalar[first + 2]
        if offsets & 2 or registers.scalar[first + 1] >> 16 & 0x3FFF:
            raise NotImplementedError("a buffer of rows is read")
        is_zero = scalar == 0x80 or scalar == 0x7C and self.arch != "cdna"
        constant += 0 if is_zero else registers.scalar[scalar]
        part = {0x10: 1, 0x11: 1, 0x12: 2, 0x13: 2}.get(code, 4)
        addresses = registers.row(vector) if offsets & 1 else [0] * self.lanes

        def word(at):
            raw = ctypes.string_at(base + at, part) if at + part <= records else b"\0"
            return int.from_bytes(raw, "little", signed=code in (0x11, 0x13)) & 0xFFFFFFFF

        return {lane: [word(addresses[lane] + constant + 4 * number)
                       for number in range(max(1, code - 0x13))] for lane in registers.active()}

    def load_from_buffer(self, buffers, size, code, where, to):
        registers = Registers(buffers, self.lanes)
        for lane, words in self.read_buffer(registers, code, where).items():
            for number, word in enumerate(words):
                registers.row(to + number)[lane] = word
        registers.go_on(size)

    def load_to_lds_from_buffer(self, buffers, size, code, where, _):
        """Lane after lane from M0 on."""
        registers = Registers(buffers, self.lanes)
        to = buffers[3].value + (registers.scalar[M0] & 0x3FFFF) + where[-1]
        for lane, words in self.read_buffer(registers, code, where).items():
            ctypes.memmove(to + lane * 4 * len(words), struct.pack(f"<{len(words)}I", *words),
                           4 * len(words))
        registers.go_on(size)

    def wide_swap(self, pc, word):
        """Of RDNA's compare-and-swap of 64 bits: bytes, registers of scalar base, address, data and
        result, offset, and whether there is a result."""
        if self.arch == "rdna3" and word >> 26 & 0x3F == 0x37 and word >> 18 & 0x7F == 0x42:
            return (8, word >> 48 & 0x7F, word >> 32 & 0xFF, word >> 40 & 0xFF, word >> 56 & 0xFF,
                    signed(word & 0x1FFF, 13), word >> 14 & 1)
        if self.arch == "rdna4" and word >> 24 & 0xFF == 0xEE and word >> 14 & 0xFF == 0x42:
            last = ctypes.c_uint32.from_address(pc + 8).value
            return (12, word & 0x7F, last & 0xFF, word >> 55 & 0xFF, word >> 32 & 0xFF,
                    signed(last >> 8, 24), word >> 52 & 1)
        return None

    def swap_wide(self, buffers, size, base, address, data, to, offset, returns):
        registers = Registers(buffers, self.lanes)

        def wide(number, lane):
            return registers.row(number)[lane] | registers.row(number + 1)[lane] << 32

        for lane in registers.active():
            at = registers.wide(base) + registers.row(address)[lane]
            memory = ctypes.c_uint64.from_address(
                (wide(address, lane) if base == 0x7C else at) + offset)
            old = memory.value
            if old == wide(data + 2, lane):
                memory.value = wide(data, lane)
            if returns:
                registers.row(to)[lane], registers.row(to + 1)[lane] = split64(old)
        registers.go_on(size)

    # --- what it errs in ---

    def corrected(self, pc, word):
        """The emulator's own instruction, around which something is put right."""
        if (word & 0x1FF) == 0xFA and word >> 31 & 1 == 0 and word >> 32 & 0xFF != 0xFF:
            return self.from_copy(pc, word)
        is_wide = word >> 26 & 0x3F == 0x35  # VOP3
        lanes_of_others = word & 0x1FF if word >> 31 & 1 == 0 else word >> 32 & 0x1FF if is_wide else 0
        if self.arch != "cdna" and lanes_of_others in (0xE9, 0xEA, 0xFA):
            raise NotImplementedError("the emulator takes this form of DPP for plain operands")
        name, step = self.emulated(pc)
        if name.startswith("DS_") and "PERMUTE" not in name:
            emulated = step
            step = lambda buffers: self.access_lds(buffers, name, word, emulated)
        if "MFMA" in name or "WMMA" in name:
            return name, self.product(name, word, step)
        is_plain = name.split("_")[1] in ("READ", "WRITE", "LOAD", "STORE", "READ2", "WRITE2")
        if "_ATOMIC_" in name or name.startswith("DS_") and "PERMUTE" not in name and not is_plain:
            return name, lambda buffers: self.one_by_one(buffers, step)
        return name, step

    def product(self, name, word, step):
        """The emulator has the sums of 32 x 32 in the order of their rows. A lane has rows in groups
        of four, the next of which the other half of the wave has (CDNA 3 ISA, "Dense Matrix
        Instructions"): so A's rows change places for the time being."""
        unknown = ("XF32", "F64") if "MFMA" in name else ("FP8", "BF8")
        if any(kind in name for kind in unknown):
            raise NotImplementedError(f"the emulator takes the operands of {name} for others")
        if "32X32X" not in name:
            return step
        if word >> 59 & 3:
            raise NotImplementedError("a factor is in accumulation registers")
        depth, _, element = name.partition("32X32X")[2].partition("_")
        bits = 8 if "8" in element else 16 if "16" in element else 32
        first, count = word >> 32 & 0xFF, 32 * int(depth) * bits // (64 * 32)
        source = [lane & 32 | (lane & 12) << 1 | (lane & 16) >> 2 | lane & 3 for lane in range(64)]

        def run(buffers):
            registers = Registers(buffers, self.lanes)
            kept = [list(registers.row(first + i)) for i in range(count)]
            for i in range(count):
                registers.row(first + i)[:] = [kept[i][lane] for lane in source]
            step(buffers)
            for i in range(count):
                registers.row(first + i)[:] = kept[i]

        return run

    def one_by_one(self, buffers, step):
        """Each lane of an update sees what the lanes before it have left."""
        registers = Registers(buffers, self.lanes)
        active, mask, pc = registers.active(), registers.wide(EXEC), registers.wide(PC)
        for lane in active:
            registers.scalar[EXEC:EXEC + self.lanes // 32] = split64(1 << lane)[:self.lanes // 32]
            registers.scalar[PC:PC + 2] = split64(pc)
            step(buffers)
        if not active:
            step(buffers)
        registers.scalar[EXEC:EXEC + 2] = split64(mask)

    def emulated(self, pc):
        (program, compiled), instruction = self.emulator._decode_at(pc, self.arch)
        slots = program.arg.globals
        return (self.emulator._op_name(instruction),
                lambda buffers: compiled.fxn(*[buffers[slot] for slot in slots]))

    def from_copy(self, pc, word):
        """DPP reads its source as it writes: let it read a copy, in the last register."""
        source = word >> 32 & 0xFF
        ctypes.c_uint8.from_address(pc + 4).value = 0xFF
        name, step = self.emulated(pc)

        def run(buffers):
            registers = Registers(buffers, self.lanes)
            registers.row(255)[:] = list(registers.row(source))
            step(buffers)

        return name, run

    def access_lds(self, buffers, name, word, step):
        """Lanes that take no part have no address; and an address need not be a multiple of four."""
        registers = Registers(buffers, self.lanes)
        active, addresses = registers.active(), registers.row(word >> 32 & 0xFF)
        words, is_store = self.plain_words(name)
        offset = word & 0xFFFF
        if words and any((addresses[lane] + offset) % 4 for lane in active):
            first = word >> (40 if is_store else 56) & 0xFF
            for lane in active:
                at = (ctypes.c_uint8 * (4 * words)).from_address(
                    buffers[3].value + addresses[lane] + offset)
                for i in range(words):
                    row = registers.row(first + i)
                    if is_store:
                        at[4 * i:4 * i + 4] = row[lane].to_bytes(4, "little")
                    else:
                        row[lane] = int.from_bytes(bytes(at[4 * i:4 * i + 4]), "little")
            return registers.go_on(8)
        kept = list(addresses)
        others = [lane for lane in range(self.lanes) if lane not in set(active)]
        for lane in others:
            addresses[lane] = 0
        step(buffers)
        for lane in others:
            addresses[lane] = kept[lane]

    @staticmethod
    def plain_words(name):
        parts = name.split("_")
        is_store = parts[1] in ("WRITE", "STORE")
        is_plain = len(parts) == 3 and (is_store or parts[1] in ("READ", "LOAD"))
        bits = int(parts[2][1:]) if is_plain and parts[2][0] == "B" else 0
        return bits // 32, is_store

    # --- running ---

    def instruction(self, pc):
        if pc not in self.program:
            word = int.from_bytes(ctypes.string_at(pc, 8), "little")
            self.program[pc] = (*(self.own(pc, word) or self.corrected(pc, word)), word)
        return self.program[pc]

    def launch(self, launch):
        name = launch.about["kernel"]
        descriptor = Descriptor(launch.code.symbols[f"{name}.kd"])
        assert descriptor.resources1 >> 16 & 15 == 15, "subnormal numbers are to be kept"
        self.program.clear()
        width, height, depth = launch.about["grid"]
        for number in range(width * height * depth):
            block = number % width, number // width % height, number // width // height
            self.run_block(descriptor, launch, block)

    def run_block(self, descriptor, launch, block):
        most_shared = 160 << 10  # of a block, gfx950; how much a launch gives is not written down
        shared = (ctypes.c_uint8 * max(descriptor.shared, most_shared))()
        ctypes.memset(shared, 0xA5, len(shared))
        threads = launch.about["threads"]
        waves = [self.wave(descriptor, launch, block, first, shared)
                 for first in range(0, threads, self.lanes)]
        left = MOST_INSTRUCTIONS
        while waves:
            ready = [wave for wave in waves if not wave.is_waiting]
            if not ready:
                for wave in waves:
                    wave.is_waiting = False
                continue
            wave = self.random.choice(ready)
            left -= self.run_wave(wave, self.random.randint(1, 64))
            if wave.state.pc == self.emulator.ENDPGM_PC:
                waves.remove(wave)
            if left < 0:
                raise RuntimeError("it does not end")

    def wave(self, descriptor, launch, block, first, shared):
        arguments = ctypes.addressof(launch.arguments)
        state = self.emulator._init_wave(
            descriptor.entry, first, launch.about["threads"], launch.about["threads"], 1, 1,
            arguments, descriptor.resources2, descriptor.scratch, self.arch, *block,
            descriptor.user_data(arguments), self.lanes)
        state._write_sgpr(248, 0x3E22F983)  # 1/(2 pi), where it has put a number of the hardware's
        scratch = (ctypes.c_uint8 * max(descriptor.scratch * self.lanes, 1))()
        addresses = [state.sgpr_buf._buf.va_addr, state.vgpr_buf._buf.va_addr, 0,
                     ctypes.addressof(shared), ctypes.addressof(scratch),
                     state.accvgpr_buf._buf.va_addr]
        return Wave(state, [ctypes.c_uint64(address) for address in addresses], (shared, scratch))

    def run_wave(self, wave, most):
        """So many instructions, or up to a barrier or the end; how many they were."""
        for done in range(most):
            pc = wave.state.pc
            if pc == self.emulator.ENDPGM_PC:
                return done
            name, step, word = self.instruction(pc)
            self.land(wave, name, word)
            if name in ("global_load_lds", "buffer_load_lds"):
                self.put_off(wave, step)
            else:
                step(wave.buffers)
                if name.startswith(("GLOBAL_", "BUFFER_", "FLAT_", "SCRATCH_")):
                    wave.loads.append(None)
            if name in ("S_BARRIER", "S_BARRIER_WAIT"):
                wave.is_waiting = True
                return done + 1
        return most

    def land(self, wave, name, word):
        """Loads to LDS come as late as a wait allows."""
        if self.arch != "cdna" or name not in ("S_WAITCNT", "S_ENDPGM"):
            return
        left = word & 15 | (word >> 14 & 3) << 4 if name == "S_WAITCNT" else 0
        while len(wave.loads) > left:
            if landing := wave.loads.pop(0):
                landing()

    def put_off(self, wave, step):
        sizes = 4 * 264, 4 * 256 * self.lanes
        copies = [ctypes.create_string_buffer(ctypes.string_at(buffer.value, size), size)
                  for buffer, size in zip(wave.buffers, sizes)]
        buffers = [ctypes.c_uint64(ctypes.addressof(copy)) for copy in copies] + wave.buffers[2:]
        wave.loads.append(lambda keep=copies: step(buffers))
        Registers(wave.buffers, self.lanes).go_on(8)


# --- from the command line ---


def load_emulator(path):
    """The clone's, with what it lacks everywhere: the DPP control row_xmask, and the names that CDNA 3
    and RDNA 4 have for the bit by which an update gives the old value."""
    os.environ.update(DEV="CPU", CACHELEVEL="0", PATH=f"{LLVM}:{os.environ['PATH']}")
    sys.path.insert(0, str(path))
    import test.mockgpu.amd.emu as emulator
    known, known_field = emulator._dpp16_ctrl, emulator._iattr

    def bits(instruction, name, default=0):
        if name != "glc" or hasattr(type(instruction), "glc"):
            return known_field(instruction, name, default)
        return known_field(instruction, "sc0") or known_field(instruction, "th") & 1

    def control(lane, dpp, row_mask, bank_mask, lanes):
        if not 0x160 <= dpp <= 0x16F:
            return known(lane, dpp, row_mask, bank_mask, lanes)
        _, enabled, valid = known(lane, 0, row_mask, bank_mask, lanes)
        number = lane.cast(emulator.dtypes.int)
        return number ^ emulator._c(dpp & 15, emulator.dtypes.int), enabled, valid

    emulator._dpp16_ctrl, emulator._iattr = control, bits
    return emulator


def run_machine(emulator, build, name, arguments):
    """How many kernels came out right, wrong, and were not run."""
    counts = {"right": 0, "wrong": 0, "not run": 0}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([build / "tests/codegen/write_launches", name, folder,
                        *arguments.kernel], check=True)
        for kernel in sorted(path.stem for path in folder.glob("*.json")):
            outcome, said = run_kernel(Machine(emulator, name, arguments.seed), folder, kernel)
            counts[outcome] += 1
            print(f"{name:8} {kernel:24} {outcome}{': ' + said if said else ''}", flush=True)
    return counts


def run_kernel(machine, folder, kernel):
    try:
        launch = Launch(folder, kernel)
        machine.launch(launch)
    except (NotImplementedError, RuntimeError, AssertionError, ValueError) as problem:
        return "not run", str(problem).splitlines()[0]
    said = "; ".join(launch.differences())
    return ("wrong", said) if said else ("right", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tinygrad", type=Path, nargs="?")
    parser.add_argument("--build", type=Path, default=Path("build/ci"))
    parser.add_argument("--machine", action="append", choices=MACHINES)
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.tinygrad is None:
        print("SKIP: AMD's machine code is not run, for no clone of tinygrad is named")
        return 0
    subprocess.run(["cmake", "--build", arguments.build, "--target", "write_launches"], check=True,
                   stdout=subprocess.DEVNULL)
    emulator = load_emulator(arguments.tinygrad)
    wrong = 0
    for name in arguments.machine or MACHINES:
        counts = run_machine(emulator, arguments.build, name, arguments)
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        wrong += counts["wrong"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
