#include <imbrex/imbrex.hpp>

#include <list>
#include <vector>
using namespace imbrex;

void copies(device_buffer<f32> &x, std::vector<f32> &floats, const std::vector<f32> &fixed) {
#ifdef IMBREX_SHOULD_FAIL
  // expect elsewhere: copied as it is, and the range has elements of another type
  x.copy_from(std::vector<double>(4));
  // expect elsewhere: copied from and to contiguous ranges
  x.copy_from(std::list<f32>(4));
  // expect elsewhere: what a device_buffer is copied to is const
  x.copy_to(fixed);
#else
  x.copy_from(fixed);
  x.copy_to(floats);
#endif
}
