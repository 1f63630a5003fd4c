#include "engine/engine.h"

#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "forebay/result.h"
#include "runtime/fork_guard.h"
#include "runtime/host.h"

namespace forebay {

namespace {

constexpr int kMostThreads = 1024;
constexpr uint64_t kLeastMemory = uint64_t{1} << 20;

struct CurrentEngine {
  Mutex mutex;
  std::weak_ptr<Engine> engine FOREBAY_GUARDED_BY(mutex);
};

// Separate from the engine, so that the child of a fork has them, too. Guarded by
// CurrentEngine::mutex.
EngineLimits& limits_of_this_process() {
  static EngineLimits limits;
  return limits;
}

Status check(const EngineLimits& limits) {
  if (limits.threads && (*limits.threads < 1 || *limits.threads > kMostThreads))
    return invalid_argument(
        fmt::format("engine: threads={} is out of range; give 1 to {}, or \"auto\"", *limits.threads, kMostThreads));
  if (limits.memory && *limits.memory < kLeastMemory)
    return invalid_argument(
        fmt::format("engine: memory={} is less than 1 MiB; give more, or \"auto\"", *limits.memory));
  return {};
}

std::shared_ptr<Engine> make_engine(const EngineLimits& limits) {
  std::shared_ptr<Engine> engine =
      limits.threads ? std::make_shared<Engine>(*limits.threads)
                     : std::make_shared<Engine>(usable_cores(), monotonic_ns,
                                                [](const Executor& executor) { return executor.usable_cores(); });
  if (limits.memory) engine->memory->set_most(*limits.memory);
  return engine;
}

}  // namespace

Status engine(const EngineLimits& limits) {
  FOREBAY_RETURN_IF_ERROR(check(limits));
  CurrentEngine& current = of_this_process<CurrentEngine>();
  const Lock lock(current.mutex);
  if (!current.engine.expired())
    return invalid_argument(
        "engine: a loader of this process is open, and shares the engine as it is; call it before the first loader, or "
        "close all of them");
  limits_of_this_process() = limits;
  return {};
}

EngineLimits Engine::limits() {
  const Lock lock(of_this_process<CurrentEngine>().mutex);
  return limits_of_this_process();
}

std::shared_ptr<Engine> Engine::shared() {
  CurrentEngine& current = of_this_process<CurrentEngine>();
  const Lock lock(current.mutex);
  // Made under the lock, so that two loaders that open at the same time get one engine. Its last
  // owner destroys it without the lock.
  std::shared_ptr<Engine> engine = current.engine.lock();
  if (!engine) current.engine = engine = make_engine(limits_of_this_process());
  return engine;
}

Engine::Engine(int cores, Executor::Clock clock, CountCores count_usable_cores)
    : executor(std::make_shared<Executor>(cores, clock)), memory(Memory::make()), chunks(SharedChunks::make()),
      count_usable_cores_(std::move(count_usable_cores)) {}

int Engine::update_cores() const {
  const int before = executor->cores(), now = count_usable_cores_ ? count_usable_cores_(*executor) : before;
  if (now != before) executor->set_cores(now);
  return now;
}

}  // namespace forebay
