#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

#include <optional>
#include <string>
#include <string_view>

/// The text form of Block IR, described in docs/ir.md. It is exact: what is printed parses to a
/// kernel with the same ops, types, attributes and stage, which prints as the same text.
///
///   kernel @scale(%x: ptr<f32>, %n: i32) stage tiles {
///     %0 = arange : i32[128]
///     %1 = broadcast %x : ptr<f32>[128]
///     …
///   }
namespace imbrex::ir {

struct PrintOptions {
  bool locations = false; ///< Print each op's place, as `@ "file.cpp":12` at its end.
};

/// Never fails: a kernel that the verifier would refuse is printed too (with `%?` for a value that
/// is not defined above its use), so that a failing check can show it.
std::string print(const Kernel &kernel, const PrintOptions &options = {});

/// The one kernel of a text; nothing, and an error reported, where it is not well formed. Ops that
/// name no place get their line of `fileName` as theirs. What parses need not be valid: see
/// verify.h.
std::optional<Kernel> parse(std::string_view text, std::string_view fileName,
                            Diagnostics &diagnostics);

} // namespace imbrex::ir
