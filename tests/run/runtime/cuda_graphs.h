#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <dlfcn.h>

namespace imbrex::testing {

/// The functions of CUDA's driver by which graphs are made.
struct CudaGraphs {
  CudaGraphs() : library(dlopen("libcuda.so.1", RTLD_NOW)) {
    find("cuDevicePrimaryCtxRetain", retain);
    find("cuCtxSetCurrent", setCurrent);
    find("cuStreamBeginCapture_v2", begin);
    find("cuStreamEndCapture", end);
    find("cuGraphInstantiateWithFlags", instantiate);
    find("cuGraphLaunch", launch);
    void *context = nullptr;
    REQUIRE(retain(&context, 0) == 0);
    REQUIRE(setCurrent(context) == 0);
  }

  void *library;
  int (*retain)(void **context, int device) = nullptr;
  int (*setCurrent)(void *context) = nullptr;
  int (*begin)(void *stream, int mode) = nullptr;
  int (*end)(void *stream, void **graph) = nullptr;
  int (*instantiate)(void **executable, void *graph, unsigned long long flags) = nullptr;
  int (*launch)(void *executable, void *stream) = nullptr;

private:
  template <class F>
  void find(const char *symbol, F *&function) {
    function = reinterpret_cast<F *>(dlsym(library, symbol));
    REQUIRE(reinterpret_cast<std::uintptr_t>(function) != 0);
  }
};

} // namespace imbrex::testing
