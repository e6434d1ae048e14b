#include "backend/package/bundle.h"
#include "backend/package/fatbin.h"
#include "tests/package/loader/loader.h"

#include <doctest/doctest.h>

#include <cstdlib>

using imbrex::package::Member;

namespace {

/// The least that a reader takes for an image; what is in it is of no concern here.
const std::string kImage = std::string("\177ELF\2\1\1A\10", 9) + std::string(64, '\0');
const std::string kPtx = ".version 7.8\n.target sm_75\n";

const std::string kFatbin = imbrex::package::writeFatbin(
    {{"sm_80", false, kImage + "80"}, {"sm_80", true, kPtx}, {"sm_90a", false, kImage + "90a"}},
    true);
const std::string kBundle = imbrex::package::writeBundle({{"gfx942", false, kImage + "942"},
                                                          {"gfx9-4-generic", false, kImage + "9-4"},
                                                          {"gfx11-generic", false, kImage + "11"}},
                                                         false);

std::string loadOn(const char *device, const char *driver, const std::string &package) {
  if (device != nullptr)
    setenv("FAKE_DEVICE", device, 1);
  else
    unsetenv("FAKE_DEVICE");
  const auto loaded = loader::loadPackage(driver, package);
  if (!loaded) return loaded.error();
  CHECK(loaded->device == device);
  CHECK(loaded->module != nullptr);
  return (loaded->member.isAssembly ? "assembly of " : "") + loaded->member.machine;
}

std::string onCuda(const char *device) { return loadOn(device, FAKE_CUDA, kFatbin); }
std::string onHip(const char *device) { return loadOn(device, FAKE_HIP, kBundle); }

} // namespace

TEST_CASE("a fat binary is loaded on the device that there is") {
  CHECK(onCuda("sm_80") == "sm_80");
  CHECK(onCuda("sm_86") == "sm_80");
  CHECK(onCuda("sm_90") == "sm_90a");
  CHECK(onCuda("sm_120") == "assembly of sm_80");
}

TEST_CASE("an offload bundle is loaded on the device that there is") {
  CHECK(onHip("gfx942:sramecc+:xnack-") == "gfx942");
  CHECK(onHip("gfx950:sramecc+:xnack-") == "gfx9-4-generic");
  CHECK(onHip("gfx1100") == "gfx11-generic");
}

TEST_CASE("where nothing fits, the error says what there is and what is asked for") {
  CHECK(onCuda("sm_75") == "no code for sm_75 in a package of sm_80, assembly of sm_80, sm_90a");
  CHECK(onHip("gfx1030") ==
        "no code for gfx1030 in a package of gfx942, gfx9-4-generic, gfx11-generic");
}

TEST_CASE("without a driver, a device or a package there is an error, and the program goes on") {
  CHECK(onCuda(nullptr) == "the driver has no device");
  CHECK(onHip(nullptr) == "the driver has no device");
  CHECK(loadOn("sm_80", "/nowhere/libcuda.so", kFatbin).starts_with("there is no driver: "));
  CHECK(loadOn("sm_80", FAKE_CUDA, "nonsense").starts_with("this is no package"));
  const std::string strange =
      imbrex::package::writeFatbin({{"sm_80", true, "no code at all"}}, false);
  CHECK(loadOn("sm_80", FAKE_CUDA, strange) == "the driver refuses the code of sm_80");
}
