#pragma once

#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace imbrex::lower {

/// The block's shared memory, as scratch for one exchange at a time:
///
///   base = begin(bytes)   the threads write at base
///   a meeting             they read at base
///   end()
///
/// Exchanges take turns in two regions, so that one may be written while slow threads still read
/// the one before, and only the exchange after next waits: its region's readers have passed the
/// meeting in between. Where two regions are too much for the machine, there is one.
///
/// Behind the last ring's use they lie where rings did, in a region of their own, if all is in one
/// array.
///
/// What a block has without asking lies in arrays of their own, static ones. Where that is too
/// little, all of them become places in one array whose size the launch says (dynamic shared
/// memory).
class SharedMemory {
public:
  static constexpr std::int64_t kAlignment = 16; ///< Of the widest access.
  static constexpr std::size_t kMostRegions = 3;

  /// `regions`: 2, or 1; beside that behind rings.
  SharedMemory(llvm::Module &module, unsigned addressSpace, std::size_t regions);

  /// Memory beside all exchanges, for the whole kernel.
  llvm::GlobalVariable *reserve(std::int64_t bytes, const llvm::Twine &name,
                                std::int64_t alignment = kAlignment);
  /// Where copies go that nobody wants: one place for all rings, of so many bytes.
  llvm::GlobalVariable *unread(std::int64_t bytes);
  /// What threads write there and read is to be in order as in exchanges: a region of the module's.
  void addRegion(llvm::GlobalVariable &array);
  std::int64_t reservedBytes() const { return reserved_; }

  /// Whether threads may still read a region.
  enum class Readers : std::uint8_t {
    None,
    Assumed, ///< At the head of a loop, whose end is not known yet.
    Some,
  };
  struct Use {
    llvm::Value *base; // in shared memory
    std::size_t region;
    Readers readers; // for whom a meeting is needed before it is written
  };
  Use begin(std::int64_t bytes);
  void end() { regions_[current_].readers = Readers::Some; }
  /// From here on nobody uses rings any more, but for threads that still read them.
  void passRings();
  bool arePassed() const { return arePassed_; }
  /// Whether an exchange lies where rings were.
  bool isUsedBehindRings() const { return regions_[kBehindRings].array != nullptr; }

  /// All threads have met.
  void onMeeting();
  /// Of all regions, for code that is reached on several ways.
  using AllReaders = std::array<Readers, kMostRegions>;
  static AllReaders everywhere(Readers readers);
  AllReaders readers() const;
  void setReaders(AllReaders readers);
  void addReaders(AllReaders others) { setReaders(either(readers(), others)); }
  /// Where two ways meet.
  static AllReaders either(AllReaders some, const AllReaders &others);

  /// The bytes of all regions, and of what is reserved.
  std::int64_t bytes() const {
    return bytes_ > 0 ? bytes_ : std::max(beforeLast(), regions_[kBehindRings].bytes);
  }
  /// The same, did exchanges before that all use one region.
  std::int64_t leastBytes() const {
    return std::max(reserved_ + std::max(regions_[0].bytes, regions_[1].bytes),
                    regions_[kBehindRings].bytes);
  }
  /// Give the regions their final sizes. Of more than `staticBytes` the launch is to be asked, up
  /// to `mostBytes`: how many, is the result.
  std::int64_t finish(std::int64_t staticBytes, std::int64_t mostBytes);

  /// The regions of a module that has been finished, also after LLVM's optimiser.
  static std::vector<const llvm::GlobalVariable *> regionsOf(const llvm::Module &module);
  /// The arrays among whose bytes those of a region lie.
  static std::vector<const llvm::GlobalVariable *> arraysUnder(const llvm::Module &module,
                                                               const llvm::GlobalVariable &region);
  /// Lets all arrays be places in one, where the launch is to be asked. Behind LLVM's optimiser:
  /// until then an address says by itself which array it is in, whatever is added to it.
  static void placeAtLaunch(llvm::Module &module);

private:
  static constexpr std::size_t kBehindRings = kMostRegions - 1;
  struct Region {
    llvm::GlobalVariable *array = nullptr;
    std::int64_t bytes = 0;
    Readers readers = Readers::None;
  };
  llvm::GlobalVariable *newArray(std::int64_t bytes, const llvm::Twine &name);
  std::int64_t beforeLast() const { return reserved_ + regions_[0].bytes + regions_[1].bytes; }
  std::int64_t layOutForLaunch();
  void overlay(llvm::GlobalVariable &array);

  llvm::Module &module_;
  unsigned addressSpace_;
  std::size_t count_;
  std::size_t current_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t bytes_ = 0; // in the end
  bool arePassed_ = false;
  std::array<Region, kMostRegions> regions_;
  std::vector<llvm::GlobalVariable *> arrays_; // of final size
  llvm::GlobalVariable *unread_ = nullptr;
};

} // namespace imbrex::lower
