#include "runtime/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace forebay {

namespace {
std::atomic<uint64_t> generation{0};
}

uint64_t process_generation() {
  // A fork before the first call need not be counted: nobody remembers a generation yet.
  static const bool registered = [] {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    return true;
  }();
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace forebay
