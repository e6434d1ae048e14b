#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/support/result.h"
#include "backend/target/gpu_target.h"

#include <optional>
#include <string>

/// A GPU's code in the folder that processes share (disk_cache.h).
namespace imbrex::runtime {

/// What a GPU's driver loads of a kernel, and how that is launched.
struct LoadableCode {
  lower::KernelInterface interface;
  std::string content;
  bool isAssembly = false; ///< Else an image.
  std::string spills = {}; ///< What its author is told of registers, if anything.
};

/// The code of a kernel for launches that keep the assumptions, by the text of all that it depends
/// on: the kernel with its lines, the target, the assumptions, this build of imbrex and of LLVM,
/// and the vendor's assembler. Of a kernel that prints or asserts nothing is kept: its ops are told
/// by pointers.
class KeptCode {
public:
  /// `asAssembly`: for a driver that assembles it itself, for a device of a later kind.
  KeptCode(const ir::Kernel &kernel, const target::GpuTarget &target, bool asAssembly,
           const analysis::Assumptions &assumptions);

  std::optional<LoadableCode> find() const;
  void keep(const LoadableCode &code) const;
  /// What the driver refuses is made again and kept in its place.
  void forget() const;

private:
  std::string key_; ///< Empty where nothing is kept or found.
  Location where_;  ///< Of the kernel.
  bool isAssemblerKnown_ = false;
};

} // namespace imbrex::runtime
