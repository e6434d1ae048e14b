// The number of blocks is a whole one: a quotient that is not would lose a block.
#include <imbrex/imbrex.hpp>

using namespace imbrex;

int main() {
  const grid whole(cdiv(100, 64), 2);
#ifdef IMBREX_SHOULD_FAIL
  const grid one(100 / 64.0); // expect: a grid has whole numbers of blocks
  const grid two(2, 100 / 64.0); // expect: a grid has whole numbers of blocks
  const grid three(1.0F, 2, 3); // expect: a grid has whole numbers of blocks
#endif
  return whole.extents()[0] == 2 ? 0 : 1;
}
