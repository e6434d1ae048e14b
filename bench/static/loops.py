"""Loops of machine code: which one computes a kernel's products, and what its instructions are.

Reads the text of `nvdisasm -c` and the assembly that LLVM writes for AMD's machines. A loop is
what lies between a label and the last branch back to it; a branch to itself is none. How many
steps one turn of it computes follows from the products that its instructions compute. Where a
branch leads around some of them they count, but of two ways that load as much only the shorter.
"""

import dataclasses
import re

# What an instruction is counted as, by its opcode, or by how that begins (*); the first that fits.
SASS_KINDS = [
    ("matrix", "HMMA IMMA QMMA DMMA OMMA BMMA HGMMA QGMMA IGMMA BGMMA UTC*"),
    ("shared read", "LDSM LDS"),
    ("shared write", "STSM STS STAS"),
    ("spill", "LDL STL"),
    ("wait", "BAR DEPBAR SYNCS WARPSYNC WARPGROUP NANOSLEEP FENCE MEMBAR ARRIVES CCTL* ERRBAR "
             "ACQBULK ELECT NOP YIELD LDGDEPBAR"),
    ("global", "LDG* LD STG ST UTMA* UBLKCP RED* ATOM*"),
    ("shuffle", "SHFL VOTE* REDUX MATCH"),
    ("float", "FFMA* FADD* FMUL* FMNMX* FSEL FSET* FSWZADD MUFU FRND FCHK HADD* HMUL* HFMA* HMNMX* "
              "HSET* DADD DMUL DFMA DSET*"),
    ("convert", "F2F* F2I* I2F* I2I*"),
    ("branch", "BRA BRX JMP BSSY BSYNC BREAK EXIT CALL RET KILL"),
    ("uniform", "U* R2UR S2UR CREDUX"),
    ("integer", "IADD* IMAD LEA LOP* SHF SHL SHR ISETP ISET ICMP IMNMX IABS IDP* IMUL VI* BMSK "
                "SGXT POPC FLO PLOP* PSETP P2R R2P VABSDIFF*"),
    ("move", "MOV* SEL PRMT CS2R S2R LDC* LEPC B2R R2B"),
]
GCN_KINDS = [
    ("matrix", "v_mfma* v_wmma* v_smfmac* v_swmmac*"),
    ("spill", "scratch_* v_accvgpr*"),
    ("shuffle", "ds_bpermute* ds_permute* ds_swizzle* v_permlane* v_readlane* v_writelane* "
                "v_readfirstlane*"),
    ("shared read", "ds_read* ds_load*"),
    ("shared write", "ds_write* ds_store* ds_add* ds_storexchg*"),
    ("global", "global_* buffer_* flat_* tensor_load* tensor_store*"),
    ("wait", "s_waitcnt* s_wait_* s_barrier* s_sleep* s_endpgm*"),
    ("hint", "s_nop* s_delay* s_clause* s_set* v_nop*"),
    ("branch", "s_branch* s_cbranch* s_setpc* s_swappc* s_call*"),
    ("convert", "v_cvt*"),
    ("float", "v_fma* v_fmac* v_pk_fma* v_pk_mul_f* v_pk_add_f* v_pk_max* v_pk_min* v_add_f* "
              "v_sub_f* v_subrev_f* v_mul_f* v_max_f* v_min_f* v_max3_f* v_min3_f* v_maximum* "
              "v_minimum* v_exp* v_rcp* v_rsq* v_log* v_ldexp* v_dot* v_div* v_cmp_gt_f* "
              "v_cmp_lt_f* v_mac_f* v_med3_f* v_max_num* v_min_num* v_max3_num* v_fract* "
              "v_rndne* v_trunc* v_frexp* v_cmp_class* v_sqrt* v_mul_legacy* v_pk_maximum* "
              "v_pk_minimum*"),
    ("move", "v_mov* v_perm* v_bfi* v_cndmask* v_swap* v_alignb* v_pack* v_pk_mov*"),
    ("scalar", "s_*"),
    ("integer", "v_*"),
]
FEW = 40  # instructions that an assembler puts under a condition in place of a branch around them
KINDS = list(dict.fromkeys(kind for kind, _ in SASS_KINDS + GCN_KINDS)) + ["other"]


def fits(opcode, name):
    return opcode.startswith(name[:-1]) if name.endswith("*") else opcode == name


