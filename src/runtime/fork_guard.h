#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace forebay {

/// Number of forks between the first process and this one. Threads and locks do not survive a fork.
/// So their owners remember the generation in which they were made, and refuse to work (and to
/// join) in another one.
uint64_t process_generation();

/// The T of this process, made on first use and never destroyed. The child of a fork gets its own,
/// because a thread that does not exist there may hold the parent's lock. May be called from any
/// thread.
template <typename T>
T& of_this_process() {
  struct Held {
    const uint64_t generation = process_generation();
    T value;
  };
  static std::atomic<Held*> current{nullptr};
  Held* held = current.load();
  while (held == nullptr || held->generation != process_generation()) {
    auto made = std::make_unique<Held>();
    if (current.compare_exchange_strong(held, made.get())) return made.release()->value;
  }
  return held->value;
}

}  // namespace forebay
