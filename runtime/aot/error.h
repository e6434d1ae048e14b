#pragma once

#include "imbrex/aot.h"

/// What a function that fails leaves behind for its thread.
namespace imbrex::aot {

/// Keep the text, which is made as printf makes it, for imbrex_error_text; the status again.
[[gnu::format(printf, 2, 3)]] int fail(imbrex_status status, const char *format, ...);

} // namespace imbrex::aot
