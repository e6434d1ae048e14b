#pragma once

#include <array>
#include <string_view>

/// The processors that a library of kernels can have code for, by LLVM's names.
namespace imbrex::package {

/// System V ABI for x86-64, 3.1.1, "Micro-Architecture Levels", and the first processor that has
/// AMX; the better ones come later.
inline constexpr std::array<std::string_view, 5> kX86Baselines{"x86-64", "x86-64-v2", "x86-64-v3",
                                                               "x86-64-v4", "sapphirerapids"};
inline constexpr std::array<std::string_view, 1> kArmBaselines{"armv8-a"};

/// What `host` means: nearly every x86-64 of the last ten years, and every AArch64.
inline constexpr std::string_view kUsualX86 = "x86-64-v3", kUsualArm = "armv8-a";

} // namespace imbrex::package
