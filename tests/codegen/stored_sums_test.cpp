// Sums that are rounded to 16 bits go to shared memory as matrices on their way to rows or
// columns of a view, in fewer accesses; where the machine has such stores.

#include "tests/codegen/compiled_table.h"
#include "tests/support/parsed_kernel.h"

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr std::int64_t kExtent = 64;

ir::Kernel storedProduct(bool isTransposed) {
  return parsedKernel("kernel @stored(%a: view<const f16, 2>, %b: view<const f16, 2>, "
                      "%c: view<f16, 2>) stage tiles {\n"
                      "%0 = constant 0 : i64\n%z = constant 0.0 : f32[64x64]\n"
                      "%x = view.load %a, %0, %0 : f16[64x64]\n"
                      "%y = view.load %b, %0, %0 : f16[64x64]\n"
                      "%d = dot %x, %y, %z : f32[64x64]\n%h = cast %d : f16[64x64]\n" +
                      std::string(isTransposed ? "%t = permute %h [order = [1, 0]] : f16[64x64]\n"
                                                 "view.store %c, %t, %0, %0\n}\n"
                                               : "view.store %c, %h, %0, %0\n}\n"));
}

struct Stores {
  std::size_t plain, transposed, others; ///< Behind the product.
  std::size_t elements;                  ///< That a thread has of the sums.
};

Stores storesOf(const target::GpuTarget &target, bool isTransposed) {
  ir::Kernel kernel = storedProduct(isTransposed);
  const GpuCode code = codeOf(kernel, target);
  const auto text = makeAssembly(code, target);
  REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
  const std::size_t last = text->rfind("mma.sync");
  REQUIRE(last != std::string::npos);
  const auto count = [&](std::string_view name) {
    std::size_t found = 0;
    for (std::size_t at = text->find(name, last); at != std::string::npos;
         at = text->find(name, at + 1))
      ++found;
    return found;
  };
  return {.plain = count("stmatrix.sync.aligned.m8n8.x4.shared"),
          .transposed = count("stmatrix.sync.aligned.m8n8.x4.trans"),
          .others = count("st.shared"),
          .elements = static_cast<std::size_t>(kExtent * kExtent / kernel.threads().count())};
}

} // namespace

TEST_CASE("a product's sums are stored by matrices, transposed or not") {
  for (const target::GpuTarget *target : targetsOf(machine::Family::Nvptx)) {
    CAPTURE(std::string(target->machine().name));
    const bool hasStores = target->machine().storesMatrices;
    for (const bool isTransposed : {false, true}) {
      CAPTURE(isTransposed);
      const Stores stores = storesOf(*target, isTransposed);
      const std::size_t byMatrices = stores.elements / 8;
      CHECK(stores.plain == (hasStores && !isTransposed ? byMatrices : 0));
      CHECK(stores.transposed == (hasStores && isTransposed ? byMatrices : 0));
      CHECK((stores.others == 0) == hasStores);
    }
  }
}
