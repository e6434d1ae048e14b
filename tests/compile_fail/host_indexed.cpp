#include <imbrex/dsl.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>
using namespace imbrex;

struct row {
  int operator[](std::ptrdiff_t) const;
};

// A value with a name is as little an index as one without. Of one type the compiler says it once.
void kernel(scalar<i32> n, var<scalar<i64>> &w, scalar<f32> x, bool flag, std::span<float> s,
            const std::vector<float> &v, row r) {
  scalar<f32> chosen = flag ? x : 0;
#ifdef IMBREX_SHOULD_FAIL
  auto y = v[n]; // expect: nor an index; keep it in `auto`
  auto z = r[w]; // expect: nor an index; keep it in `auto`
#else
  auto y = v[0];
  auto z = r[0];
#endif
}
// errors: 2