@dataclasses.dataclass
class Instruction:
    mnemonic: str
    text: str
    target: str | None  # the label that it may branch to

    @property
    def is_sass(self):
        return self.mnemonic[0].isupper()

    @property
    def kind(self):
        kinds = SASS_KINDS if self.is_sass else GCN_KINDS
        opcode = self.mnemonic.split(".")[0].replace("v_dual_", "v_")
        return next((kind for kind, names in kinds if any(fits(opcode, n) for n in names.split())),
                    "other")

    @property
    def falls_through(self):
        """Whether the instruction behind it may come next."""
        if self.guard or self.mnemonic.startswith("s_cbranch"):
            return True
        if not self.target:
            return self.mnemonic.split(".")[0] not in ("EXIT", "s_endpgm")
        return bool(re.match(r"\S+\s+[^`\s]+,", self.text))  # BRA P0, `(.L_x_1)

    @property
    def guard(self):
        """`@!P0`: the condition under which it is done."""
        return self.text.split()[0] if self.text.startswith("@") else None

    @property
    def loads(self):
        """Whether it takes something from global memory."""
        return self.kind == "global" and bool(
            re.match(r"LDG|LD\b|UTMALDG|UBLKCP|\w+_load", self.mnemonic))

    def products(self, warp):
        """Multiplications and additions of a warp's lanes together."""
        return sass_products(self.mnemonic) if self.is_sass else gcn_products(self.text, warp)


def sass_products(mnemonic):
    # HGMMA.64x256x16 is issued by four warps together; HMMA.16816 is m16n8k16.
    if found := re.search(r"^\wGMMA\.(\d+)x(\d+)x(\d+)", mnemonic):
        m, n, k = map(int, found.groups())
        return m * n * k // 4
    if found := re.search(r"^[HIQDO]MMA\.(?:SF\.)?(16|8)8(\d+)\b", mnemonic):
        return int(found[1]) * 8 * int(found[2])
    if found := re.search(r"^[HIQDO]MMA\.(?:SF\.)?(\d+)x(\d+)x(\d+)", mnemonic):
        return int(found[1]) * int(found[2]) * int(found[3])
    # Products of i8 on lanes; those of addresses are few beside them, and mostly have modifiers.
    if mnemonic == "IMAD":
        return 32
    each = {"FFMA2": 64, "HFMA2": 64, "FFMA": 32, "DFMA": 32, "IDP": 128}
    return each.get(mnemonic.split(".")[0], 0)


def gcn_products(text, warp):
    if found := re.search(r"^v_(?:mfma|wmma)\w*?_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?", text):
        m, n, k = (int(found[i]) for i in (1, 2, 3))
        return m * n * k * int(found[4] or 1)
    packed = {"v_pk_fma_f32": 2, "v_dot2": 2, "v_pk_fma_f16": 2, "v_dot4": 4}
    for name, each in packed.items():
        if text.startswith(name):
            return each * warp
    # gfx11 issues two at once.
    return warp * len(re.findall(r"\bv_(?:dual_)?(?:fma|fmac|fmaak|fmamk|fma_mix)_f(?:32|64)|"
                                 r"\bv_mad_[iu]32_[iu]24", text))


def parse_sass(text):
    """The instructions of the first function, and where its labels stand."""
    code, labels = [], {}
    for line in text.splitlines():
        if line.startswith("//------") and code:
            break
        if found := re.fullmatch(r"(\.L_\w+):", line.strip()):
            labels[found[1]] = len(code)
        elif found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            words = re.sub(r"^@!?U?P\w+\s+", "", found[1])
            jump = re.search(r"`\((\.L_\w+)\)", words) if re.match(r"BRA|JMP", words) else None
            code.append(Instruction(words.split()[0], found[1], jump[1] if jump else None))
    return code, labels


def parse_gcn(text):
    code, labels = [], {}
    for line in text.splitlines():
        line = line.split(";")[0].split("//")[0]
        if re.match(r"\.section\s+\.rodata|\s+\.section\s+\.rodata|\s*\.end_amdhsa", line) and code:
            break
        if found := re.fullmatch(r"(\.?\w+):\s*", line):
            labels[found[1]] = len(code)
        elif found := re.match(r"\s+([a-z]\w+)\b(.*)", line):
            words = (found[1] + found[2]).rstrip()
            jump = found[2].strip() if found[1].startswith(("s_branch", "s_cbranch")) else None
            code.append(Instruction(found[1], words, jump))
    return code, labels


@dataclasses.dataclass(frozen=True)
class Loop:
    first: int
    last: int  # of the instructions, both included

    def __contains__(self, other):
        return self != other and self.first <= other.first and other.last <= self.last


def loops_of(code, labels):
    last = {}
    for at, instruction in enumerate(code):
        first = labels.get(instruction.target)
        if first is not None and first < at:
            last[first] = at
    return [Loop(first, at) for first, at in sorted(last.items())]


@dataclasses.dataclass
class Step:
    """The loop of the products, over the steps of one turn."""
    code: list  # the loop's instructions
    weights: list  # how often each is executed a step; a part of one where a turn has several steps
    steps: int  # of a turn
    loops: int  # that compute products of a step or more

    @property
    def instructions(self):
        return sum(self.weights)

    def by_kind(self):
        counts = dict.fromkeys(KINDS, 0)
        for instruction, weight in zip(self.code, self.weights):
            counts[instruction.kind] += weight
        return {kind: round(count, 2) for kind, count in counts.items() if count}


