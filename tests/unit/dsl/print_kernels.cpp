// Prints every sample kernel: built by both compilers, the texts are to be the same.
#include "kernels.hpp"

#include <cstdio>

int main() {
  for (const imbrex::traced_kernel &kernel : kernels::all())
    std::fputs(kernel.text().c_str(), stdout);
}
