"""Primitives of a current oneDNN by its C API, from PyPI's package `onednn`: each function takes
arrays of NumPy, the result last, and returns a call that computes it.

That package is built for SYCL, whose CPU device is OpenCL's. Its threads are as many as this
process may run on; a product of 16 x 16 x 16 takes some 20 microseconds. What it does not have on
this processor is a NotImplementedError."""

import ctypes
import os
import sys

# The OpenCL of the same environment, which the loader of Debian does not know. Read when a device
# is asked for.
LIBRARIES = os.path.join(sys.prefix, "lib")
os.environ.setdefault("OCL_ICD_FILENAMES", os.path.join(LIBRARIES, "libintelocl.so"))
os.environ.setdefault("ONEAPI_DEVICE_SELECTOR", "opencl:cpu")


def load():
    """The library, with what it needs; these are in no folder that the loader looks into."""
    for name in "libtbb.so.12", "libintlc.so.5", "libimf.so", "libsvml.so", "libur_loader.so.0", "libsycl.so.9":
        ctypes.CDLL(os.path.join(LIBRARIES, name), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(os.path.join(LIBRARIES, "libdnnl.so.3"))


DNNL = load()

# Of dnnl_types.h.
UNIMPLEMENTED, CPU, IN_ORDER, FORWARD_INFERENCE = 3, 1, 1, 96
SOFTMAX_ACCURATE, GELU_ERF, USE_SCALE, USE_SHIFT = 0x30000, 49, 2, 4
ELEMENTS = {"bfloat16": 2, "float32": 3, "int32": 4, "int8": 5}
ROW_MAJOR = {1: 2, 2: 3, 3: 4}  # by rank
SRC, DST, WEIGHTS, BIAS, SCALE, SHIFT = 1, 17, 33, 41, 51, 52


class Argument(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def call(name, *arguments):
    status = getattr(DNNL, name)(*arguments)
    if status == UNIMPLEMENTED:
        raise NotImplementedError(name)
    if status != 0:
        raise RuntimeError(f"{name}: status {status}")


def made(name, *arguments):
    """What a function of the library creates in its first argument."""
    result = ctypes.c_void_p()
    call(name, ctypes.byref(result), *arguments)
    return result


ENGINE = made("dnnl_engine_create", CPU, ctypes.c_size_t(0))
STREAM = made("dnnl_stream_create", ENGINE, IN_ORDER)


def version():
    DNNL.dnnl_version.restype = ctypes.POINTER(Version)
    found = DNNL.dnnl_version().contents
    return f"{found.major}.{found.minor}.{found.patch}"


def described(array):
    extents = (ctypes.c_int64 * array.ndim)(*array.shape)
    return made("dnnl_memory_desc_create_with_tag", array.ndim, extents, ELEMENTS[array.dtype.name], ROW_MAJOR[array.ndim])


def run_by(primitive_description, arrays):
    """A call that runs it to the end. `arrays`: the number of an argument -> its array."""
    primitive = made("dnnl_primitive_create", primitive_description)
    arguments = (Argument * len(arrays))(*(
        (number, made("dnnl_memory_create", described(array), ENGINE, ctypes.c_void_p(array.ctypes.data)).value)
        for number, array in arrays.items()))

    def run():
        call("dnnl_primitive_execute", primitive, STREAM, len(arguments), arguments)
        call("dnnl_stream_wait", STREAM)
    return run


def matmul(a, b, c):
    return run_by(made("dnnl_matmul_primitive_desc_create", ENGINE, described(a), described(b), None, described(c), None),
                  {SRC: a, WEIGHTS: b, DST: c})


def matmul_gelu(a, b, bias, c):
    after, attributes = made("dnnl_post_ops_create"), made("dnnl_primitive_attr_create")
    call("dnnl_post_ops_append_eltwise", after, GELU_ERF, ctypes.c_float(0), ctypes.c_float(0))
    call("dnnl_primitive_attr_set_post_ops", attributes, after)
    row = bias[None]
    return run_by(made("dnnl_matmul_primitive_desc_create", ENGINE, described(a), described(b), described(row),
                       described(c), attributes),
                  {SRC: a, WEIGHTS: b, BIAS: row, DST: c})


def softmax(x, y):
    return run_by(made("dnnl_softmax_forward_primitive_desc_create", ENGINE, FORWARD_INFERENCE, SOFTMAX_ACCURATE,
                       described(x), described(y), 1, None),
                  {SRC: x, DST: y})


def layer_norm(x, scale, shift, y):
    return run_by(made("dnnl_layer_normalization_forward_primitive_desc_create", ENGINE, FORWARD_INFERENCE,
                       described(x), described(y), None, ctypes.c_float(1e-5), USE_SCALE | USE_SHIFT, None),
                  {SRC: x, SCALE: scale, SHIFT: shift, DST: y})
