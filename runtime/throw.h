#pragma once

#include "backend/support/result.h"
#include "imbrex/error.hpp"

/// From the compiler's errors, which are values, to the ones that the public functions throw.
namespace imbrex::runtime {

error toError(const Diagnostic &diagnostic);
/// The first error of several; the others are among its notes.
error toError(const Diagnostics &diagnostics);

[[noreturn]] void throwError(const Diagnostic &diagnostic);

template <class T>
T valueOrThrow(Result<T> result) {
  if (!result) throwError(result.error());
  return *std::move(result);
}

} // namespace imbrex::runtime
