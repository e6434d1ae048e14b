#!/usr/bin/env python3
"""The library's kernel on arrays of NumPy, PyTorch and JAX, which hand them over by DLPack.

    from_python.py <libnormalise as a shared library>

Those that are not installed are left out.
"""

import ctypes
import importlib
import sys


class Stream(ctypes.Structure):
    """imbrex_stream: device 0 is the host, 1 CUDA, 2 HIP."""

    _fields_ = [("device", ctypes.c_int32), ("number", ctypes.c_int32), ("handle", ctypes.c_void_p)]


LIBRARY = ctypes.CDLL(sys.argv[1])
LIBRARY.imbrex_error_text.restype = ctypes.c_char_p
CONTENT = ctypes.pythonapi.PyCapsule_GetPointer
CONTENT.restype, CONTENT.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


HOST = Stream(0, 0, None)


def rms_norm(x, scale, y, epsilon, on=HOST):
    """y = scale * x / sqrt(mean(x², row) + epsilon). The arrays may be of any library that has DLPack."""
    # A capsule begins with the DLTensor, and owns it until it goes. Whoever made an array on a GPU
    # lets the stream wait for what the array holds; 1 is CUDA's default stream.
    waiting = {} if on.device == 0 else {"stream": on.handle or 1}
    capsules = [array.__dlpack__(**waiting) for array in (x, scale, y)]
    tensors = [ctypes.c_void_p(CONTENT(capsule, b"dltensor")) for capsule in capsules]
    failed = LIBRARY.normalise_rms_norm_dlpack(ctypes.byref(on), *tensors, ctypes.c_float(epsilon))
    if failed or LIBRARY.imbrex_stream_synchronise(ctypes.byref(on)):
        raise RuntimeError(LIBRARY.imbrex_error_text().decode())


def check(name, make, numbers, on=HOST):
    """make(rows, columns) gives ones; numbers(array) a NumPy array of what is in it."""
    import numpy

    x, scale, y = make(5, 300), make(1, 300)[0], make(5, 300)
    rms_norm(x, scale, y, 0.5, on)
    found = numbers(y)
    assert numpy.allclose(found, 1 / numpy.sqrt(1.5), rtol=1e-5), found
    try:
        rms_norm(x, scale[:299], y, 0.5, on)
    except RuntimeError as refused:
        assert "each column has a scale" in str(refused), refused
    else:
        raise AssertionError("a scale is missing")
    print(f"{name}: {found.shape[0]} rows of {found.shape[1]} elements, as expected")


def check_on_cuda(cuda, make):
    """PyTorch's arrays on a GPU, in the default stream and in one of PyTorch's own."""
    for queue in cuda.default_stream(), cuda.Stream():
        with cuda.stream(queue):
            on = Stream(1, cuda.current_device(), queue.cuda_stream or None)
            check(f"torch, {cuda.get_device_name()}", make, lambda array: array.cpu().numpy(), on)


def main():
    missing = []
    for name in "numpy", "torch", "jax":
        try:
            library = importlib.import_module(name)
        except ImportError:
            missing.append(name)
            continue
        if name == "numpy":
            check(name, lambda *shape: library.ones(shape, library.float32), lambda array: array)
        elif name == "torch":
            check(name, library.ones, lambda array: array.numpy())
            if library.cuda.is_available():
                check_on_cuda(library.cuda, lambda *shape: library.ones(shape, device="cuda"))
        else:
            ones = importlib.import_module("jax.numpy").ones
            with library.default_device(library.devices("cpu")[0]):
                check(name, lambda *shape: ones(shape).block_until_ready(), lambda array: array.__array__())
    if missing:
        print("not installed:", ", ".join(missing))
    return 77 if "numpy" in missing else 0


sys.exit(main())
