#pragma once

#include <imbrex/detail/compiler.hpp> // first, for the shortest message

/// Everything: the language and the runtime.
#include <imbrex/dsl.hpp>
#include <imbrex/runtime.hpp>
