#include <imbrex/generator.hpp>

#include <stdexcept>

IMBREX_KERNEL(thrown,
              [](imbrex::view<float, 1>) { throw std::runtime_error("no table of sizes"); });
