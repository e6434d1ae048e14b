#pragma once

#include "backend/gpu_code.h"
#include "backend/support/diagnostics.h"
#include "backend/target/gpu_target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex {

/// How to come by more registers, or with fewer: a hint. `taken`: so many, where the assembler may
/// have left some.
std::string moreRegisters(const GpuCode &code, const machine::Machine &machine,
                          std::optional<std::int32_t> taken = std::nullopt);

/// The warning that a kernel's threads keep in memory what their registers have no room for: how
/// much, the line at which most is put there, and what helps. None where all has room, or where the
/// image does not say. `which`: of several codes of the kernel, behind its name.
std::optional<Diagnostic> spillsOf(const GpuCode &code, const target::GpuTarget &target,
                                   const std::string &assembly, const target::ObjectCode &object,
                                   std::string_view which = "");

/// "4 warps would spill 120 bytes of a thread": why a kernel's blocks have others.
std::string whyOthers(const Spilling &instead);

} // namespace imbrex
