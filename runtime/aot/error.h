#pragma once

#include "imbrex/aot.h"

#include <array>

/// What a function that fails leaves behind for its thread.
namespace imbrex::aot {

/// Keep the text, which is made as printf makes it, for imbrex_error_text; the status again.
[[gnu::format(printf, 2, 3)]] int fail(imbrex_status status, const char *format, ...);

/// Room for a driver's log of an assembly that it refuses.
using ErrorText = std::array<char, 4096>;

/// For who tries what may fail: at its end the thread has the text that it had before.
class KeptErrorText {
public:
  KeptErrorText();
  KeptErrorText(const KeptErrorText &) = delete;
  KeptErrorText &operator=(const KeptErrorText &) = delete;
  ~KeptErrorText();

private:
  ErrorText before_;
};

} // namespace imbrex::aot
