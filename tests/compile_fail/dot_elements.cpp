#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 8, 8> half, tile<bf16, 8, 8> other, tile<f32, 8, 8> wide, tile<i8, 8, 8> byte,
            tile<u8, 8, 8> unsigned_byte, tile<f8e5m2, 8, 8> f8, tile<f8e4m3fn, 8, 8> another,
            tile<i32, 8, 8> word) {
#ifdef IMBREX_SHOULD_FAIL
  dot(byte, half); // expect: dot\(a, b\) needs one element type on both sides; cast the i8 or u8 to the other's type, which is exact
  dot(wide, unsigned_byte); // expect: dot\(a, b\) needs one element type on both sides; cast the i8 or u8 to the other's type, which is exact
  dot(byte, unsigned_byte); // expect: dot\(a, b\) needs one element type on both sides; cast both i8 and u8 to f16
  dot(f8, byte); // expect: dot\(a, b\) needs one element type on both sides; cast both the integers and the f8 to f16
  dot(f8, half); // expect: dot\(a, b\) needs one element type on both sides \(f8 types may mix\); cast the narrower to the wider's type
  dot(half, wide); // expect: dot\(a, b\) needs one element type on both sides \(f8 types may mix\); cast the narrower to the wider's type
  dot(half, other); // expect: dot\(a, b\) needs one element type on both sides; cast the f16 or the bf16 to the other's type
  dot(word, half); // expect: dot works on i8, u8, f8, f16, bf16, f32 and f64; cast others
#else
  dot(cast<f16>(byte), half);
  dot(wide, cast<f32>(unsigned_byte));
  dot(cast<f16>(byte), cast<f16>(unsigned_byte));
  dot(cast<f16>(f8), cast<f16>(byte));
  dot(cast<f16>(f8), half);
  dot(cast<f32>(half), wide);
  dot(half, cast<f16>(other));
  dot(cast<f32>(word), wide);
  dot(f8, another);
#endif
}
// errors: 8
