// compare A.npy B.npy ALLOWED: whether two arrays are equal but for differences of their numbers of
// up to ALLOWED; prints the largest. 0 allows none: the bytes must be the same.

#include "backend/support/diagnostics.h"
#include "tools/imbrex/npy.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using imbrex::tool::NpyArray;

template <class T>
double largestDifference(const NpyArray &a, const NpyArray &b) {
  double largest = 0;
  for (std::size_t at = 0; at + sizeof(T) <= a.data.size(); at += sizeof(T)) {
    T left, right;
    std::memcpy(&left, &a.data[at], sizeof(T));
    std::memcpy(&right, &b.data[at], sizeof(T));
    const double difference = std::fabs(static_cast<double>(left) - static_cast<double>(right));
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

/// Infinite where the arrays are of different kinds, or are no floats and differ.
double difference(const NpyArray &a, const NpyArray &b) {
  if (a.element != b.element || a.shape != b.shape || a.data.size() != b.data.size())
    return INFINITY;
  if (a.data == b.data) return 0;
  if (a.element.kind == 'f' && a.element.bytes == sizeof(float))
    return largestDifference<float>(a, b);
  if (a.element.kind == 'f' && a.element.bytes == sizeof(double))
    return largestDifference<double>(a, b);
  return INFINITY;
}

} // namespace

int main(int count, char **words) {
  if (count != 4) return std::fputs("usage: compare A.npy B.npy ALLOWED\n", stderr), 2;
  const auto a = imbrex::tool::readNpy(words[1]), b = imbrex::tool::readNpy(words[2]);
  for (const auto *array : {&a, &b})
    if (!*array) return std::fputs(render(array->error()).c_str(), stderr), 1;
  const double largest = difference(*a, *b);
  std::printf("largest difference %.3g, allowed %s\n", largest, words[3]);
  return largest <= std::atof(words[3]) ? 0 : 1;
}
