#include "backend/package/member.h"
#include "backend/package/package.h"

#include <doctest/doctest.h>

using imbrex::package::describe;
using imbrex::package::Member;
using imbrex::package::memberFor;

namespace {

/// The members of "sm_80 sm_90a ptx:sm_75", and what a device takes of them, in the same words.
std::vector<Member> members(llvm::StringRef words) {
  std::vector<Member> made;
  while (!words.empty()) {
    llvm::StringRef word;
    std::tie(word, words) = words.split(' ');
    const bool isAssembly = word.consume_front("ptx:");
    made.push_back({.machine = word.str(), .isAssembly = isAssembly});
  }
  return made;
}

std::string chosen(llvm::StringRef words, std::string_view device) {
  const std::vector<Member> made = members(words);
  const Member *member = memberFor(made, device);
  if (member == nullptr) return "none";
  return (member->isAssembly ? "ptx:" : "") + member->machine;
}

} // namespace

TEST_CASE("a device takes its own image, then its generation's, then the newest assembly") {
  const char *all = "ptx:sm_75 sm_80 sm_86 sm_90a ptx:sm_80";
  CHECK(chosen(all, "sm_80") == "sm_80");
  CHECK(chosen(all, "sm_86") == "sm_86");
  CHECK(chosen(all, "sm_87") == "ptx:sm_80"); // a Tegra runs no other machine's images,
  CHECK(chosen("sm_87 ptx:sm_75", "sm_89") == "ptx:sm_75"); // and nobody else runs its
  CHECK(chosen("sm_87", "sm_87") == "sm_87");
  CHECK(chosen(all, "sm_89") == "sm_86");
  CHECK(chosen(all, "sm_90") == "sm_90a");
  CHECK(chosen(all, "sm_100") == "ptx:sm_80");
  CHECK(chosen(all, "sm_75") == "ptx:sm_75");
  CHECK(chosen(all, "sm_70") == "none");
}

TEST_CASE("code for one machine alone serves no other") {
  CHECK(chosen("sm_100a ptx:sm_100a", "sm_103") == "none");
  CHECK(chosen("sm_120a", "sm_121") == "none");
  CHECK(chosen("ptx:sm_90a", "sm_90") == "ptx:sm_90a");
  CHECK(chosen("ptx:sm_90a", "sm_100") == "none");
}

TEST_CASE("code for a family serves its later machines") {
  for (const char *device : {"sm_100", "sm_103"}) {
    CHECK(chosen("sm_100f", device) == "sm_100f");
    CHECK(chosen("ptx:sm_100f ptx:sm_90", device) == "ptx:sm_100f");
    CHECK(chosen("ptx:sm_100f sm_100", device) == "sm_100");
    CHECK(chosen("sm_100 sm_100f", device) == "sm_100f");
  }
  CHECK(chosen("sm_100f sm_100a ptx:sm_100a", "sm_100") == "sm_100a");
  CHECK(chosen("sm_100f sm_103a", "sm_103") == "sm_103a");
  CHECK(chosen("sm_100f sm_103", "sm_103") == "sm_103");
  CHECK(chosen("sm_100f sm_103", "sm_104") == "sm_100f");
  CHECK(chosen("sm_103f", "sm_100") == "none");
  // Another generation, and a Tegra, which has the number of none of theirs.
  for (const char *device : {"sm_90", "sm_101", "sm_110", "sm_120"})
    CHECK(chosen("sm_100f ptx:sm_100f", device) == "none");
  CHECK(chosen("sm_120f sm_100f", "sm_121") == "sm_120f");
}

TEST_CASE("code never runs on an older machine") {
  for (const char *device : {"sm_75", "sm_80", "sm_85"})
    CHECK(chosen("sm_86 ptx:sm_89", device) == "none");
  CHECK(chosen("sm_75 sm_86", "sm_80") == "none"); // another generation
}

TEST_CASE("AMD's device takes its own image, then the generic one") {
  const char *all = "gfx9-4-generic gfx942 gfx11-generic gfx12-generic";
  CHECK(chosen(all, "gfx942") == "gfx942");
  CHECK(chosen(all, "gfx942:sramecc+:xnack-") == "gfx942");
  CHECK(chosen(all, "gfx950") == "gfx9-4-generic");
  CHECK(chosen(all, "gfx1151") == "gfx11-generic");
  CHECK(chosen(all, "gfx1201") == "gfx12-generic");
  CHECK(chosen(all, "gfx90a") == "none");
  CHECK(chosen(all, "gfx1030") == "none");
  CHECK(chosen(all, "gfx1250") == "none");
  CHECK(chosen("gfx942", "gfx950") == "none");
}

TEST_CASE("a name that no driver gives takes nothing") {
  for (const char *device : {"", "sm_", "sm_x", "90", "gfx", "gfx9-4-generic9", ":"})
    CHECK(chosen("sm_75 ptx:sm_75 gfx942 gfx9-4-generic", device) == "none");
}

TEST_CASE("the members of a package have a text") {
  CHECK(describe(members("sm_90a ptx:sm_75")) == "sm_90a, assembly of sm_75");
  CHECK(describe({}).empty());
}

TEST_CASE("the assembly in a package is of the oldest machine that has not only its own") {
  const auto assembled = [](const std::vector<std::string_view> &names) -> std::string_view {
    std::vector<const imbrex::machine::Machine *> machines;
    for (const std::string_view name : names)
      machines.push_back(imbrex::machine::findMachine(name));
    const auto *machine = imbrex::package::machineForAssembly(machines);
    return machine == nullptr ? "" : machine->name;
  };
  CHECK(assembled({"sm_90a", "sm_86", "sm_80", "sm_100a"}) == "sm_80");
  CHECK(assembled({"sm_75"}) == "sm_75");
  CHECK(assembled({"sm_90a", "sm_120a", "sm_100f"}).empty());
  CHECK(assembled({"gfx942", "gfx1100"}).empty());
  CHECK(assembled({}).empty());
}
