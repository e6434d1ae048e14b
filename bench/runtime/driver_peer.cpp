#include "bench/runtime/driver_peer.h"

#include <dlfcn.h>
#include <string>

namespace bench {
namespace {

template <class F>
bool find(void *library, const char *symbol, F *&function) {
  function = reinterpret_cast<F *>(dlsym(library, symbol));
  return function != nullptr;
}

/// `wide` parameters of 64 bits, then `narrow` ones of 32.
std::string emptyKernel(int wide, int narrow) {
  std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(";
  for (int i = 0; i < wide + narrow; ++i)
    text += std::string(i == 0 ? "" : ", ") + ".param .b" + (i < wide ? "64" : "32") + " p" +
            std::to_string(i);
  return text + ")\n{\n  ret;\n}\n";
}

} // namespace

void makeContextCurrent(const char *driver) {
  void *library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  int (*retain)(void **, int) = nullptr;
  int (*push)(void *) = nullptr;
  void *context = nullptr;
  if (library != nullptr && find(library, "cuDevicePrimaryCtxRetain", retain) &&
      find(library, "cuCtxPushCurrent_v2", push) && retain(&context, 0) == 0)
    push(context);
}

DriverLaunch::DriverLaunch(int wide, int narrow, void *stream) : stream_(stream) {
  for (std::size_t i = 0; i < kMost; ++i) parameters_[i] = &values_[i];
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  int (*retain)(void **, int) = nullptr;
  int (*setCurrent)(void *) = nullptr;
  int (*load)(void **, const void *) = nullptr;
  int (*findKernel)(void **, void *, const char *) = nullptr;
  if (!find(library, "cuDevicePrimaryCtxRetain", retain) ||
      !find(library, "cuCtxSetCurrent", setCurrent) || !find(library, "cuModuleLoadData", load) ||
      !find(library, "cuModuleGetFunction", findKernel) ||
      !find(library, "cuLaunchKernel", launch_))
    return;
  void *context = nullptr, *module = nullptr, *function = nullptr;
  if (retain(&context, 0) != 0 || setCurrent(context) != 0 ||
      load(&module, emptyKernel(wide, narrow).c_str()) != 0 ||
      findKernel(&function, module, "k") != 0)
    return;
  function_ = function;
}

void DriverLaunch::operator()() {
  launch_(function_, 1, 1, 1, 32, 1, 1, 0, stream_, parameters_, nullptr);
}

} // namespace bench
