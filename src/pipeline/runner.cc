#include "pipeline/runner.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "runtime/fork_guard.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr int64_t kGatheredRows = 2048;

// Samples that need no fetching are dealt with so many at a time that a task is worth a thread's while.
int64_t rows_per_task(const ExecutionPlan& plan) {
  // What a cache has is looked up sample by sample.
  if (plan.fetches || plan.has_foreign() || plan.cache_stage) return 1;
  if (plan.units) return plan.units->gathers_rows ? kGatheredRows : 1;
  uint64_t row_bytes = 0;
  for (const OutputField& output : plan.outputs) {
    if (!output.row_bytes) return 1;
    row_bytes += *output.row_bytes;
  }
  constexpr uint64_t kCopied = uint64_t{256} << 10, kComputed = uint64_t{32} << 10;
  return static_cast<int64_t>((plan.gathers_only() ? kCopied : kComputed) / std::max<uint64_t>(row_bytes, 64)) + 1;
}

// As many as the batches of the window have, and some of sizes that come now and then.
size_t idle_buffers(const ExecutionPlan& plan, const RunnerOptions& options) {
  return 16 + plan.outputs.size() * static_cast<size_t>(options.window_batches + 2);
}

constexpr size_t kIdleUnits = 64;

}  // namespace

Runner::Runner(std::shared_ptr<Engine> engine, std::shared_ptr<const ExecutionPlan> plan,
               std::shared_ptr<const Itinerary> itinerary, RunnerOptions options)
    : plan_(std::move(plan)), itinerary_(std::move(itinerary)), options_(options),
      row_work_(plan_, itinerary_, options.bad_sample), unit_work_(plan_), engine_(std::move(engine)),
      shared_units_(engine_->units),
      account_(engine_->memory->open({options.memory, options.memory_least, options.memory_together})),
      budget_(account_->budget()), pool_(std::make_shared<BufferPool>(budget_, idle_buffers(*plan_, options))),
      unit_pool_(std::make_shared<BufferPool>(budget_, kIdleUnits, Use::kUnits)), generation_(process_generation()),
      rows_per_task_hint_(rows_per_task(*plan_)),
      thread_memory_(Claim::of_existing(budget_, Use::kWorking,
                                        options.working_bytes_per_thread * static_cast<uint64_t>(options.threads))),
      fetcher_({options.requests, options.find_requests}, *plan_->fetch_counters),
      line_(plan_->store() ? &fetcher_.line(*plan_->store()) : nullptr),
      forms_(*plan_, itinerary_->schedule().options().batch_size, options.ragged) {
  if (plan_->units) {
    const UnitSource& source = *plan_->units->source;
    std::vector<int64_t> begins;
    for (int64_t unit = 0; unit <= source.units(); ++unit) begins.push_back(source.unit_begin(unit));
    units_ = std::make_unique<UnitTable>(itinerary_->order_ptr(), std::move(begins));
    decoded_.resize(static_cast<size_t>(source.units()));
  }
}

Runner::~Runner() {
  if (process_generation() == generation_) {
    close();
  } else {
    (void)new auto(std::move(engine_));  // its threads did not survive the fork
  }
}

Result<Runner::Delivery> Runner::next_for(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  if (closed_) return cancelled("the loader is closed");
  if (itinerary_->finished(cursor_)) return Delivery{};
  if (!queue_) {
    try {
      queue_ = engine_->executor->open(options_.threads, options_.own_threads);
    } catch (const std::system_error&) {
      return unavailable(fmt::format("the system gives no {} threads; lower threads=, or raise the limit (ulimit -u)",
                                     options_.threads));
    }
  }
  if (window_.empty() || !window_.front()->complete) run_actions(lock);
  const int64_t begun = monotonic_ns();
  const Executor::Waiting waiting;  // user code on a compute thread may be who asks
  const bool ready =
      delivered_.wait_for(lock, timeout, [&] { return closed_ || (!window_.empty() && window_.front()->complete); });
  const int64_t waited = monotonic_ns() - begun;
  stats_.consumer_wait_seconds += static_cast<double>(waited) * 1e-9;
  if (closed_) return cancelled("the loader was closed while a batch was awaited");
  if (!ready) {
    waited_ns_ += waited;
    if (waited_ns_ >= std::chrono::nanoseconds(options_.long_wait).count() && !long_wait_told_) {
      long_wait_told_ = true;
      log_warning(fmt::format("no batch for {:.0f} s; {}", static_cast<double>(waited_ns_) * 1e-9, what_is_awaited()));
    }
    Delivery nothing;
    nothing.timed_out = true;
    return nothing;
  }
  waited_ns_ = 0;
  long_wait_told_ = false;
  return deliver(lock);
}

