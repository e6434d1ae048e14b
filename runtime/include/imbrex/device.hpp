#pragma once

#include <imbrex/error.hpp>

#include <cstdint>
#include <source_location>
#include <string_view>

namespace imbrex {

/// Where kernels run: a small value, free to copy.
class device {
public:
  /// This machine's processor: native code on all of its cores.
  static device host();
  /// The reference semantics, slow and watchful: finds accesses out of bounds, reads of memory that
  /// nobody wrote, and races between blocks.
  static device interpreter();

  /// A GPU where there is one, of CUDA's before HIP's, else the host: what "auto" means, too.
  static device best();

  /// The device of this name; an error that lists them where there is none.
  static device by_name(std::string_view name,
                        std::source_location where = std::source_location::current());
  /// The same, with the error as a value.
  static result<device> try_by_name(std::string_view name,
                                    std::source_location where = std::source_location::current());

  /// The device of a launch that names none: the last one given to `set_current`, else the one of
  /// IMBREX_DEVICE, else the host.
  static device current();
  static void set_current(device chosen);

  std::string_view name() const;
  /// A small number, from 0 to below `count()`.
  std::uint8_t index() const { return index_; }
  static std::uint8_t count();

  friend bool operator==(device, device) = default;

private:
  friend struct device_access;
  explicit constexpr device(std::uint8_t index) : index_(index) {}
  std::uint8_t index_;
};

} // namespace imbrex
