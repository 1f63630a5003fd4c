#include "pipeline/run/window.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr int64_t kGatheredRows = 2048;

// Samples without fetching are grouped so that a task is worth handing to a thread.
int64_t rows_per_task(const BranchPlan& plan) {
  // Cache entries are looked up sample by sample.
  if (plan.fetches || plan.has_foreign() || !plan.keyed.empty()) return 1;
  if (plan.chunks) return plan.chunks->gathers_rows ? kGatheredRows : 1;
  uint64_t row_bytes = 0;
  for (const OutputField& output : plan.outputs) {
    if (!output.row_bytes) return 1;
    row_bytes += *output.row_bytes;
  }
  constexpr uint64_t kCopied = uint64_t{256} << 10, kComputed = uint64_t{32} << 10;
  return static_cast<int64_t>((plan.gathers_only() ? kCopied : kComputed) / std::max<uint64_t>(row_bytes, 64)) + 1;
}

std::vector<int64_t> rows_per_task(const ExecutionPlan& plan) {
  std::vector<int64_t> rows;
  for (const auto& branch : plan.branches()) rows.push_back(rows_per_task(*branch));
  return rows;
}

bool has_chunk(const WindowBatch& batch, const Chunk& chunk) {
  // Blocks of replacements belong to their tasks.
  return std::any_of(batch.blocks.begin(), batch.blocks.end(),
                     [&](const auto& block) { return block->has_chunk(chunk); }) ||
         std::any_of(batch.tasks.begin(), batch.tasks.end(),
                     [&](const RowTask& task) { return task.widened_block && task.widened_block->has_chunk(chunk); });
}

}  // namespace

Window::Window(Engine& engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps, const RunnerOptions& options)
    : core_(engine, std::move(plan), std::move(steps), options),
      groups_(groups_of(core_.plan, rows_per_task(core_.plan))), chunks_(make_chunks(engine)),
      has_chunks_(std::ranges::any_of(chunks_, [](const auto& chunks) { return chunks != nullptr; })),
      has_user_code_(std::ranges::any_of(core_.plan.branches(),
                                         [](const auto& branch) { return branch->starts_with_user_code(); })),
      uses_(core_, chunks_, groups_), revocation_(core_, uses_), reclaimer_(core_, chunks_, revocation_, batches_),
      tasks_(core_, uses_, revocation_, reclaimer_, batches_), batch_calls_(core_, batches_),
      consumer_trace_(core_.plan.trace()) {
  stats_.branch_samples.resize(core_.plan.size());
}

ChunksByBranch Window::make_chunks(Engine& engine) {
  ChunksByBranch all(core_.plan.size());
  for (size_t branch = 0; branch < all.size(); ++branch) {
    if (!core_.plan.branch(branch).chunks) continue;
    all[branch] = std::make_unique<Chunks>(core_, branch, engine.chunks, [this](const Chunk& chunk) {
      return !batches_.empty() && has_chunk(*batches_.front(), chunk);
    });
  }
  return all;
}

std::vector<uint32_t> Window::decodes() const {
  std::vector<uint32_t> all;
  for (const auto& chunks : chunks_) {
    if (chunks) all.insert(all.end(), chunks->decodes().begin(), chunks->decodes().end());
  }
  return all;
}

std::shared_ptr<Window> Window::make(Engine& engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps,
                                     const RunnerOptions& options) {
  std::shared_ptr<Window> window(new Window(engine, std::move(plan), std::move(steps), options));
  window->core_.set_run(*window, window);
  return window;
}

bool Window::ready() const {
  if (!batches_.empty()) {
    const WindowBatch& front = *batches_.front();
    // mark_front_due() may still revoke an error that came before the batch was due.
    return front.complete && !front.revoking && (front.due || front.job.fatal.ok());
  }
  return finished() || !core_.steps->failure().ok();
}

// The analysis does not take the mutex that the runner holds for that of core_.
Result<Delivery> Window::deliver(RunCore::Lock& lock) FOREBAY_NO_THREAD_SAFETY_ANALYSIS {
  if (batches_.empty()) {
    FOREBAY_RETURN_IF_ERROR(core_.steps->failure());
    return Delivery{};
  }
  const WindowBatchPtr batch = batches_.front();
  BatchJob& job = batch->job;
  if (!job.fatal.ok()) {
    Status status = job.fatal;
    revoke_all();
    core_.send_notifications(lock);
    return status;
  }
  // The cursor passes the batch, and its memory and chunks are released, before the run advances:
  // younger batches can then use them. A data error passes the batch, too.
  batches_.pop_front();
  uses_.release_all(*batch);
  if (const auto trace = core_.plan.trace().get()) trace_batch(*trace, *batch, monotonic_ns());
  cursor_ = job.step().after;
  // The batch's memory belongs to the user from here on. It is counted again when it returns to the
  // pool.
  job.drop_slots();
  Result<Delivery> delivery = take_result(*batch);
  if (delivery.ok() && plans_on_compute_thread()) {
    // Advancing the run and destroying thousands of rows would hold up the consumer.
    core_.post_act(batch);
  } else {
    core_.act(lock);
  }
  return delivery;
}