Result<Runner::Delivery> Runner::deliver(Lock& lock) {
  JobPtr job = window_.front();
  BatchJob& batch = job->batch;
  if (!batch.fatal.ok()) {
    Status status = batch.fatal;
    drop_window();
    return status;
  }
  std::stable_sort(batch.errors.begin(), batch.errors.end(),
                   [](const RowError& a, const RowError& b) { return a.row < b.row; });
  window_.pop_front();
  leave_blocks(*job);
  cursor_ = batch.step().after;
  // From here on the batch's memory is the user's; it is counted again when it comes back.
  batch.drop_slots();
  auto raised =
      std::find_if(batch.errors.begin(), batch.errors.end(), [](const RowError& error) { return error.raise; });
  Status status = raised != batch.errors.end() ? raised->status : forms_.settle(*job->made);
  if (!status.ok()) {
    run_actions(lock);
    return status;
  }
  Delivery delivery;
  delivery.batch = std::move(job->made);
  delivery.errors = std::move(batch.errors);
  ++stats_.batches;
  stats_.samples += delivery.batch->size() - delivery.batch->padding;
  if (!plans_elsewhere()) {
    run_actions(lock);
    return delivery;
  }
  // What comes next, and taking apart thousands of rows, is no work for the consumer.
  pump_on_a_thread(std::move(job));
  return delivery;
}

Cursor Runner::cursor() const {
  std::lock_guard lock(mutex_);
  return cursor_;
}

void Runner::seek(const Cursor& at) {
  Lock lock(mutex_);
  cursor_ = at;
  waited_ns_ = 0;
  long_wait_told_ = false;
  drop_window();
}

bool Runner::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

void Runner::close() {
  if (process_generation() != generation_) return;
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Executor::Queue> queue;
  std::unique_ptr<Memory::Account> account;
  bool ended;
  {
    Lock lock(mutex_);
    closed_ = true;
    drop_window();
    delivered_.notify_all();
    calls_.close();
    lock.unlock();
    fetcher_.stop();  // stores may answer from inside, and the answer takes the lock
    lock.lock();
    ended = delivered_.wait_for(lock, abandoned_ ? std::chrono::milliseconds(0) : options_.patience,
                                [&] { return queued_ == 0 && fetcher_.in_flight() == 0; });
    if (queued_ > 0 && !abandoned_) abandon_threads();
    queue = std::move(queue_);
    fetcher_.leave();
    account = std::move(account_);
    engine = std::move(engine_);
  }
  queue.reset();  // without the lock: its last tasks take it
  account.reset();
  engine.reset();
  if (!ended) return;  // what is in flight holds this runner
  pool_->close();
  unit_pool_->close();
}

std::vector<uint32_t> Runner::decodes() const {
  std::lock_guard lock(mutex_);
  return decoded_;
}

Runner::Stats Runner::stats() const {
  std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.memory = budget_->snapshot();
  return stats;
}

void Runner::abandon_threads() {
  std::string steps;
  for (const Stage& stage : plan_->stages) {
    const auto* native = std::get_if<NativeStage>(&stage);
    for (size_t i = 0; native != nullptr && i < native->ops.size(); ++i)
      steps += (steps.empty() ? "" : ", ") + native->ops[i].name;
  }
  log_warning(
      fmt::format("closed while a function had not returned for {:.0f} s; its thread is left behind. It is one of: {}",
                  static_cast<double>(options_.patience.count()) * 1e-3, steps));
  queue_->abandon();
  abandoned_ = true;
}

std::string Runner::what_unit_is_awaited(const UnitBlock& block) const {
  const auto unit = std::find_if(block.units.begin(), block.units.end(), [](const auto& one) { return !one->ready(); });
  const std::string name = plan_->units->source->unit_name((*unit)->number);
  switch ((*unit)->state) {
    case Unit::State::kFetching: return fmt::format("waiting for storage to give {}", name);
    case Unit::State::kDecoding: return fmt::format("a compute thread decodes {}", name);
    default: return fmt::format("{} waits for memory, a thread or a request slot", name);
  }
}

std::string Runner::what_is_awaited() const {
  if (window_.empty()) return "nothing has been started";
  const JobPtr& job = window_.front();
  for (const Task& task : job->tasks) {
    if (task.state == TaskState::kDone) continue;
    if (units_ && block_waits(*job, task)) return what_unit_is_awaited(*job->block_of(task));
    const RowJob& row = job->batch.rows()[static_cast<size_t>(task.begin)];
    // The id belongs to the compute thread while one is at work.
    const bool busy = task.state == TaskState::kQueued;
    const std::string key = plan_->source->key(busy ? plan_->selection->id_at(itinerary_->index_at(
                                                          job->batch.step().at.epoch, job->batch.position(task.begin)))
                                                    : row.id);
    switch (task.state) {
      case TaskState::kFetching: return fmt::format("waiting for storage to give '{}'", key);
      case TaskState::kForeign: return fmt::format("waiting for the user's function on '{}'", key);
      case TaskState::kQueued: return fmt::format("a compute thread is at work on '{}'", key);
      default: return fmt::format("'{}' waits for memory or a request slot", key);
    }
  }
  return "the batch is being put together";
}

}  // namespace forebay
