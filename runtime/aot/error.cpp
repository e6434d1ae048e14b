#include "runtime/aot/error.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace imbrex::aot {
namespace {

constinit thread_local ErrorText lastText{};

} // namespace

KeptErrorText::KeptErrorText() : before_(lastText) {}
KeptErrorText::~KeptErrorText() { lastText = before_; }

int fail(imbrex_status status, const char *format, ...) {
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(lastText.data(), lastText.size(), format, values);
  va_end(values);
  return status;
}

} // namespace imbrex::aot

const char *imbrex_error_text() { return imbrex::aot::lastText.data(); }
