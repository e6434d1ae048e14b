#pragma once

#include <array>
#include <cstdint>

/// What the functions need to know about f32 (Single) and f64 (Double): the format, and the numbers
/// that depend on it. The polynomials are minimax ones whose coefficients are rounded together,
/// made by coefficients.sollya; the remark gives their largest relative error. kErfcExponent was
/// made by scripts/erfc_coefficients.py; its remark is the error of erf that follows from it.
namespace imbrex::math {

struct Single {
  using Float = float;
  using Bits = std::uint32_t;

  static constexpr float kLog2e = 0x1.715476p+0f, kLog2eTail = 0x1.4ae0c0p-26f;
  static constexpr float kLn2 = 0x1.62e430p-1f, kLn2Tail = -0x1.05c610p-29f;
  static constexpr float kExpHigh = 89.0f;
  static constexpr float kExp2High = 129.0f;
  static constexpr std::array kExp = {1.0f,           1.0f,           0x1.fffffap-2f,
                                      0x1.555492p-3f, 0x1.555a28p-5f, 0x1.12398ep-7f,
                                      0x1.694ac4p-10f}; // 2^-28.2
  static constexpr std::array kExp2 = {1.0f,           0x1.62e430p-1f, 0x1.ebfbd8p-3f,
                                       0x1.c6af76p-5f, 0x1.3b30a0p-7f, 0x1.5f0b82p-10f,
                                       0x1.3fa206p-13f}; // 2^-28.0
  /// (exp(r) - 1 - r) / r²
  static constexpr float kExpm1Low = -20.0f;
  static constexpr std::array kExpm1 = {
      0.5f,           0x1.555554p-3f,  0x1.5554f0p-5f,
      0x1.111306p-7f, 0x1.6d4376p-10f, 0x1.9e0c3cp-13f}; // 2^-31.0

  /// (log(1 + f) - f) / f²
  static constexpr std::array kLog = {-0x1.fffff8p-2f, 0x1.555550p-2f,  -0x1.000432p-2f,
                                      0x1.99a41ap-3f,  -0x1.5425c4p-3f, 0x1.226dfcp-3f,
                                      -0x1.0f3fa6p-3f, 0x1.0860cep-3f,  -0x1.38472ap-4f}; // 2^-27.8
  /// log2(1 + f) / f - kLog2e
  static constexpr std::array kLog2 = {kLog2eTail,      -0x1.715470p-1f, 0x1.ec7094p-2f,
                                       -0x1.715ac8p-2f, 0x1.277ef4p-2f,  -0x1.eab182p-3f,
                                       0x1.a2e684p-3f,  -0x1.877ae4p-3f, 0x1.7e0e22p-3f,
                                       -0x1.c36726p-4f}; // 2^-27.7

  /// 1 / sqrt x, from x's bits, 3.5 % off, and the number in place of 3/2 in Newton's first step
  /// with which the error is least: 2^-10.1, squared by each of the others.
  static constexpr std::uint32_t kInverseRoot = 0x5f376900;
  static constexpr float kInverseRootFirst = 0x1.8039a4p+0f;
  static constexpr int kInverseRootSteps = 1;

  static constexpr float kTwoOverPi = 0x1.45f306p-1f;
  static constexpr float kHalfPi[3] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
  static constexpr int kHugeAngleExponent = 17;
  /// (sin r - r) / r³, cos r, (tan r - r) / r³, as polynomials in r².
  static constexpr std::array kSin = {-0x1.555544p-3f, 0x1.1106d6p-7f, -0x1.992462p-13f}; // 2^-27.8
  static constexpr std::array kCos = {1.0f, -0.5f, 0x1.55554ap-5f, -0x1.6c0c1ep-10f,
                                      0x1.99e334p-16f}; // 2^-32.8
  static constexpr std::array kTan = {0x1.555554p-2f,   0x1.111192p-3f, 0x1.b9f9c0p-5f,
                                      0x1.68780cp-6f,   0x1.0f10f8p-7f, 0x1.4ed8c8p-8f,
                                      -0x1.7740dap-11f, 0x1.121aa4p-9f}; // 2^-32.8

  /// (tanh x - x) / x³ as a polynomial in x², below kTanhSmall; tanh is 1 from kTanhHigh on.
  static constexpr float kTanhSmall = 0.55f, kTanhHigh = 10.0f;
  static constexpr std::array kTanh = {-0x1.55554ap-2f, 0x1.110d00p-3f, -0x1.b92358p-5f,
                                       0x1.5918a4p-6f, -0x1.9a79bap-8f}; // 2^-29.7

