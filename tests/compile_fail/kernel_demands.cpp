#include <imbrex/dsl.hpp>
using namespace imbrex;

struct demanding {
#ifdef IMBREX_SHOULD_FAIL
  static constexpr int warps = 3;
  static constexpr int registers = 8;
  static constexpr cluster_shape cluster{4, 4, 2};
#else
  static constexpr int warps = 4;
  static constexpr int registers = 64;
  static constexpr cluster_shape cluster{4, 4};
#endif
  void operator()(ptr<i32> p) const { store(p, 1); }
};

// expect elsewhere: a kernel's `warps` are those of a block: a power of two from 1 to 32
// expect elsewhere: a kernel's `registers` are those of a thread: from 16 to 1024
// expect elsewhere: a kernel's `cluster` is a cluster_shape of extents from 1 on, and of at most 16 blocks
void kernel() { trace(demanding{}); }
