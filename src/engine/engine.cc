#include "engine/engine.h"

#include <atomic>
#include <mutex>

#include "runtime/fork_guard.h"
#include "runtime/host.h"

namespace forebay {

namespace {

/// Made anew behind a fork, for its lock may be held by a thread that is not there.
struct Current {
  const uint64_t generation = process_generation();
  std::mutex mutex;
  std::weak_ptr<Engine> engine;
};

Current& current() {
  static std::atomic<Current*> known{nullptr};
  Current* here = known.load();
  while (here == nullptr || here->generation != process_generation()) {
    auto made = std::make_unique<Current>();
    if (known.compare_exchange_strong(here, made.get())) return *made.release();
  }
  return *here;
}

}  // namespace

std::shared_ptr<Engine> Engine::shared() {
  Current& here = current();
  const std::lock_guard lock(here.mutex);
  std::shared_ptr<Engine> engine = here.engine.lock();
  if (!engine) here.engine = engine = std::make_shared<Engine>(usable_cores());
  return engine;
}

}  // namespace forebay
