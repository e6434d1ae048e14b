#include "backend/support/check.h"
#include "tools/imbrex/npy.h"

using namespace imbrex;

/// Read whatever bytes there are as a NumPy file; what is read is written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto array = tool::parseNpy(std::as_bytes(std::span(data, size)), "fuzz.npy");
  if (!array) return 0;
  const auto again = tool::parseNpy(tool::printNpy(*array), "again.npy");
  IMBREX_CHECK(again.ok(), "what was written is not read");
  IMBREX_CHECK(again->shape == array->shape && again->data == array->data &&
                   again->element == array->element && again->fortranOrder == array->fortranOrder,
               "what was written is read as another array");
  return 0;
}
