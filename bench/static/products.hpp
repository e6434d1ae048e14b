#pragma once

#include "backend/machine/machine.h"
#include "bench/static/product_kernels.hpp"

#include <functional>

/// Which products are measured on which machine. products.py makes the same of Triton.
namespace bench {

struct Product {
  std::string name;
  std::string kind; ///< "gemm", "attention", or, without a rival, "weights" or "parts".
  std::string type; ///< Of the operands.
  std::string out;  ///< Of what is stored.
  int m, n;         ///< Of a block; attention: queries, and keys of a trip.
  int k;            ///< Of a trip; attention: of a head.
  int warps;
  int slots;         ///< That are asked for.
  bool isTransposed; ///< b is n x k in memory.
  bool isCausal;
  int products = 1; ///< Of m x n x k in a trip.
  std::function<traced_kernel()> record;
};

std::vector<Product> productsFor(const imbrex::machine::Machine &machine);

} // namespace bench