// Takes the finished batch out of the window's batch, or returns its first data error in the order
// of rows.
Result<Delivery> Window::take_result(WindowBatch& batch) {
  std::vector<RowError>& errors = batch.job.errors;
  std::stable_sort(errors.begin(), errors.end(), [](const RowError& a, const RowError& b) { return a.row < b.row; });
  const auto raised = std::find_if(errors.begin(), errors.end(), [](const RowError& error) { return error.raise; });
  if (raised != errors.end()) return raised->status;
  ++stats_.batches;
  // The rows of a packed block are planned one by one, and count as one sample.
  stats_.samples += std::ssize(batch.made->ids) - batch.made->padding;
  if (core_.plan.size() > 1) batch.job.count_samples(*batch.made, stats_.branch_samples);
  Delivery delivery;
  delivery.batch = std::move(batch.made);
  delivery.errors = std::move(errors);
  return delivery;
}

void Window::seek(const Cursor& at) {
  cursor_ = at;
  revoke_all();
}

void Window::revoke_all() {
  for (const WindowBatchPtr& batch : batches_) {
    batch->dropped = true;
    revocation_.revoke_batch(*batch);
  }
  batches_.clear();
  core_.calls.abandon_all();
  planned_ = cursor_;
  ++plans_dropped_;
  for (const auto& chunks : chunks_) {
    if (chunks) chunks->clear();
  }
}

void Window::begin_consumer_wait() {
  const int64_t now_ns = monotonic_ns();
  const Awaited what = what_is_awaited();
  waits_.begin(now_ns, what);
  consumer_trace_.begin_wait(now_ns, what);
}

int64_t Window::end_consumer_wait() {
  const int64_t now_ns = monotonic_ns();
  consumer_trace_.end_wait(now_ns);
  return waits_.end(now_ns);
}

void Window::on_state_changed() {
  if (!waits_.waiting() && !core_.plan.trace().on()) return;
  const int64_t now_ns = monotonic_ns();
  consumer_trace_.sample(now_ns, core_.memory, core_.fetcher);
  if (!waits_.waiting()) return;
  const Awaited what = what_is_awaited();
  waits_.change(now_ns, what);
  consumer_trace_.begin_wait(now_ns, what);
}

Awaited Window::what_is_awaited() {
  if (batches_.empty()) return core_.steps->request_step(planned_) ? Awaited::kPlan : Awaited::kArrival;
  WindowBatch& batch = *batches_.front();
  if (batch.call_ticket != 0) return Awaited::kUser;
  if (batch.assembling > 0 || batch.assembled || batch.complete) return Awaited::kAssembly;
  if (batch.all_done()) return Awaited::kMemory;
  const RowTask& task = batch.oldest();
  if (uses_.awaits_block(batch, task)) return chunks_[task.branch]->what_is_awaited(*batch.block_of(task));
  if (const auto* running = std::get_if<RowTask::Running>(&task.state))
    return running->begun ? Awaited::kCompute : Awaited::kThread;
  if (task.is<RowTask::Reading>()) return Awaited::kStorage;
  if (task.is<RowTask::AwaitingEntry>())
    return core_.plan.branch(task.branch).fetches ? Awaited::kStorage : Awaited::kCompute;
  if (task.is<RowTask::InUserCode>()) return Awaited::kUser;
  // A task that finds a resource missing does not record it, so the reason is derived from what is
  // missing now.
  const StoreSlots* const slots = core_.store_slots[task.branch];
  if (task.is<RowTask::Waiting>() && slots != nullptr && !core_.reads_on_compute_threads(task.branch))
    return slots->has_slot() ? Awaited::kMemory : Awaited::kSlot;
  return core_.threads_full() ? Awaited::kThread : Awaited::kMemory;
}

std::string Window::awaited() {
  const Awaited what = what_is_awaited();
  return sentence_of(what, what == Awaited::kArrival ? core_.steps->awaited() : name_of_oldest());
}

std::string Window::name_of_oldest() {
  if (batches_.empty() || batches_.front()->all_done()) return "the batch";
  WindowBatch& batch = *batches_.front();
  const RowTask& task = batch.oldest();
  if (uses_.awaits_block(batch, task)) return chunks_[task.branch]->name_of_missing(*batch.block_of(task));
  // While a task is Running, the ids of its rows belong to a compute thread.
  const int64_t id = task.is<RowTask::Running>() ? batch.job.planned(task.first_row).id
                                                 : batch.job.rows()[static_cast<size_t>(task.first_row)].id;
  return fmt::format("'{}'", core_.plan.branch(task.branch).name_of(id));
}

}  // namespace forebay