  /// erf x / x - 1 as a polynomial in x², below kErfSmall; log2(erfc x), up to where erf x is 1.
  static constexpr float kErfSmall = 0.5f, kErfHigh = 3.94f;
  static constexpr std::array kErf = {0x1.06eba8p-3f, -0x1.812734p-2f, 0x1.ce2550p-4f,
                                      -0x1.b66a9ap-6f, 0x1.35616p-8f}; // 2^-29.3
  static constexpr std::array kErfcExponent = {0x1.b8b494p-15f, -0x1.a0de96p+0f, -0x1.d540b6p-1f,
                                               -0x1.386f4ep-3f, 0x1.11d668p-5f,  -0x1.37cc5ep-8f,
                                               0x1.527780p-12f}; // 2^-27.3
};

struct Double {
  using Float = double;
  using Bits = std::uint64_t;

  static constexpr double kLog2e = 0x1.71547652b82fep+0, kLog2eTail = 0x1.777d0ffda0d24p-56;
  static constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Tail = 0x1.abc9e3b39803fp-56;
  static constexpr double kExpHigh = 710.0;
  static constexpr double kExp2High = 1025.0;
  static constexpr std::array kExp = {1.0,
                                      1.0,
                                      0x1.000000000000ap-1,
                                      0x1.55555555554fep-3,
                                      0x1.55555555506c0p-5,
                                      0x1.1111111126b37p-7,
                                      0x1.6c16c18475a26p-10,
                                      0x1.a01a012fec32bp-13,
                                      0x1.a0199963c4c33p-16,
                                      0x1.71df18fbb2dacp-19,
                                      0x1.28adf7a8a25bep-22,
                                      0x1.ad92c8188c33fp-26}; // 2^-57.9
  static constexpr std::array kExp2 = {1.0,
                                       0x1.62e42fefa39efp-1,
                                       0x1.ebfbdff82c5a6p-3,
                                       0x1.c6b08d704a12cp-5,
                                       0x1.3b2ab6fb9fda6p-7,
                                       0x1.5d87fe789e96fp-10,
                                       0x1.4309130f6cbdbp-13,
                                       0x1.ffcbfc6685f06p-17,
                                       0x1.62bfc6596be12p-20,
                                       0x1.b52522bc15f8fp-24,
                                       0x1.e61d43321746dp-28,
                                       0x1.e973179a994acp-32}; // 2^-57.3
  static constexpr double kExpm1Low = -40.0;
  static constexpr std::array kExpm1 = {0x1p-1,
                                        0x1.5555555555559p-3,
                                        0x1.555555555554dp-5,
                                        0x1.111111110f65bp-7,
                                        0x1.6c16c16c1aafdp-10,
                                        0x1.a01a01afff4ccp-13,
                                        0x1.a01a018e0d67ep-16,
                                        0x1.71ddf81d81a65p-19,
                                        0x1.27e5134501429p-22,
                                        0x1.af5f0e8e0d6dap-26,
                                        0x1.1f1a155f40520p-29}; // 2^-61.5

  static constexpr std::array kLog = {-0x1p-1,
                                      0x1.5555555555574p-2,
                                      -0x1.ffffffffffebcp-3,
                                      0x1.9999999993b0ap-3,
                                      -0x1.5555555566c5ep-3,
                                      0x1.24924927cd0a9p-3,
                                      -0x1.fffffff734e95p-4,
                                      0x1.c71c7004f7627p-4,
                                      -0x1.999999e1f49b2p-4,
                                      0x1.745d5ce526073p-4,
                                      -0x1.55558d788fe51p-4,
                                      0x1.3b0d43d333357p-4,
                                      -0x1.2487b28cc22a1p-4,
                                      0x1.116ac93c3f372p-4,
                                      -0x1.00e039ae9701ap-4,
                                      0x1.dcaf8f025f183p-5,
                                      -0x1.b3aeabe71c334p-5,
                                      0x1.ba813e5f9fa8cp-5,
                                      -0x1.01939f75ef6dbp-4,
                                      0x1.d6a647cdeb1ffp-5,
                                      -0x1.92e72d1846b19p-6}; // 2^-58.8
  static constexpr std::array kLog2 = {
      kLog2eTail,           -0x1.71547652b82fep-1, 0x1.ec709dc3a042ap-2, -0x1.71547652b825ap-2,
      0x1.2776c50ef578ap-2, -0x1.ec709dc3b4db8p-3, 0x1.a61762ac57c11p-3, -0x1.7154764d9081bp-3,
      0x1.484b12937b1dfp-3, -0x1.2776c515af42cp-3, 0x1.0c9ab6a779fc4p-3, -0x1.ec70f704e57d8p-4,
      0x1.c6861cee705e5p-4, -0x1.a607a67553073p-4, 0x1.8a743314452e9p-4, -0x1.729bbfb5701cap-4,
      0x1.57e567efd2800p-4, -0x1.3a384a120cfbcp-4, 0x1.3ef72ffa0a70dp-4, -0x1.739d02ff11d2ap-4,
      0x1.54120e2c69cbdp-4, -0x1.23906e2ebbfcdp-5}; // 2^-58.7

