#include "pipeline/run/run_core.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace forebay {

namespace {

// As many buffers as the batches of the window have, and some for sizes that occur now and then.
size_t idle_buffers(const ExecutionPlan& plan, const RunnerOptions& options) {
  return 16 + plan.outputs().size() * static_cast<size_t>(options.window_batches + 2);
}

std::vector<RowWork> works_of(const ExecutionPlan& plan, const std::shared_ptr<StepSource>& steps, BadSample policy) {
  std::vector<RowWork> works;
  for (const auto& branch : plan.branches()) works.emplace_back(branch, steps, policy);
  return works;
}

std::vector<StoreSlots*> slots_of_branches(const ExecutionPlan& plan, Fetcher& fetcher) {
  std::vector<StoreSlots*> slots;
  for (const auto& branch : plan.branches()) {
    Store* const store = branch->store();
    slots.push_back(store != nullptr ? &fetcher.slots_of(*store) : nullptr);
  }
  return slots;
}

}  // namespace

RunCore::RunCore(Engine& engine, ExecutionPlan run_plan, std::shared_ptr<StepSource> step_source,
                 RunnerOptions run_options)
    : plan(std::move(run_plan)), steps(std::move(step_source)), options(std::move(run_options)),
      row_works(works_of(plan, steps, options.bad_sample)),
      memory(*engine.memory, options.memory, options.threads, idle_buffers(plan, options), options.batch_memory),
      fetcher({options.requests, options.find_requests, options.ranks}), store_slots(slots_of_branches(plan, fetcher)),
      tuning(options.threads, options.requests) {}

void RunCore::set_run(Advancing& run, std::weak_ptr<void> alive) {
  run_ = &run;
  alive_ = std::move(alive);
}

bool RunCore::reads_on_compute_threads() const {
  for (size_t branch = 0; branch < plan.size(); ++branch) {
    if (!reads_on_compute_threads(branch)) return false;
  }
  return true;
}

bool RunCore::has_read_slot() const {
  for (size_t branch = 0; branch < plan.size(); ++branch) {
    if (!reads_on_compute_threads(branch) && store_slots[branch] != nullptr && store_slots[branch]->has_slot())
      return true;
  }
  return false;
}

int RunCore::largest_limit(int (StoreSlots::*limit)() const) const {
  std::optional<int> largest;
  for (const StoreSlots* slots : store_slots) {
    if (slots != nullptr) largest = std::max(largest.value_or(0), (slots->*limit)());
  }
  return largest.value_or(options.requests);
}

void RunCore::act(Lock& lock, Actions actions) {
  // A store that answers at once calls act() again from within an action. The outer loop then
  // continues with what became possible. Continuing here would nest as deep as there are reads in
  // the window.
  thread_local const RunCore* acting = nullptr;
  if (acting == this && actions.empty()) return;
  // Restored even if std::bad_alloc is thrown. Otherwise this thread would never act for the run
  // again.
  const struct Restorer {
    const RunCore* outer;
    ~Restorer() { acting = outer; }
  } restorer{std::exchange(acting, this)};
  for (decide(actions); !actions.empty(); decide(actions)) {
    Actions begun = std::exchange(actions, Actions());
    const Unlock unlocked(lock, mutex);
    // The queue exists although the lock is released, since close() waits for posted tasks.
    for (Actions::Post& post : begun.posts) queue->post(post.order, std::move(post.task));
    for (const PendingReadPtr& read : begun.reads) fetcher.send(read);
    for (const auto& notify : begun.notifications) notify();
    begun = Actions();  // destroying actions may notify other runs, which take their own locks
  }
  run_->on_state_changed();
}

void RunCore::decide(Actions& actions) {
  run_->advance(actions);
  std::ranges::move(std::exchange(notifications_, {}), std::back_inserter(actions.notifications));
}

void RunCore::notify_later(SingleFlight::Callbacks callbacks) {
  std::ranges::move(callbacks, std::back_inserter(notifications_));
}

void RunCore::end_flight(std::unique_ptr<SingleFlight::Flight>& flight) {
  if (!flight) return;
  notify_later(flight->end());
  flight.reset();
}

void RunCore::send_notifications(Lock& lock) {
  const SingleFlight::Callbacks callbacks = std::exchange(notifications_, {});
  const Unlock unlocked(lock, mutex);
  for (const auto& notify : callbacks) notify();
}

void RunCore::post_act(std::shared_ptr<void> destroyed_there) {
  ++posted_;
  queue->post(kFirstOrder,
              timed_task(Work::kEngine, 0, [this, destroyed_there = std::move(destroyed_there)](WorkMemory&) mutable {
                destroyed_there.reset();
                const AdvancingLock advancing(*this);
                on_task_ended();
              }));
}

// The analysis does not follow a lock that is a member.
AdvancingLock::AdvancingLock(RunCore& core) FOREBAY_NO_THREAD_SAFETY_ANALYSIS : core_(core),
                                                                                lock_(core.mutex, std::defer_lock) {
  WorkTimer::change(core.thread_time, Work::kEngine);  // waiting for the lock counts there, too
  lock_.lock();
}

AdvancingLock::~AdvancingLock() FOREBAY_NO_THREAD_SAFETY_ANALYSIS {
  core_.act(lock_, std::move(actions));
  if (core_.closed) core_.changed.notify_all();
}

}  // namespace forebay
