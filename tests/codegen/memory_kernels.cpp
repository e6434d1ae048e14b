#include "tests/codegen/table_row.h"

namespace imbrex::testing {
namespace {

struct padded_boxes {
  void operator()(view<const f16, 3> x, view<const u8, 2> y, view<f32, 3> z) const {
    auto [i, j, k] = program_id<3>();
    auto a = x[box<3, 7, 48>(i, j, k).pad(1)];
    auto b = x[box_at<3, 7, 48>(i - 1, j * 7 + 2, k * 48 - 5).pad_nan().hint(cache::streaming)];
    auto c = cast<f32>(y[box<7, 1>(j, 1).hint(eviction::last)]) + cast<f32>(z.stride(1));
    z[box<3, 7, 48>(i, j, k)] = max(cast<f32>(a), cast<f32>(b)) + expand<0>(c);
  }
};

struct masked_pointers {
  void operator()(ptr<const i16> p, ptr<i32> q, scalar<i32> n) const {
    auto i = program_id(0) * 100 + arange<0, 100>();
    auto inside = i < n;
    auto a = load(p + i, inside, -1, cache::bypass);
    auto b = load(p + (n - 1 - i), inside, {cache::all, eviction::first});
    store(q + i, cast<i32>(a) * b, inside && (i & 1) == 0);
    auto again = load(q + i, inside && (i & 1) == 0);
    store(q + i + 1, again - 1, inside && (i & 1) == 0);
  }
};

/// Every kind of atomic; what they leave is the same in every order.
struct atomics {
  void operator()(ptr<i32> p, ptr<u64> q, ptr<f32> r, ptr<f16> s, ptr<bf16> b, ptr<f64> d,
                  ptr<i32> own) const {
    auto i = program_id(0) * 64 + arange<0, 64>();
    auto few = i & 7;
    atomic_add(p + few, i, i < 100, order::relaxed);
    atomic_max(p + 8 + few, i);
    atomic_min(p + 16 + few, -i, scope::system);
    atomic_and(p + 24, ~i, order::release);
    atomic_or(p + 25, i, {order::acquire, scope::device});
    atomic_xor(p + 26, i);
    atomic_add(q, cast<u64>(i));
    atomic_max(q + 1, cast<u64>(i));
    atomic_add(r, cast<f32>(i));
    atomic_max(r + 1, cast<f32>(i));
    atomic_add(s, cast<f16>(few));
    atomic_add(b, cast<bf16>(few & 1));
    atomic_add(d, cast<f64>(i));
    auto old = atomic_exchange(own + i, i + 1);
    auto seen = atomic_cas(own + i, i + 1, old - 5, order::relaxed);
    store(own + i, load(own + i) * 2 + seen);
  }
};

/// The block that comes last adds up what the others have left.
struct last_block {
  void operator()(view<const i32, 1> x, ptr<i32> parts, ptr<i32> ticket, ptr<i32> total) const {
    store(parts + program_id(0), sum(x[box<100>(program_id(0))]));
    auto before = atomic_add(ticket, 1);
    IMBREX_IF(before == num_programs(0) - 1) {
      auto i = arange<0, 8>();
      store(total, sum(load(parts + i, i < num_programs(0))));
    }
  }
};

/// What a thread has stored others load, and the other way round, through one pointer.
struct shifted_in_place {
  void operator()(ptr<const i32> x, ptr<const i32> y, ptr<i32> kept, ptr<i32> reversed,
                  ptr<i32> moved, ptr<i32> out, scalar<i32> n) const {
    auto i = arange<0, 32>();
    auto before = load(kept + i);
    store(kept + i + 1, before);
    store(out + i, load(kept + i));
    store(reversed + i, load(x + i));
    store(reversed + i, load(reversed + (31 - i)));
    store(reversed + 32 + i, load(x + i));
    store(reversed + 63 - i, load(y + i));
    store(out + 32 + i, load(reversed + 32 + i));
    for ([[maybe_unused]] auto trip : range(n)) store(moved + i, load(moved + i + 1));
  }
};

/// Plain additions, kept apart by a lock.
struct locked {
  void operator()(ptr<i32> lock, ptr<i32> total) const {
    for (auto turn : forever()) {
      auto held = atomic_cas(lock, 0, 1, order::acquire);
      break_if(held == 0);
    }
    auto i = arange<0, 48>();
    store(total + i, load(total + i) + program_id(0) * i);
    atomic_exchange(lock, 0, order::release);
  }
};

struct control {
  void operator()(view<const i32, 1> x, scalar<i32> n, view<i32, 1> y) const {
    exit_if(program_id(0) >= n);
    auto v = x[box<64>(program_id(0))];
    var total = v;
    var largest = max(v);
    for (auto i : range(n + program_id(0)).unroll(2)) {
      for (auto j : range(i, 0, -2)) {
        IMBREX_IF(j % 3 == 0) { total += j; }
        IMBREX_ELSE { total -= v * j; }
      }
      break_if(i > 5);
      largest = max(total);
    }
    while_([&] { return largest > 1; },
           [&] {
             largest = largest / 2;
             total ^= largest;
           });
    y[box<64>(program_id(0))] =
        if_(sum(total) > 0, [&] { return total - 1; }, [&] { return total * 2; });
  }
};

/// Windows of a tile that is larger than shared memory.
struct large_flip {
  void operator()(view<const f64, 2> x, view<f64, 2> y) const {
    y[box<100, 100>(0, 0)] =
        flip<0>(gather<1>(x[box<100, 100>(0, 0)], reshape<100, 100>(arange<0, 10000>()) % 100));
  }
};

struct observed {
  void operator()(view<const i32, 1> x, view<i32, 1> y) const {
    require(x.extent(0) == y.extent(0), "as many numbers go out as come in");
    auto v = x[box<48>(program_id(0))];
    device_assert(v >= 0, "every number is 0 or more");
    IMBREX_IF(program_id(0) > 1) { device_print("the sum is", sum(v)); }
    y[box<48>(program_id(0))] = v * 2;
  }
};

/// Boxes that end where the run says.
struct clipped_boxes {
  void operator()(view<const f16, 2> x, view<f16, 2> y, scalar<i32> n) const {
    auto m = program_id(0);
    for (auto k : range(0, 3).pipelined(2)) {
      auto here = box<16, 32>(m, k).within(n, n + 60);
      y[here] = x[here] * 2;
    }
  }
};

/// Each block scales the rows of a group, which are as long as the group says, in place and into
/// another table's; a loop brings them ahead.
struct groups_of_rows {
  void operator()(table<const f16> x, table<f32> y, ptr<const i32> rows,
                  scalar<i32> columns) const {
    auto g = program_id(0);
    auto n = load(rows + 3 + 2 * g);
    view from(x[g], {n, columns});
    view to(y[g], {n, columns});
    for (auto i : range(0, cdiv(n, 4)).pipelined(2)) {
      auto here = box<4, 32>(i, 0);
      to[here] = cast<f32>(from[here]) * cast<f32>(g + 2) + cast<f32>(x.size());
      to[here.within(n - 1, 7)] *= 3;
    }
    atomic_add(y[num_programs(0) - 1 - g] + 200, cast<f32>(n));
  }
};

/// Both arms of a branch begin with the same barrier, whose fence LLVM moves in front of the
/// branch.
struct stored_in_branches {
  void operator()(view<const f32, 2> x, view<f32, 2> y, scalar<i32> n) const {
    for (auto i : range(0, n, 16)) {
      auto here = box_at<16, 8>(i, 0);
      auto v = x[here];
      IMBREX_IF(i < 3) { y[here] = v; }
      IMBREX_ELSE { y[here] = v * 2; }
    }
  }
};

/// Two elements a byte, of memory that nothing has written.
struct halves_of_bytes {
  void operator()(view<const f32, 1> x, view<f4e2m1, 1> y) const {
    auto here = box<48>(program_id(0));
    y[here] = cast<f4e2m1>(x[here]);
  }
};

} // namespace

void addMemoryKernels(std::vector<TableKernel> &table) {
  table.push_back(row("padded_boxes", padded_boxes{}, {2, 2, 2},
                      {"random:5x10x70", "random:10x3", "zeros:5x10x70"}));
  table.push_back(
      row("masked_pointers", masked_pointers{}, {2, 1, 1}, {"random:150", "zeros:151", "150"}));
  table.push_back(
      row("atomics", atomics{}, {3, 1, 1},
          {"zeros:27", "zeros:2", "zeros:2", "zeros:1", "zeros:1", "zeros:1", "arange:192"}));
  table.push_back(
      row("last_block", last_block{}, {6, 1, 1}, {"random:550", "zeros:6", "zeros:1", "zeros:1"}));
  table.push_back(row("locked", locked{}, {5, 1, 1}, {"zeros:1", "zeros:48"}));
  table.push_back(row("control", control{}, {4, 1, 1}, {"random:200", "3", "zeros:200"}));
  table.push_back(row("large_flip", large_flip{}, {1, 1, 1}, {"random:100x100", "zeros:100x100"}));
  table.push_back(
      row("halves_of_bytes", halves_of_bytes{}, {3, 1, 1}, {"random:132", "empty:132"}));
  table.push_back(row("stored_in_branches", stored_in_branches{}, {1, 1, 1},
                      {"random:40x8", "zeros:40x8", "40"}));
  table.push_back(
      row("shifted_in_place", shifted_in_place{}, {1, 1, 1},
          {"random:32", "random:32", "random:33", "zeros:64", "random:33", "zeros:64", "5"}));
  table.push_back(
      row("clipped_boxes", clipped_boxes{}, {2, 1, 1}, {"random:40x80", "zeros:40x80", "20"}));
  table.push_back(row(
      "groups_of_rows", groups_of_rows{}, {3, 1, 1},
      {"random:3x24,random:5x24,random:7x24", "zeros:201,zeros:201,zeros:201", "arange:10", "24"}));
  table.push_back(row("observed", observed{}, {2, 1, 1}, {"arange:90", "zeros:90"}));
}

} // namespace imbrex::testing
