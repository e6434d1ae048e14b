#pragma once

#include <imbrex/detail/compiler.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

/// The border between the headers and the library: what the typed surface tells the recorder. Ops,
/// attributes and elements go by the names of the IR's tables, so that no header of the compiler is
/// needed here. An unknown name is a bug of ours and aborts.
namespace imbrex::detail {

using location = std::source_location;

/// A sequence that outlives the call: a braced list, an array, a vector.
template <class T>
class list {
public:
  constexpr list() = default;
  constexpr list(std::initializer_list<T> items) : list(items.begin(), items.size()) {}
  template <std::size_t N>
  constexpr list(const std::array<T, N> &items) : data_(items.data()), size_(N) {}
  list(const std::vector<T> &items) : data_(items.data()), size_(items.size()) {}
  constexpr list(const T *data, std::size_t size) : data_(data), size_(size) {}

  constexpr const T *begin() const { return data_; }
  constexpr const T *end() const { return data_ + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr const T &operator[](std::size_t i) const { return data_[i]; }

private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

/// A recorded value. The generation is that of the trace which made it; 0 is no trace: the value
/// was made outside of any kernel, and `index` finds the line where.
struct value {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

enum class type_form : std::uint8_t { tile, pointer_tile, view, table };

struct type {
  const char *element = nullptr;
  type_form form = type_form::tile;
  bool is_const = false;
  int rank = 0;
  std::array<std::int64_t, 5> extents{};
};

/// A named attribute of an op: a number, a word of an enum, a list of numbers, or a text.
struct attribute {
  enum class form : std::uint8_t { number, word, numbers };
  constexpr attribute(const char *field, std::int64_t n) : name(field), number(n) {}
  constexpr attribute(const char *field, std::string_view w)
      : name(field), kind(form::word), word(w) {}
  constexpr attribute(const char *field, list<std::int64_t> n)
      : name(field), kind(form::numbers), numbers(n) {}

  const char *name;
  form kind = form::number;
  std::int64_t number = 0;
  std::string_view word;
  list<std::int64_t> numbers;
};

// --- recording ---

value record(std::string_view op, list<value> operands, const type &result,
             list<attribute> attributes, location where);
void record_effect(std::string_view op, list<value> operands, list<attribute> attributes,
                   location where);
/// Results are written to `results`, as many as types.
void record_many(std::string_view op, list<value> operands, list<type> types,
                 list<attribute> attributes, location where, value *results);
/// One element value at every index of a tile, as the element's bits.
value record_constant(const type &result, std::uint64_t bits, location where);
/// A read of a view that is dropped again if nothing uses it once `discard_if_unused` was called:
/// `c[box]` reads, until an assignment shows that it did not mean to.
void discard_if_unused(value read);
/// The line of this read is not known where it is recorded; the first use's is near it.
void place_at_first_use(value read);
value used_at(value read, location where);

// --- bodies ---

/// Record an op with a body and go into it; `end_body` leaves it.
void begin_body(std::string_view op, list<value> operands, list<attribute> attributes,
                location where);
value body_argument(const type &argument);
void end_body(list<value> yielded, location where);
/// The same for a combine: the results come into being at its end.
void end_combine(list<value> yielded, list<type> types, location where, value *results);
/// Go into the second body of the `if` whose first was left last.
void begin_else(location where);
/// Where the author sees the body begin that is being recorded.
void place_body(location where);
/// Leave a body that ended by break, return, goto or an exception: told when the trace ends.
void abandon_body(std::string_view construct, bool by_exception, location where) noexcept;
/// The slots of a loop; an error where no loop has so many.
int checked_slots(std::int64_t slots, location where);

// --- variables ---

value variable_new(value first, const type &held, location where);
value variable_read(value variable, const type &held);
void variable_write(value variable, value next, location where);

// --- the state of the trace ---

bool contracts();
/// Between this object's life's ends is one full expression: the order of two calls with effects in
/// it differs between compilers, and is refused.
class effect_site {
public:
  effect_site(location where);
  ~effect_site();
  effect_site(const effect_site &) = delete;
  effect_site &operator=(const effect_site &) = delete;

  const location where;
};

/// The shortest text that reads back as this number.
std::string float_text(double number);

/// Throw the error of this row of the table of diagnostics.
[[noreturn]] void raise(std::string_view diagnostic, location where,
                        std::initializer_list<std::string> arguments = {});

} // namespace imbrex::detail
