#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/typed_id.h"
#include "backend/target/host/launch_traits.h"
#include "backend/target/host/plan/matrix_box.h"

#include <unordered_map>
#include <vector>

/// What becomes a loop, and what is only computed inside one.
///
/// A tile is either *kept* (it has a buffer in scratch, written by a loop and read by later ones)
/// or *inline* (it has no place of its own: each loop that needs an element computes it from the
/// elements it depends on). A loop exists for the sake of its *roots*: stores, reductions, kept
/// tiles. Roots that follow each other and walk the same space share one *nest*, unless one reads
/// what another only has when the whole loop is over.
///
/// A softmax of a row of 4096:
///
///   %x = view.load %in, %row        inline: read again by each nest, as cheap as a copy
///   %m = reduce %x [max]            root of nest 1
///   %d = sub %x, broadcast %m       inline
///   %e = exp %d (some 20 ops)       used by nests 2 and 3, and dear: kept, written by nest 2
///   %s = reduce %e [sum]            root of nest 2: needs %m, which nest 1 has at its end
///   %y = div %e, broadcast %s       inline
///   view.store %out, %y, %row       root of nest 3: needs %s
///
/// so three loops over the row, one buffer of 16 KiB, and no other traffic than the row itself.
///
/// No inline chain is longer than some hundreds of ops: a value on a longer one is kept, by a nest
/// of its own. So is a value that a nest would compute at several points for each of its own
/// (pulled_points.h), where that repeats too many ops.
///
/// A product reads a box that is loaded for it alone where it is in memory, if it lies inside its
/// view; b also where it is loaded as its transpose, and either with further axes of one index
/// (matrix_box.h). There is a nest that keeps such a load all the same, for boxes that do not.
///
/// Order. Steps run in the order of the kernel's ops, except that a root joins the open nest over
/// pure ops that do not need that nest. A load is evaluated where its users are; where a write
/// stands between a load and a user, the load is kept before the write; so it is when a store of
/// the same nest may write what the load reads at another index.
namespace imbrex::host {

using BufferId = Id<struct LoopBufferTag>;

/// A row-major tile in scratch. A bool takes a byte, so does an f4e2m1; a pointer eight.
struct ScratchTile {
  ir::Type type;
  std::int64_t bytes = 0;
  std::int64_t offset = 0; // in the arena
};

/// Why a nest exists, in part.
struct Root {
  enum class Kind : std::uint8_t {
    Keep,   // write `value` into `into`
    Store,  // `op` is a store or a view.store
    Reduce, // `op` is a reduce with a built-in combine
    Copy,   // write what `from` holds into `into`
  };
  Kind kind;
  const ir::Op *op = nullptr;
  ir::ValueId value = {};
  BufferId into = {};
  BufferId from = {};
};

/// A load that a nest, where it reads an element, prefetches for the next block: see read_ahead.h.
struct ReadAhead {
  const ir::Op *load;
  /// From this block to the next: indices of the view along each axis, or elements of memory.
  llvm::SmallVector<std::int64_t, 5> step;
};

/// Loops over every index of `space`, in row-major order, that run the roots' bodies.
struct Nest {
  ir::Shape space;
  std::vector<Root> roots;
  std::vector<ReadAhead> ahead = {};
};

/// How a product is done besides: see plan_products.h.
struct ProductPlan {
  /// When its sums are 0 at first, and nothing has been written for that.
  enum class Start : std::uint8_t { Never, FirstTrip, Always };
  Start start = Start::Never;
  bool keepsPanels = false; // of b, for the blocks to come
  std::int64_t trips = 1;   // of the loop around, that may be one product
  bool adjoins = false;     // a of the next trip, in memory that nothing writes
  bool adjoinsB = false;    // so does b
  /// Behind the ends of both factors along k there are zeros, which change no sums that begin with
  /// zero: a trip needs no more of k than one of them has. Their boxes begin at the same place.
  bool endsWithFactors = false;
  /// Of the view.store that alone uses the sums: where its box is inside its view the product
  /// stores them itself, when they are complete.
  std::optional<MatrixBox> store;
  bool storesLast = false; // the store takes what a loop has made of the product's sums
};

/// A factor that a product reads from memory by itself, and by the nest where it cannot.
struct FactorInMemory {
  size_t operand;
  MatrixBox box;
  Nest nest;
};

/// What is done at one point of a body.
struct Step {
  enum class Kind : std::uint8_t {
    Scalar,  // compute the results of `op` now, or do what it does: all its types are scalars
    Nest,    // run `nest`
    Whole,   // `op` has a loop of its own: dot, scan, sort, ...
    Control, // `op` holds bodies, or leaves one
  };
  Kind kind;
  const ir::Op *op = nullptr;
  Nest nest = {};
  /// Of a product.
  std::vector<FactorInMemory> inMemory = {};
  ProductPlan product = {};
  /// Of a loop: what is 0 behind it if it has no trips, and otherwise what it makes of it.
  std::vector<BufferId> zeros = {};
  /// Of a nest that stores the sums of a product: the product, or the loop that adds products up,
  /// which has done so itself if the box is inside its view and there are trips.
  const ir::Op *storedBy = nullptr;

  /// Null: the factor is kept as other tiles are.
  const FactorInMemory *factorInMemory(size_t operand) const;
};

struct LoopPlan {
  std::unordered_map<const ir::Block *, std::vector<Step>> steps;
  /// What a taken break_if does before it leaves.
  std::unordered_map<const ir::Op *, std::vector<Step>> leaving;
  std::vector<BufferId> bufferOf; // by value number; not valid: a scalar, or inline
  std::vector<ScratchTile> buffers;
  std::int64_t scratchBytes = 0;

  bool isKept(ir::ValueId value) const { return bufferOf[value.index()].valid(); }
  BufferId newBuffer(const ir::Type &type);
  /// Keep a value, if it is a tile and not kept yet.
  void giveBuffer(const ir::Kernel &kernel, ir::ValueId value);
};

/// A tile, not a scalar or a view.
bool isTile(const ir::Kernel &kernel, ir::ValueId value);
/// Whether the op reads this operand as a whole tile in memory.
bool takesBuffer(const ir::Kernel &kernel, const ir::Op &op, size_t operand);

LoopPlan planLoops(const ir::Kernel &kernel, const LaunchTraits &traits);

/// A tile of this element in memory: bytes per element in scratch.
std::int64_t scratchElementBytes(const ir::Type &type);

} // namespace imbrex::host
