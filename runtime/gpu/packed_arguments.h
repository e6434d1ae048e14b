#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "runtime/gpu/supported_gpu.h"

#include <cstddef>
#include <vector>

namespace imbrex::gpu {

/// What a launch passes beside the arguments of the kernel's parameters.
struct HiddenArguments {
  std::uint64_t observations = 0;
  llvm::SmallVector<BoxMapBytes, 4> maps = {}; ///< By the interface's.
};

/// Few launches need more memory than is in this itself.
struct PackedArguments {
  PackedArguments() = default;
  PackedArguments(const PackedArguments &) = delete; // `each` leads into `bytes`
  PackedArguments &operator=(const PackedArguments &) = delete;

  llvm::SmallVector<std::byte, 512> bytes;
  /// Where each word is, of a kernel that has maps: those the assembler puts where they are aligned
  /// beside what the driver has in front of all arguments, so that only the driver knows the place.
  /// Of one whose launches have attributes, too: not every driver takes bytes for these.
  llvm::SmallVector<void *, 64> each = {};
};

/// Where a parameter that is a number stands in the bytes; of another: no bytes.
struct PackedNumber {
  std::size_t place = 0, bytes = 0;
  bool isInteger = false;
};

/// The bytes in which a kernel finds its arguments, in the places that both vendors' rules give
/// them (PTX: the natural alignment of .param; AMD: that of the kernarg segment). The arguments are
/// those of the kernel's parameters, with addresses of the device.
class ArgumentPacker {
public:
  ArgumentPacker(const ir::Kernel &kernel, const lower::KernelInterface &interface);

  void pack(llvm::ArrayRef<ir::Argument> arguments, const HiddenArguments &made,
            PackedArguments &packed) const;

  /// By parameter, up to the last number.
  llvm::ArrayRef<PackedNumber> numbers() const { return numbers_; }

private:
  /// A word, as bytes that are copied: it costs each launch little.
  struct Copied {
    std::size_t from; ///< Of the first argument's bytes.
    std::size_t to, bytes;
  };
  struct Hidden {
    lower::Word word;
    std::size_t to;
  };

  std::vector<Copied> copied_;
  std::vector<Hidden> hidden_;
  std::vector<PackedNumber> numbers_;
  std::vector<std::size_t> places_; ///< Of all words where each is told; else none.
  std::size_t bytes_;
};

} // namespace imbrex::gpu
