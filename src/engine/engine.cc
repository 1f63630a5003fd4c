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
  if (!engine)
    here.engine = engine = std::make_shared<Engine>(usable_cores(), monotonic_ns,
                                                    [](const Executor& executor) { return executor.usable_cores(); });
  return engine;
}

int Engine::follow_cores() const {
  const int before = executor->cores(), now = usable_ ? usable_(*executor) : before;
  if (now != before) executor->set_cores(now);
  return now;
}

}  // namespace forebay
