#include "engine/engine.h"

#include <mutex>
#include <utility>

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
  // Made under the lock: two loaders that are opened at once get one. It ends outside of it, with whoever held it last.
  std::shared_ptr<Engine> engine = here.engine.lock();
  if (!engine)
    here.engine = engine = std::make_shared<Engine>(usable_cores(), monotonic_ns,
                                                    [](const Executor& executor) { return executor.usable_cores(); });
  return engine;
}

void Engine::lend_batches_from(std::shared_ptr<BlockSource> blocks) {
  const std::lock_guard lock(blocks_mutex_);
  batch_blocks_ = std::move(blocks);
}

std::shared_ptr<BlockSource> Engine::batch_blocks() const {
  const std::lock_guard lock(blocks_mutex_);
  return batch_blocks_;
}

int Engine::follow_cores() const {
  const int before = executor->cores(), now = usable_ ? usable_(*executor) : before;
  if (now != before) executor->set_cores(now);
  return now;
}

}  // namespace forebay