  static constexpr std::uint64_t kInverseRoot = 0x5fe6ed2000000000;
  static constexpr double kInverseRootFirst = 0x1.8039a4p+0;
  static constexpr int kInverseRootSteps = 2;

  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  static constexpr double kHalfPi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                        -0x1.f1976b7ed8fbcp-110};
  static constexpr int kHugeAngleExponent = 25;
  static constexpr std::array kSin = {-0x1.5555555555547p-3,  0x1.111111110f5cbp-7,
                                      -0x1.a01a019bbeecdp-13, 0x1.71de3531b3de8p-19,
                                      -0x1.ae5e3040063a1p-26, 0x1.5d83837e9d9cp-33}; // 2^-57.8
  static constexpr std::array kCos = {1.0,
                                      -0.5,
                                      0x1.555555555554ap-5,
                                      -0x1.6c16c16c14df7p-10,
                                      0x1.a01a019c5abd9p-16,
                                      -0x1.27e4f7cbccee6p-22,
                                      0x1.1ee9c217a6ea6p-29,
                                      -0x1.8f99257515d56p-37}; // 2^-63.8
  static constexpr std::array kTan = {
      0x1.555555555555fp-2,  0x1.111111111047ep-3,   0x1.ba1ba1bad2130p-5,  0x1.664f4858ff1adp-6,
      0x1.226e3b0a379cep-7,  0x1.d6d2d10dcb5f9p-9,   0x1.7db2d3dd78c0cp-10, 0x1.34af54cee9d4p-11,
      0x1.ffe5f64efc591p-13, 0x1.5ac87e33fee88p-14,  0x1.20b71e573b342p-14, -0x1.d088524fb50edp-16,
      0x1.a677a6d88f1cap-15, -0x1.a5ad9b812aff1p-16, 0x1.4f423f6d3947fp-17}; // 2^-59.7

  static constexpr double kTanhSmall = 0.55, kTanhHigh = 20.0;
  static constexpr std::array kTanh = {
      -0x1.555555555549ep-2,  0x1.11111111029b4p-3, -0x1.ba1ba1ad73a21p-5,  0x1.664f45c32bf75p-6,
      -0x1.226ddd4f2573ep-7,  0x1.d6c61e7936c34p-9, -0x1.7cf3c4527a1cdp-10, 0x1.2fa2accb5ae73p-11,
      -0x1.b90a8e55bbc1fp-13, 0x1.ac0323ae649f4p-15}; // 2^-55.5

  static constexpr double kErfSmall = 0.65, kErfHigh = 5.93;
  static constexpr std::array kErf = {
      0x1.06eba8214db68p-3,  -0x1.812746b0379a5p-2,  0x1.ce2f21a03ebc7p-4,  -0x1.b82ce310d8159p-6,
      0x1.565bccad74e2ap-8,  -0x1.c02d9a6dfc7fcp-11, 0x1.f99efb9cb47a3p-14, -0x1.f46556fb8aadep-17,
      0x1.b315e3744cf17p-20, -0x1.21bf99fb7378ep-23}; // 2^-56.0
  static constexpr std::array kErfcExponent = {
      0x1.01cf50d5d1195p-28, -0x1.a0be84f349eb4p+0,  -0x1.d63ec5a431d1cp-1, -0x1.2fa947383baa0p-3,
      0x1.c4484663a25a1p-6,  0x1.26488061f7094p-12,  -0x1.3b8dde56dbb2fp-9, 0x1.9ff5374793ca3p-11,
      0x1.f89d17afaaae8p-16, -0x1.46cb8e2b51a4ap-13, 0x1.78c17e477fa0cp-14, -0x1.13cb4fb0445d0p-15,
      0x1.28e5337b47aa9p-17, -0x1.e6480d777c1b9p-20, 0x1.2dfd074779029p-22, -0x1.14b7a3338e402p-25,
      0x1.6188cf8b7bcbap-29, -0x1.1953ad83b02a9p-33, 0x1.a3cdce8cf0573p-39}; // 2^-56.1
};

} // namespace imbrex::math
