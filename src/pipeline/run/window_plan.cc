#include <algorithm>
#include <utility>

#include "pipeline/run/window.h"

// Decides which batches the window has.

namespace forebay {

namespace {
constexpr int64_t kUserCodeRowsAhead = 128;  // rows in user code beyond the window
constexpr int64_t kMaxBatchesAhead = 4096;   // batches may have a single row
}  // namespace

// Returns how many batches beyond the window are fetched: enough for a quarter more rows than reads
// in flight, so that one slow answer does not stop the others. More did not help and took memory.
int64_t Window::batches_ahead() const {
  if (core_.reads_on_compute_threads() && !has_user_code_) return 0;
  const int64_t rows = has_user_code_ ? kUserCodeRowsAhead : core_.read_limit() + core_.read_limit() / 4;
  const int64_t batch = batches_.empty() ? rows : batches_.back()->size();
  return std::min((rows + batch - 1) / std::max<int64_t>(batch, 1), kMaxBatchesAhead);
}

bool Window::needs_batches() const {
  return static_cast<int64_t>(batches_.size()) < core_.options.window_batches + batches_ahead();
}

void Window::extend(Actions& actions) {
  // The consumer waits and nothing is in preparation: let the stream decide with what it has.
  if (waits_.waiting() && nothing_planned()) {
    core_.steps->set_awaited(planned_);
    (void)core_.steps->decide_now(planned_);
  }
  if (plans_on_compute_thread()) {
    post_planning(actions);
  } else {
    plan_now();
  }
}

void Window::plan_now() {
  while (needs_batches() && core_.steps->request_step(planned_)) {
    std::optional<StepPlan> step = core_.steps->step(planned_);
    if (!step) return;
    add(make_batch(std::move(*step)));
  }
}

void Window::post_planning(Actions& actions) {
  if (planning_ || !needs_batches() || core_.steps->finished(planned_) || !core_.steps->request_step(planned_)) return;
  planning_ = true;
  core_.post(actions, kFirstOrder, Work::kPlan, [this](WorkMemory&) { plan_batches(); });
}

// Runs on a compute thread. Steps are planned without the lock.
void Window::plan_batches() {
  RunCore::Lock lock(core_.mutex);
  while (!core_.closed && needs_batches()) {
    const Cursor at = planned_;
    const uint64_t dropped_before = plans_dropped_;
    lock.unlock();
    std::optional<StepPlan> step = core_.steps->step(at);
    const WindowBatchPtr batch = step ? make_batch(std::move(*step)) : nullptr;
    lock.lock();
    // After a seek() meanwhile, the step belongs to the former place.
    if (dropped_before != plans_dropped_) continue;
    if (!batch) break;
    add(batch);
    core_.act(lock);
  }
  lock.unlock();
  const AdvancingLock advancing(core_);  // its destructor advances the run
  planning_ = false;
  core_.on_task_ended();
}

WindowBatchPtr Window::make_batch(StepPlan step) const {
  return std::make_shared<WindowBatch>(core_.plan, std::move(step), groups_);
}

void Window::add(const WindowBatchPtr& batch) {
  planned_ = batch->job.step().after;
  batch->sequence = sequence_++;
  batch->begun_ns = monotonic_ns();
  uses_.plan(*batch);
  batches_.push_back(batch);
}

}  // namespace forebay
