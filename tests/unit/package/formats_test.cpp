#include "backend/package/formats.h"

#include <doctest/doctest.h>

using namespace imbrex;
using machine::Family;

namespace {

const package::Format *named(std::string_view name, const char *machine) {
  Diagnostics diagnostics;
  const auto *format = package::formatNamed(name, *machine::findMachine(machine), diagnostics);
  CHECK(diagnostics.hasErrors() == (format == nullptr));
  return format;
}

} // namespace

TEST_CASE("a format is found for the machines that it is for") {
  for (const package::Format &format : package::allFormats()) {
    CHECK((named(format.name, "sm_90a") != nullptr) == (format.family != Family::Amdgpu));
    CHECK((named(format.name, "gfx942") != nullptr) == (format.family != Family::Nvptx));
  }
  CHECK(named("exe", "sm_90a") == nullptr);
  CHECK(named("", "gfx942") == nullptr);
}

TEST_CASE("what cannot be made is answered with what can") {
  Diagnostics diagnostics;
  package::formatNamed("hsaco", *machine::findMachine("sm_90a"), diagnostics);
  CHECK(diagnostics.render() == "imbrex: error: there is no 'hsaco' for sm_90a\n"
                                "  hint: there are ir, llvm, asm, ptx, cubin, fatbin, report\n");
}

TEST_CASE("several targets make the family's package") {
  CHECK(package::packageNamesFor(Family::Nvptx) == "fatbin");
  CHECK(package::packageNamesFor(Family::Amdgpu) == "bundle");
}
