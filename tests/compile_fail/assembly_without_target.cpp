#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = inline_asm<i32>("mov.b32 $0, $1;", "=r,r", x); // expect: inline_asm takes three texts, the last of which names the target, and then tiles
  auto b = inline_asm<i32>("mov.b32 $0, $1;", x); // expect: inline_asm<f32>\("ex2.approx.f32 \$0, \$1;", "=f,f", "sm_90a", x\)
  auto c = inline_asm<i32>("mov.b32 $0, $1;", "=r,r", "sm_90a", 3); // expect: inline_asm takes three texts
  auto d = inline_asm("mov.b32 $0, 1;", "=r", "sm_90a"); // expect: names the element type: inline_asm<f32>
#else
  auto a = inline_asm<i32>("mov.b32 $0, $1;", "=r,r", "sm_90a", x);
  auto d = inline_asm<i32>("mov.b32 $0, 1;", "=r", "sm_90a");
#endif
}
