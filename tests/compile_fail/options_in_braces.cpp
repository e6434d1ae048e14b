#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<f32> p, scalar<bool> m) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: two options of atomic_add stand in braces: \{order::relaxed, scope::block\}
  atomic_add(p, 1, order::relaxed, scope::block);
  // expect: two options of atomic_cas stand in braces
  atomic_cas(p, 1, 2, scope::block, order::relaxed);
  // expect: two options of atomic_max stand in braces
  atomic_max(p, 1, m, order::relaxed, scope::block);
  // expect: two options of load stand in braces: \{cache::all, eviction::last\}
  tile<f32> a = load(p, cache::all, eviction::last);
  // expect: two options of store stand in braces
  store(p, 1, cache::all, eviction::last);
#else
  atomic_add(p, 1, {order::relaxed, scope::block});
  atomic_cas(p, 1, 2, {order::relaxed, scope::block});
  atomic_max(p, 1, m, {order::relaxed, scope::block});
  tile<f32> a = load(p, {cache::all, eviction::last});
  store(p, 1, {cache::all, eviction::last});
#endif
}