def step_of(code, labels, wanted, warp):
    """The loop whose turn computes the `wanted` products of a step of a warp, or several of them.
    None where there is no such loop. Where a step is a loop itself, that one's turns follow from
    the products that the rest does not compute."""
    loops = loops_of(code, labels)
    units = [i.products(warp) if i.kind == "matrix" else 0 for i in code]
    # What is left to lanes: all products, or those of one of a step's two.
    lanes = [i.products(warp) for i in code]
    steps = (whole_steps(code, labels, loops, units, wanted)
             or whole_steps(code, labels, loops, lanes, wanted))
    steps = steps or list(rolled(code, loops, lanes, wanted))
    if not steps:
        return None
    # A loop over the last steps, behind the last copy, is shorter, and not the one that matters;
    # nor is what a branch from behind the end makes look like one, with what is stored there.
    copying = [step for step in steps if any(i.loads for i in step.code)]
    best = min(copying or steps, key=lambda step: step.instructions)
    best.loops = len(steps)
    return best


def within(loop, products):
    return sum(products[loop.first:loop.last + 1])


def whole_steps(code, labels, loops, products, wanted):
    # A tenth less, as some lanes' products are written as multiplications alone.
    whole = [loop for loop in loops if within(loop, products) >= 0.9 * wanted]
    inner = [loop for loop in whole if not any(other in loop for other in whole)]
    # What is left over is done twice, as by warps for which a tile has not rows enough.
    return [turn(code, way_through(code, labels, loop, products),
                 int(within(loop, products) / wanted + 0.1), {}) for loop in inner]


def rolled(code, loops, products, wanted):
    parts = [loop for loop in loops if within(loop, products)
             and not any(other in loop for other in loops)]
    for loop in loops:
        inside = [part for part in parts if part in loop]
        if not inside or any(inner in loop and any(p in inner for p in inside) for inner in loops):
            continue
        each = sum(within(part, products) for part in inside)
        turns = max(1, round((wanted - (within(loop, products) - each)) / each))
        yield turn(code, range(loop.first, loop.last + 1), 1, {part: turns for part in inside})


def way_through(code, labels, loop, products):
    """Of an innermost loop, from its head to a branch back: what a branch leads around counts, but
    of two ways that load as much, with masks and without, only the shorter. All of the loop where
    ways turn in circles."""
    whole = range(loop.first, loop.last + 1)
    nexts = {}
    for at in whole:
        behind = [at + 1] if code[at].falls_through else []
        nexts[at] = [to for to in [*behind, labels.get(code[at].target)] if to in whole]
    ways = {}  # from an instruction on
    for at in backwards(nexts, loop.first) or []:
        further = [[] if to == loop.first else ways[to] for to in nexts[at]]
        if len(further) == 2 and None not in further:
            further = [better(code, products, at, *further)]
        ways[at] = next(([at, *way] for way in further if way is not None), None)
    return ways.get(loop.first) or whole


def better(code, products, fork, behind, taken):
    """Of the two ways from a branch on, which have one end."""
    joined = next((at for at in behind if at in set(taken)), None)
    parts = [way[:way.index(joined)] if joined is not None else way for way in (behind, taken)]
    computed = [sum(products[at] for at in part) for part in parts]
    loaded = [sum(code[at].loads for at in part) for part in parts]
    # What comes under the branch's own condition in front of it is not done on the way behind it. A
    # uniform branch (BRA.U) has the condition in another register.
    condition = code[fork].guard
    guards = [code[at].guard for at in range(max(0, fork - FEW), fork) if code[at].loads]
    loaded[1] += sum(guard == condition if condition else guard is not None for guard in guards)
    if computed[0] == computed[1] and loaded[0] == loaded[1] > 0:
        return min(behind, taken, key=len)
    return (taken if (computed[1], loaded[1], len(taken)) > (computed[0], loaded[0], len(behind))
            else behind)


def backwards(nexts, first):
    """What can be reached from the first, each behind all that follow it but the first. None where
    some follow each other."""
    order, seen, under_way, to_visit = [], set(), set(), [first]
    while to_visit:
        at = to_visit[-1]
        further = [to for to in nexts[at] if to != first and to not in seen]
        if at in seen or at in under_way and not further:
            to_visit.pop()
            if at not in seen:
                order.append(at)
                seen.add(at)
        elif any(to in under_way for to in further):
            return None
        else:
            under_way.add(at)
            to_visit += further
    return order


def turn(code, way, steps, turns):
    body, weights = [], []
    for at in way:
        times = next((n for part, n in turns.items() if part.first <= at <= part.last), 1)
        body.append(code[at])
        weights.append(times / steps)
    return Step(body, weights, steps, 1)
