#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace forebay {

/// Counts how often this process is the child of a fork. Threads and locks do not survive a fork, so whatever owns them
/// remembers the generation it was made in and refuses to work (and to join) in another one.
uint64_t process_generation();

/// The T of this process, made when it is first asked for and never destroyed. A fork's child gets one of its own: the lock of its
/// parent's may be held by a thread that is not there. From any thread.
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
