#include "engine/engine.h"

#include <mutex>

#include "runtime/fork_guard.h"
#include "runtime/host.h"

namespace forebay {

namespace {

struct Current {
  std::mutex mutex;
  std::weak_ptr<Engine> engine;
};

}  // namespace

std::shared_ptr<Engine> Engine::shared() {
  Current& here = of_this_process<Current>();
  const std::lock_guard lock(here.mutex);
  std::shared_ptr<Engine> engine = here.engine.lock();
  if (!engine) here.engine = engine = std::make_shared<Engine>(usable_cores());
  return engine;
}

}  // namespace forebay
