#pragma once

/// The default elementary functions, defined once from exact operations (native.h lists them), so
/// that every executor gives the same bits:
///
///   exp<Single>(x)    for the f32 function of any value type that speaks the vocabulary,
///   exp<Double>(x)    for the f64 function.
///
/// The bodies are straight-line code. elementary.def states the largest errors. A NaN result is
/// some NaN. The functions of f16 and bf16 are those of f32, rounded.
#include "backend/math/exponential.h"   // exp exp2 expm1
#include "backend/math/logarithm.h"     // log log2 log1p
#include "backend/math/remainder.h"     // fmod
#include "backend/math/root.h"          // rsqrt
#include "backend/math/sigmoid.h"       // tanh erf
#include "backend/math/trigonometric.h" // sin cos tan
