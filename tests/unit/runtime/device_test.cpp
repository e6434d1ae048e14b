#include <imbrex/device.hpp>
#include <imbrex/error.hpp>

#include <doctest/doctest.h>

using namespace imbrex;

TEST_CASE("devices have names") {
  CHECK(device::by_name("host") == device::host());
  CHECK(device::by_name("interpreter") == device::interpreter());
  CHECK(device::interpreter().name() == "interpreter");
  const device gpu = device::by_name("emulated:sm_90a");
  CHECK(gpu.name() == "emulated:sm_90a");
  CHECK(gpu.index() < device::count());
}

TEST_CASE("an unknown device is answered with the nearest and with the list") {
  try {
    (void)device::by_name("interpretor");
    FAIL("found");
  } catch (const error &mistake) {
    CHECK(mistake.code() == "MisspeltDevice");
    CHECK(std::string(mistake.what())
              .ends_with(
                  "error: there is no device 'interpretor'; there are auto, host, interpreter, "
                  "emulated:TARGET, cuda:N, hip:N\n"
                  "  hint: did you mean 'interpreter'?"));
    CHECK(mistake.where().line == __LINE__ - 9);
  }
  // Of a GPU that is not there its emulation is meant.
  try {
    (void)device::by_name("sm_90a");
    FAIL("found");
  } catch (const error &mistake) {
    CHECK(std::string(mistake.what()).ends_with("\n  hint: did you mean 'emulated:sm_90a'?"));
  }
  try {
    (void)device::by_name("abacus");
    FAIL("found");
  } catch (const error &mistake) {
    CHECK(mistake.notes() ==
          std::vector<std::string>{
              "there are auto, host, interpreter, emulated:TARGET, cuda:N, hip:N"});
  }
}

TEST_CASE("auto is the best device, which is the host where there is no GPU") {
  CHECK(device::by_name("auto") == device::best());
  const std::string_view name = device::best().name();
  CHECK((name == "host" || name == "cuda:0" || name == "hip:0"));
}

TEST_CASE("the current device is the one that was set") {
  const device before = device::current();
  device::set_current(device::interpreter());
  CHECK(device::current() == device::interpreter());
  device::set_current(device::host());
  CHECK(device::current() == device::host());
  device::set_current(before);
}
