#include <algorithm>
#include <utility>

#include "pipeline/run/window.h"

// Decides which elements move on, and in which order.

namespace forebay {

namespace {
constexpr uint64_t kAheadOrder = uint64_t{1} << 62;  // after every batch
}  // namespace

void Window::advance(Actions& actions) {
  if (core_.closed) return;
  core_.fetcher.refresh();
  extend(actions);
  mark_front_due();
  if (!has_chunks_ || (advance_oldest(actions) && advance_chunks(actions))) advance_batches(actions);
  batch_calls_.advance();
}

// Moves on everything that can be moved, oldest first. Stops at the first task that waits for
// memory, so that no younger task takes what an older one needs. A task that waits for a thread or
// request slot lets others continue that need none.
void Window::advance_batches(Actions& actions) {
  Pass pass{actions};
  for (size_t i = 0; i < batches_.size(); ++i) {
    const WindowBatchPtr batch = batches_[i];
    if (batch->is_inactive()) continue;
    const bool ahead = static_cast<int64_t>(i) >= core_.options.window_batches;
    if (ahead) {
      if (!pass.may_start || !tasks_.fetch_ahead(batch, actions)) return;
    } else if (!advance_batch(batch, pass)) {
      return;
    }
  }
}

// Storage that was unavailable when a compute thread read ahead may be available now that the batch
// is due, so a batch with such an error starts again, once. It does not start sooner, since such a
// read fails at once and repeated attempts would keep the threads busy. Errors of user code are not
// retried.
void Window::mark_front_due() {
  if (batches_.empty() || batches_.front()->due) return;
  WindowBatch& front = *batches_.front();
  // A compute thread may just be using a failed chunk. It never waits, so this waits for it.
  if (!Chunks::forget_transient_errors(front.blocks)) return;
  front.due = true;
  if (!front.complete) return;
  if (std::exchange(front.retry_when_due, false)) revocation_.revoke_batch(front);
  core_.changed.notify_all();
}

// Returns whether younger batches may move on.
bool Window::advance_batch(const WindowBatchPtr& batch, Pass& pass) {
  if (batch->all_done()) return assemble(batch, pass.actions);
  tasks_.recheck_awaited(batch, batch->oldest());
  const TaskSummary& summary = batch->summary;
  const auto end = [&] { return pass.may_start ? batch->tasks.size() : summary.started_end(); };
  for (size_t index = summary.first_unfinished(); index < end(); ++index) {
    if (core_.threads_full()) {
      // Usually all threads have enough tasks, and looking further would be in vain.
      if (!core_.has_read_slot()) return false;
      index = std::max(index, summary.first_waiting());
      if (index >= end()) break;
    }
    if (!uses_.awaits_block(*batch, batch->tasks[index]) && !advance_task(batch, index, pass)) return false;
  }
  return true;
}

// Moves a task on, and records it in the summary and the pass. Returns false if memory is lacking.
bool Window::advance_task(const WindowBatchPtr& batch, size_t index, Pass& pass) {
  RowTask& task = batch->tasks[index];
  const bool starts = pass.may_start && task.is<RowTask::Waiting>();
  const AdvanceResult result = move_task(batch, task, pass.may_start, pass.actions);
  if (starts && result == AdvanceResult::kLacksSlot && task.is<RowTask::Waiting>()) {
    pass.may_start = false;
  } else if (starts) {
    batch->summary.on_start(index);
  }
  if (result == AdvanceResult::kLacksMemory) return false;
  if (!task.is<RowTask::Waiting>()) batch->summary.pass_waiting(index);
  return true;
}

// Starts a Waiting task, and posts a task that is Runnable.
AdvanceResult Window::move_task(const WindowBatchPtr& batch, RowTask& task, bool may_start, Actions& actions) {
  AdvanceResult result = AdvanceResult::kMoved;
  if (may_start && task.is<RowTask::Waiting>()) result = tasks_.start(batch, task, actions);
  if (task.is<RowTask::Runnable>()) result = tasks_.compute(batch, task, actions);
  return result;
}

// For plans with chunks: moves the oldest task on before any chunk takes memory that it needs.
// Returns false if memory is lacking.
bool Window::advance_oldest(Actions& actions) {
  const auto at =
      std::find_if(batches_.begin(), batches_.end(), [](const WindowBatchPtr& batch) { return !batch->complete; });
  if (at == batches_.end() || at - batches_.begin() >= core_.options.window_batches || (*at)->is_inactive())
    return true;
  const WindowBatchPtr batch = *at;
  if (batch->all_done()) return assemble(batch, actions);
  RowTask& task = batch->oldest();
  return uses_.awaits_block(*batch, task) ||
         move_task(batch, task, /*may_start=*/true, actions) != AdvanceResult::kLacksMemory;
}

// Moves on the chunks that the window needs, and those of later blocks. Returns false if the oldest
// task lacks memory for its block; nothing younger may take any then.
bool Window::advance_chunks(Actions& actions) {
  for (const auto& chunks : chunks_) {
    if (chunks) chunks->close_before(planned_);
  }
  bool is_oldest_batch = true;
  for (const WindowBatchPtr& batch : batches_) {
    if (batch->is_inactive() || batch->all_done()) continue;
    uses_.retry_lookups(*batch);
    const RowTask& oldest = batch->oldest();
    const ChunkBlock* const first = batch->has_block(oldest) ? batch->block_of(oldest).get() : nullptr;
    TaskReclaimer others(reclaimer_, oldest);
    if (first != nullptr && !advance_block(*batch, *first, &others, actions)) return !is_oldest_batch;
    is_oldest_batch = false;
    for (const ChunkBlockPtr& block : batch->blocks) {
      const bool has_moved = advance_block(*batch, *block, block.get() == first ? &others : nullptr, actions);
      // Blocks of replayed samples use the memory that is left over, and do not hold up others.
      if (!has_moved && !block->replayed) return true;
    }
  }
  advance_chunks_ahead(actions);
  return true;
}

// `others` reclaims memory for the block of the batch's oldest task, and is null for other blocks.
// Returns false if memory is lacking.
bool Window::advance_block(const WindowBatch& batch, const ChunkBlock& block, MemoryReclaimer* others,
                           Actions& actions) {
  if (block.users == 0 || block.ready()) return true;
  // As many chunks of replayed samples as fit next to the batches are made at once, and always one.
  const bool ahead = block.replayed && others == nullptr;
  return chunks_[block.branch]->advance(block, {.order = batch.order(0), .ahead = ahead, .others = others}, actions);
}

// The youngest batch that has blocks of the branch. Null if there is none.
const WindowBatch* Window::last_batch_of(size_t branch) const {
  for (size_t i = batches_.size(); i-- > 0;) {
    const WindowBatch& batch = *batches_[i];
    if (std::ranges::any_of(batch.blocks, [&](const auto& block) { return block->branch == branch; })) return &batch;
  }
  return nullptr;
}

// Fetches the next blocks in the lanes of this rank, with the memory that the window leaves.
void Window::advance_chunks_ahead(Actions& actions) {
  for (size_t branch = 0; branch < chunks_.size(); ++branch) {
    const WindowBatch* const last = chunks_[branch] ? last_batch_of(branch) : nullptr;
    if (last == nullptr) continue;
    Chunks& chunks = *chunks_[branch];
    const int64_t size = core_.steps->order(branch)->size();
    const std::vector<ChunkBlockPtr> blocks = last->blocks;
    for (const ChunkBlockPtr& block : blocks) {
      if (block->branch != branch || block->users == 0 || block->replayed) continue;  // cached, or no block follows
      const int64_t next = block->range.first + block->range.step * block->range.count;
      // Blocks of a pass that will not be run are not read.
      if (next >= size && !core_.steps->has_pass(branch, block->epoch + 1)) continue;
      if (!chunks.advance(*chunks.table().block_after(*block), {.order = kAheadOrder, .ahead = true}, actions)) return;
    }
  }
}

// Assembles a batch whose rows are all done. Fields of unknown shape need memory and compute
// threads for that. Returns false if it has to wait for memory.
bool Window::assemble(const WindowBatchPtr& batch, Actions& actions) {
  BatchJob& job = batch->job;
  const Status error = job.delivery_error();
  if (!error.ok() || !job.has_unsized_fields()) {
    finish_rows(*batch, error.ok() ? job.assemble(core_.memory.batches()) : Result<Batch>(error));
    return true;
  }
  if (job.has_layout()) return start_copying(batch, actions);
  const auto compute_layout = [](BatchJob& of) {
    of.compute_layout();
    return std::optional<Result<Batch>>();
  };
  post_assembly(batch, compute_layout, actions);
  return true;
}

// Acquires the memory of the fields and posts the copying of their rows. Returns false if it has to
// wait for memory.
bool Window::start_copying(const WindowBatchPtr& batch, Actions& actions) {
  BatchJob& job = batch->job;
  BufferPool& pool = core_.memory.batches();
  const uint64_t needed = job.assembly_bytes();
  core_.memory.record_assembly_bytes(needed);
  while (!job.reserve_assembly(pool, needed)) {
    if (!reclaimer_.reclaim(*batch, nullptr, needed)) return false;
  }
  if (Status status = job.begin_assembly(pool); !status.ok()) {
    finish_rows(*batch, std::move(status));
    return true;
  }
  for (size_t piece = 0; piece < job.piece_count(); ++piece) {
    const auto copy = [piece](BatchJob& of) {
      return of.copy_piece(piece) ? std::optional(of.finish_assembly()) : std::nullopt;
    };
    post_assembly(batch, copy, actions);
  }
  return true;
}

// Posts a step of the assembly. The batch is not revoked meanwhile. The last step returns the
// finished batch.
void Window::post_assembly(const WindowBatchPtr& batch, AssemblyStep step, Actions& actions) {
  ++batch->assembling;
  const auto work = [this, batch, step = std::move(step)](WorkMemory&) {
    std::optional<Result<Batch>> made = step(batch->job);
    const AdvancingLock advancing(core_);
    core_.on_task_ended();
    --batch->assembling;
    if (made && !batch->revoking) finish_rows(*batch, std::move(*made));
    revocation_.finish_revoking(*batch);
  };
  core_.post(actions, batch->order_of_whole(), Work::kAssembly, work);
}

// Stores the assembled batch, or the error that is delivered in its place.
void Window::finish_rows(WindowBatch& batch, Result<Batch> made) {
  for (RowTask& task : batch.tasks) revocation_.drop_bytes(task);
  uses_.release_all(batch);
  if (!made.ok()) return batch_calls_.fail(batch, made.status());
  batch.made = std::move(*made);
  batch.assembled = true;
}

}  // namespace forebay
