#pragma once

/// Everything: the language and the runtime.
#include <imbrex/dsl.hpp>
#include <imbrex/runtime.hpp>
