#include "pipeline/run/runner.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "runtime/fork_guard.h"
#include "telemetry/log.h"

namespace forebay {

namespace {
constexpr int64_t kFollowHostEveryNs = 1'000'000'000;
}  // namespace

Runner::Runner(std::shared_ptr<Engine> engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps,
               RunnerOptions options)
    : generation_(process_generation()), engine_(std::move(engine)),
      window_(Window::make(*engine_, std::move(plan), std::move(steps), options)), core_(window_->core()),
      cores_(engine_->executor->cores()) {}

Runner::~Runner() {
  if (process_generation() == generation_) {
    close();
  } else {
    // Never destroyed in the child: the threads that it would join did not survive the fork.
    (void)new std::shared_ptr<Engine>(std::move(engine_));
  }
}

Result<Delivery> Runner::next_for(std::chrono::milliseconds timeout) {
  follow_host();
  RunCore::Lock lock(core_.mutex);
  if (core_.closed) return cancelled("the loader is closed");
  if (window_->finished()) return Delivery{};
  FOREBAY_RETURN_IF_ERROR(open_threads());
  if (begun_ns_ == 0) {
    begun_ns_ = monotonic_ns();
    core_.tuning.begin(begun_ns_);
  }
  if (!window_->ready()) core_.act(lock);
  if (!window_->ready() && !wait(lock, timeout)) return report_time_out();
  if (core_.closed) return cancelled("the loader was closed while a batch was awaited");
  reset_wait();
  return window_->deliver(lock);
}

bool Runner::wait(RunCore::Lock& lock, std::chrono::milliseconds timeout) {
  window_->begin_consumer_wait();
  // A step source may know more steps once the consumer waits.
  if (window_->nothing_planned()) core_.act(lock);
  // The caller may be user code on a compute thread.
  const Executor::BlockingScope waiting;
  const bool over = core_.changed.wait_for(
      lock, timeout, [&]() FOREBAY_REQUIRES(core_.mutex) { return core_.closed || window_->ready(); });
  waited_ns_ += window_->end_consumer_wait();
  return over;
}

Status Runner::open_threads() {
  if (core_.queue) return {};
  try {
    core_.queue = engine_->executor->open(core_.options.threads, core_.options.own_threads);
  } catch (const std::system_error&) {
    return unavailable(fmt::format("the system gives no {} threads; lower threads=, or raise the limit (ulimit -u)",
                                   core_.options.threads));
  }
  return {};
}

// The number of cores changes while a job runs: a quota is changed, or a process is moved.
void Runner::follow_host() {
  const int64_t now_ns = monotonic_ns();
  if (now_ns < next_follow_ns_) return;
  next_follow_ns_ = now_ns + kFollowHostEveryNs;
  std::shared_ptr<Engine> engine;
  {
    const RunCore::Lock lock(core_.mutex);
    engine = engine_;
  }
  if (!engine) return;
  const int cores = engine->update_cores();  // reads files
  const RunCore::Lock lock(core_.mutex);
  const int before = std::exchange(cores_, cores);
  if (core_.closed || !core_.queue) return;
  // A number of threads that the user gave is not changed.
  if (!core_.options.own_threads && cores != before)
    use_threads(now_ns, std::max(1, cores / core_.options.local_ranks), cores);
  if (core_.options.find_requests) core_.tuning.record_requests(now_ns, core_.current_read_limit());
}

void Runner::use_threads(int64_t now_ns, int threads, int cores) {
  if (threads == core_.tuning.threads()) return;
  if (!core_.memory.set_aside_for_threads(threads)) {
    cores_ = 0;  // the next follow_host() tries again
    return;
  }
  core_.queue->set_limit(threads);
  core_.tuning.set_threads(now_ns, threads,
                           fmt::format("this process may use {} core{} now", cores, cores == 1 ? "" : "s"));
}

Delivery Runner::report_time_out() {
  if (waited_ns_ >= std::chrono::nanoseconds(core_.options.long_wait).count() &&
      !std::exchange(long_wait_logged_, true))
    log_warning(fmt::format("no batch for {:.0f} s; {}", static_cast<double>(waited_ns_) * 1e-9, window_->awaited()));
  Delivery nothing;
  nothing.timed_out = true;
  return nothing;
}

void Runner::reset_wait() {
  waited_ns_ = 0;
  long_wait_logged_ = false;
}

Cursor Runner::cursor() const {
  const Lock lock(core_.mutex);
  return window_->cursor();
}

void Runner::seek(const Cursor& at) {
  RunCore::Lock lock(core_.mutex);
  reset_wait();
  window_->seek(at);
  core_.send_notifications(lock);
}

void Runner::notify_steps_changed() {
  RunCore::Lock lock(core_.mutex);
  if (core_.queue) core_.act(lock);
  core_.changed.notify_all();
}

bool Runner::closed() const {
  const Lock lock(core_.mutex);
  return core_.closed;
}

void Runner::close() {
  if (process_generation() != generation_) return;
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Executor::Queue> queue;
  std::unique_ptr<Memory::Account> account;
  bool ended;
  {
    RunCore::Lock lock(core_.mutex);
    ended = stop_work(lock);
    if (core_.posted() > 0 && !abandoned_) abandon_threads();
    queue = std::move(core_.queue);
    core_.fetcher.leave();
    account = core_.memory.release_account();
    engine = std::move(engine_);
  }
  queue.reset();  // without the lock, which its last tasks take
  account.reset();
  engine.reset();
  if (ended) core_.memory.close_pools();  // otherwise work in flight still uses the pools
}

bool Runner::stop_work(RunCore::Lock& lock) {
  // Nothing advances from here on. Work in flight returns and finds the run closed.
  if (!std::exchange(core_.closed, true)) at_close_ = core_.thread_time.look();
  window_->revoke_all();
  core_.changed.notify_all();
  core_.calls.close();
  core_.send_notifications(lock);
  {
    const Unlock unlocked(lock, core_.mutex);
    core_.fetcher.stop();  // stores may answer from within stop(), and answers take the lock
  }
  return core_.changed.wait_for(lock, abandoned_ ? std::chrono::milliseconds(0) : core_.options.patience,
                                [&] { return !core_.anything_running(); });
}

void Runner::abandon_threads() {
  std::string steps;
  for (const auto& branch : core_.plan.branches()) {
    for (const Stage& stage : branch->stages) {
      const auto* native = std::get_if<NativeStage>(&stage);
      for (size_t i = 0; native != nullptr && i < native->ops.size(); ++i)
        steps += (steps.empty() ? "" : ", ") + native->ops[i].name;
    }
  }
  log_warning(
      fmt::format("closed while a function had not returned for {:.0f} s; its thread is left behind. It is one of: {}",
                  static_cast<double>(core_.options.patience.count()) * 1e-3, steps));
  core_.queue->abandon();
  abandoned_ = true;
}

std::vector<uint32_t> Runner::decodes() const {
  const Lock lock(core_.mutex);
  return window_->decodes();
}

Runner::Stats Runner::stats() const {
  const Lock lock(core_.mutex);
  Stats stats;
  stats.memory = core_.memory.snapshot();
  stats.batches = window_->stats().batches;
  stats.samples = window_->stats().samples;
  stats.branch_samples = window_->stats().branch_samples;
  stats.reclaimed = core_.reclaimed;
  stats.waits_ns = window_->waits().parts();
  const ThreadTime::Look threads = at_close_ ? *at_close_ : core_.thread_time.look();
  stats.threads_ns = threads.parts;
  stats.threads_cpu_ns = threads.cpu;
  stats.threads_idle_cpu_ns = threads.idle_cpu;
  stats.threads = core_.tuning.threads();
  if (begun_ns_ == 0) return stats;
  stats.elapsed_ns = threads.at_ns - begun_ns_;
  stats.all_threads_ns = core_.tuning.thread_ns(threads.at_ns);
  stats.decisions = core_.tuning.decisions();
  for (RunTuning::Decision& decision : stats.decisions) decision.at_ns -= begun_ns_;
  return stats;
}

}  // namespace forebay
