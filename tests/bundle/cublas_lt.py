"""cuBLASLt by its C interface: a product by any of the algorithms that its heuristics name. Numbers
are of cublasLt.h and library_types.h (CUDA 12 and 13)."""

import ctypes

import torch

MOST_WORKSPACE = 32 << 20
COMPUTE_32F, COMPUTE_32I = 68, 72
TYPES = {"f32": 0, "f16": 2, "i8": 3, "i32": 10, "bf16": 14, "f8e4m3fn": 28}
OP_N, OP_T = 0, 1
TRANSPOSE_A, TRANSPOSE_B = 3, 4  # CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB
WORKSPACE_BYTES = 1  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t),
                ("state", ctypes.c_int), ("waves", ctypes.c_float),
                ("reserved", ctypes.c_int * 4)]


def library():
    """The one that torch has opened."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "libcublasLt.so" in line}
    if not paths:
        raise OSError("torch has not opened libcublasLt")
    return ctypes.CDLL(paths.pop())


class Product:
    """c = a · b, or a · bᵀ, of matrices whose rows adjoin. The library counts columns first, so
    that it computes cᵀ = bᵀ · aᵀ."""

    def __init__(self, a, b, c, problem):
        self.lib, self.operands = library(), (b, a, c)
        kind, out, transposed = problem["type"], problem["out"], problem["transposed"]
        m, k = a.shape
        n = c.shape[1]
        is_integer = kind == "i8"
        self.scale = (ctypes.c_int32 if is_integer else ctypes.c_float)
        self.handle, self.what = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self.handle))
        self.call("cublasLtMatmulDescCreate", ctypes.byref(self.what),
                  ctypes.c_int(COMPUTE_32I if is_integer else COMPUTE_32F),
                  ctypes.c_int(TYPES["i32" if is_integer else "f32"]))
        self.set("cublasLtMatmulDescSetAttribute", self.what, TRANSPOSE_A,
                 ctypes.c_int32(OP_T if transposed else OP_N))
        self.set("cublasLtMatmulDescSetAttribute", self.what, TRANSPOSE_B, ctypes.c_int32(OP_N))
        self.layouts = [self.layout(kind, *((k, n) if transposed else (n, k))),
                        self.layout(kind, k, m), self.layout(out, n, m)]
        self.workspace = torch.empty(MOST_WORKSPACE, dtype=torch.uint8, device=a.device)
        # Scalars and buffers that a call may read later stay here.
        self.one, self.zero = self.scale(1), self.scale(0)

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    def set(self, name, handle, attribute, value):
        self.call(name, handle, ctypes.c_int(attribute), ctypes.byref(value),
                  ctypes.c_size_t(ctypes.sizeof(value)))

    def layout(self, kind, rows, columns):
        made = ctypes.c_void_p()
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(made), ctypes.c_int(TYPES[kind]),
                  ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
        return made

    def algorithms(self, most=32):
        preference, found = ctypes.c_void_p(), ctypes.c_int(0)
        results = (Heuristic * most)()
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        self.set("cublasLtMatmulPreferenceSetAttribute", preference, WORKSPACE_BYTES,
                 ctypes.c_uint64(MOST_WORKSPACE))
        a, b, c = self.layouts
        self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, self.what, a, b, c, c, preference,
                  ctypes.c_int(most), results, ctypes.byref(found))
        return [result for result in results[:found.value] if result.state == 0]

    def run(self, result):
        a, b, c = (ctypes.c_void_p(operand.data_ptr()) for operand in self.operands)
        layouts = self.layouts
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("cublasLtMatmul", self.handle, self.what, ctypes.byref(self.one), a, layouts[0],
                  b, layouts[1], ctypes.byref(self.zero), c, layouts[2], c, layouts[2],
                  ctypes.byref(result.algorithm), ctypes.c_void_p(self.workspace.data_ptr()),
                  ctypes.c_size_t(MOST_WORKSPACE), stream)
        return self.operands[2]
