#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p, ptr<i8> q, view<u8, 1> a, view<i16, 1> b) {
  auto i = program_id(0);
#ifdef IMBREX_SHOULD_FAIL
  store(p, 1.5); // expect: the number's fraction would be lost; write it as an integer or cast
  load(q, true, 2.5F); // expect: the number's fraction would be lost
  a[box<4>(i)] = 0.5; // expect: the number's fraction would be lost
  auto x = b[box<4>(i).pad(1.5)]; // expect: integers have no fraction and no infinity; pad them with an integer
#else
  store(p, 1);
  load(q, true, 2);
  a[box<4>(i)] = 1;
  auto x = b[box<4>(i).pad(1)];
#endif
}
