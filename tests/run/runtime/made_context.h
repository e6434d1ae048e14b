#pragma once

#include "tests/run/runtime/fake_driver.h"

/// Contexts of CUDA's beside the primary ones, as programs make them.
namespace imbrex::testing {

/// A context of a fake driver's device. It is current as long as an `In` is there.
class MadeContext {
public:
  explicit MadeContext(fake::State &driver, int device = 0, int number = 100)
      : driver_(driver), number_(number) {
    driver_.otherContexts[number_] = {.device = device, .id = ++made};
  }
  ~MadeContext() { driver_.destroyContext(number_); }
  MadeContext(const MadeContext &) = delete;
  MadeContext &operator=(const MadeContext &) = delete;

  int number() const { return number_; }

  class In {
  public:
    explicit In(const MadeContext &context) : In(context.driver_, context.number_) {}
    In(fake::State &driver, int number) : here_(driver.here()) {
      here_.contexts.push_back(number);
      ++here_.current;
    }
    ~In() {
      here_.contexts.pop_back();
      --here_.current;
    }
    In(const In &) = delete;
    In &operator=(const In &) = delete;

  private:
    fake::ThreadState &here_;
  };

private:
  static inline std::uint64_t made = 0;
  fake::State &driver_;
  int number_;
};

/// A stream that was made there.
class MadeStream {
public:
  MadeStream(fake::State &driver, const MadeContext &context) : driver_(driver) {
    driver_.streams.insert(&handle_);
    driver_.contextOf[&handle_] = context.number();
  }
  ~MadeStream() { driver_.streams.erase(&handle_); }
  MadeStream(const MadeStream &) = delete;
  MadeStream &operator=(const MadeStream &) = delete;
  void *handle() const { return const_cast<char *>(&handle_); }

private:
  fake::State &driver_;
  char handle_ = 0;
};

} // namespace imbrex::testing
