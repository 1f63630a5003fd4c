#include <algorithm>
#include <utility>

#include "pipeline/run/window.h"

// Who is moved on, in which order.

namespace forebay {

namespace {
constexpr uint64_t kAheadOrder = uint64_t{1} << 62;  // behind every batch
}  // namespace

// Moves everything on that can be moved, oldest first. Stops at the first task that has to wait for bytes, so that no younger
// one takes what an older one needs; one that waits for a thread or a request slot lets others go on that need none.
void Window::advance(Actions& actions) {
  if (core_.closed) return;
  core_.fetcher.refresh();
  extend(actions);
  look_at_front();
  if (chunks_ && !(advance_oldest(actions) && advance_chunks(actions))) return;
  bool may_start = true;
  for (size_t i = 0; i < batches_.size(); ++i) {
    const WindowBatchPtr batch = batches_[i];
    if (batch->rests()) continue;
    if (static_cast<int64_t>(i) >= core_.options.window_batches) {
      if (!may_start || !tasks_.fetch_ahead(batch, actions)) return;
    } else if (batch->all_done()) {
      if (!finish(batch, actions)) return;
    } else if (!advance_batch(batch, &may_start, actions)) {
      return;
    }
  }
}

// Storage that was away while a compute thread read ahead may be back now that the batch is due: it begins anew, once. Not any sooner, since such a
// read fails at once, and asking again and again would keep the threads busy. What user code could not do is not done twice.
void Window::look_at_front() {
  if (batches_.empty() || batches_.front()->due) return;
  WindowBatch& front = *batches_.front();
  // A compute thread that is finding out just now what was wrong then is waited for: it never waits itself.
  if (chunks_ && !chunks_->forget_transient_errors(front.blocks)) return;
  front.due = true;
  if (!front.complete) return;
  if (std::exchange(front.unread, false)) taking_back_.retract(front);
  core_.changed.notify_all();
}

// False where nothing younger may be moved on. `may_start`: whether tasks that wait may begin; none may once one found no slot.
bool Window::advance_batch(const WindowBatchPtr& batch, bool* may_start, Actions& actions) {
  tasks_.look_at_awaited(batch, batch->oldest());
  const auto end = [&] { return *may_start ? batch->tasks.size() : batch->untouched; };
  for (size_t index = batch->first; index < end(); ++index) {
    if (core_.threads_full()) {
      // Most of the time all threads have enough to do, and looking further would be for nothing.
      if (core_.reads_on_compute_threads() || core_.line == nullptr || !core_.line->has_slot()) return false;
      index = std::max(index, batch->waiting_from);
      if (index >= end()) break;
    }
    RowTask& task = batch->tasks[index];
    if (uses_.waits(*batch, task)) continue;
    const bool starts = *may_start && task.is<RowTask::Waiting>();
    const Step step = advance_task(batch, task, *may_start, actions);
    if (starts && step == Step::kNoSlot && task.is<RowTask::Waiting>()) {
      *may_start = false;
    } else if (starts) {
      batch->untouched = std::max(batch->untouched, index + 1);
    }
    if (step == Step::kNoBytes) return false;
    if (index == batch->waiting_from && !task.is<RowTask::Waiting>()) ++batch->waiting_from;
  }
  return true;
}

Step Window::advance_task(const WindowBatchPtr& batch, RowTask& task, bool may_start, Actions& actions) {
  Step step = Step::kMoved;
  if (may_start && task.is<RowTask::Waiting>()) step = tasks_.start(batch, task, actions);
  if (task.is<RowTask::Ready>()) step = tasks_.compute(batch, task, actions);
  return step;
}

// Where rows come from chunks: the oldest task, before any chunk takes bytes that it needs. False where bytes are lacking.
bool Window::advance_oldest(Actions& actions) {
  const auto at =
      std::find_if(batches_.begin(), batches_.end(), [](const WindowBatchPtr& batch) { return !batch->complete; });
  if (at == batches_.end() || at - batches_.begin() >= core_.options.window_batches || (*at)->rests()) return true;
  const WindowBatchPtr batch = *at;
  if (batch->all_done()) return finish(batch, actions);
  RowTask& task = batch->oldest();
  return uses_.waits(*batch, task) || advance_task(batch, task, /*may_start=*/true, actions) != Step::kNoBytes;
}

// False where the oldest task lacks bytes for its block: then nothing younger may take any.
bool Window::advance_chunks(Actions& actions) {
  chunks_->close_before(planned_);
  bool oldest = true;
  for (const WindowBatchPtr& batch : batches_) {
    if (batch->rests() || batch->all_done()) continue;
    uses_.look_again(*batch);
    RoomForBatch room(room_, *batch);
    const ChunkBlock* first = batch->block_of(batch->oldest()).get();
    const auto moves = [&](const ChunkBlock& block) {
      const bool is_first = &block == first;
      // Of old samples as many row groups at once as there is room for beside the batches, and one always.
      const Chunks::Asker asker{
          .order = batch->order(0), .ahead = block.old && !is_first, .others = is_first ? &room : nullptr};
      return block.users == 0 || block.ready() || chunks_->move_on(block, asker, actions);
    };
    if (!moves(*first)) return !oldest;
    oldest = false;
    for (const ChunkBlockPtr& block : batch->blocks) {
      // Those of old samples take what is left over, and hold up no others.
      if (!moves(*block) && !block->old) return true;
    }
  }
  advance_chunks_ahead(actions);
  return true;
}

// The blocks that come next in the lanes of this rank, with what the batches of the window leave.
void Window::advance_chunks_ahead(Actions& actions) {
  if (batches_.empty()) return;
  const std::vector<ChunkBlockPtr> blocks = batches_.back()->blocks;
  for (const ChunkBlockPtr& block : blocks) {
    if (block->users == 0 || block->old) continue;  // all of its rows were in the cache; nothing follows
    const int64_t next = block->range.first + block->range.step * block->range.count;
    // The blocks of an epoch that will not come are not read.
    if (next >= core_.steps->order()->size() && core_.steps->finished({block->epoch + 1, 0, 0})) continue;
    if (!chunks_->move_on(*chunks_->table().block_after(*block), {.order = kAheadOrder, .ahead = true}, actions))
      return;
  }
}

// All rows are there: the batch is put together. Fields of unknown shape need memory and compute threads for that. False when it has
// to wait for bytes.
bool Window::finish(const WindowBatchPtr& batch, Actions& actions) {
  BatchJob& job = batch->job;
  const Status spoiled = job.spoiled();
  if (!spoiled.ok() || !job.keeps_values()) {
    take(*batch, spoiled.ok() ? job.assemble(core_.memory.batches()) : Result<Batch>(spoiled));
    return true;
  }
  if (job.reckoned()) return put_together(batch, actions);
  const auto reckon = [](BatchJob& of) {
    of.reckon();
    return std::optional<Batch>();
  };
  post_assembly(batch, reckon, actions);
  return true;
}

bool Window::put_together(const WindowBatchPtr& batch, Actions& actions) {
  BatchJob& job = batch->job;
  BufferPool& pool = core_.memory.batches();
  const uint64_t needed = job.assembly_bytes();
  core_.memory.note_last_step(needed);
  while (!job.reserve_assembly(pool, needed)) {
    if (!room_.make(*batch, nullptr, needed)) return false;
  }
  if (Status status = job.begin_assembly(pool); !status.ok()) {
    take(*batch, std::move(status));
    return true;
  }
  for (size_t piece = 0; piece < job.pieces(); ++piece) {
    const auto copy = [piece](BatchJob& of) {
      return of.copy_piece(piece) ? std::optional(of.finish_assembly()) : std::nullopt;
    };
    post_assembly(batch, copy, actions);
  }
  return true;
}

// The batch is not taken back meanwhile. Whoever does its last step has made it.
void Window::post_assembly(const WindowBatchPtr& batch, AssemblyStep step, Actions& actions) {
  ++batch->assembling;
  const auto work = [this, batch, step = std::move(step)](WorkMemory&) {
    std::optional<Batch> made = step(batch->job);
    const Turn turn(core_);
    core_.ended();
    --batch->assembling;
    if (made && !batch->retracting) take(*batch, std::move(*made));
    taking_back_.settle(*batch);
  };
  // Behind its own rows, and before those of younger batches.
  core_.post(actions, batch->order(batch->tasks.size()), Work::kAssembly, work);
}

void Window::take(WindowBatch& batch, Result<Batch> made) {
  if (made.ok()) {
    batch.made = std::move(*made);
  } else if (made.status().code() == Code::kOutOfBudget) {
    batch.job.fatal = made.status();  // says nothing of the data: the batch can be asked for again
  } else if (batch.job.spoiled().ok()) {
    batch.job.errors.push_back({0, batch.job.rows().front().id, made.status(), /*raise=*/true});
  }
  for (RowTask& task : batch.tasks) taking_back_.drop_bytes(task);
  uses_.leave_all(batch);
  batch.complete = true;
  if (is_front(batches_, batch)) core_.changed.notify_all();
}

}  // namespace forebay
