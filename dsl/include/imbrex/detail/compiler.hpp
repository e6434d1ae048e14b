#pragma once

/// One sentence for a compiler that cannot read what follows, instead of its own about all that it
/// meets. What Apple calls clang counts otherwise.
#if !defined(__cplusplus) || __cplusplus < 202002L
#error "imbrex needs C++20: compile with -std=c++20, by g++ 12 or later or clang++ 16 or later"
#include <imbrex/needs_cpp20> // is not there, and so ends the compilation
#elif defined(__clang__) ? __clang_major__ < 16 && !defined(__apple_build_version__)               \
                         : defined(__GNUC__) && __GNUC__ < 12
#error "imbrex needs a newer compiler: g++ 12 or later, or clang++ 16 or later (tested with 22)"
#include <imbrex/needs_a_newer_compiler> // is not there, and so ends the compilation
#endif
