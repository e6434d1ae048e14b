#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/support/result.h"
#include "backend/target/gpu_target.h"
#include "backend/target/host/kernel_code.h"

#include <optional>
#include <string>

/// Code in the folder that processes share (disk_cache.h), by the text of all that it depends on:
/// the kernel with its lines, for what it is and which launches, and this build of imbrex and of
/// LLVM. Of a kernel that prints or asserts nothing is kept: its ops are told by pointers.
namespace imbrex::runtime {

/// A place there. Nothing is kept or found where there is no folder, where nobody knows which
/// compiler this is, and where somebody watches the passes at work.
class KeptEntry {
public:
  /// `of`: what besides the kernel and the build it depends on, in lines.
  KeptEntry(const ir::Kernel &kernel, const std::string &of);

  /// What `read` makes of what is kept; where it makes nothing of it, that is taken away.
  template <class Read>
  auto find(Read read) const -> decltype(read(std::string())) {
    const std::optional<std::string> content = look();
    auto code = content ? read(*content) : std::nullopt;
    if (content && !code) forget();
    note(code.has_value());
    return code;
  }
  void keep(const std::string &content) const;
  void forget() const;

private:
  std::optional<std::string> look() const;
  void note(bool isFound) const;

  std::string key_; ///< Empty where nothing is kept or found.
};

/// What a GPU's driver loads of a kernel, and how that is launched.
struct LoadableCode {
  lower::KernelInterface interface;
  std::string content;
  bool isAssembly = false; ///< Else an image.
  std::string spills = {}; ///< What its author is told of registers, if anything.
};

/// A GPU's code of a kernel for launches that keep the assumptions. It depends on the vendor's
/// assembler, too.
class KeptCode {
public:
  /// `asAssembly`: for a driver that assembles it itself, for a device of a later kind.
  KeptCode(const ir::Kernel &kernel, const target::GpuTarget &target, bool asAssembly,
           const analysis::Assumptions &assumptions);

  std::optional<LoadableCode> find() const;
  void keep(const LoadableCode &code) const;
  /// What the driver refuses is made again and kept in its place.
  void forget() const { entry_.forget(); }

private:
  std::optional<std::string> assembler_; ///< None: nobody knows which.
  KeptEntry entry_;
  Location where_;        ///< Of the kernel.
  ir::KernelAttrs asked_; ///< The same.
};

/// The processor's code of a kernel, of any stage, for launches with these traits.
class KeptHostCode {
public:
  KeptHostCode(const ir::Kernel &kernel, const host::Compiler &compiler,
               const host::LaunchTraits &traits);

  std::optional<host::KernelCode> find() const;
  void keep(const host::KernelCode &code) const;

private:
  KeptEntry entry_;
};

} // namespace imbrex::runtime
