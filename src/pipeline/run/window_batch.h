#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/fetcher.h"
#include "pipeline/batch_job.h"
#include "pipeline/chunk_table.h"
#include "pipeline/row_work.h"
#include "runtime/claim.h"

namespace forebay {

/// Some rows of a batch on their way, usually one. Guarded by the run's lock; while it is Running, the rows and what is at hand of
/// them belong to a compute thread.
struct RowTask : RowInput {
  struct Waiting {};  ///< nothing is held
  /// The same; another task, of this loader or another one, makes the entry of the cache that is wanted.
  struct Awaiting {
    uint64_t ticket;  ///< who is told with another one is told of an earlier wait
  };
  struct Fetching {
    const Flight* flight;  ///< the read whose answer is wanted
  };
  /// Can be computed once bytes allow.
  struct Ready {
    uint64_t needs = 0;  ///< working memory beyond the thread's own that it asked for
    Claim grant = {};    ///< of that
  };
  /// Posted to the executor, or at work there.
  struct Running {
    Claim grant;
    bool begun = false;  ///< at work
  };
  struct WithUser {
    uint64_t ticket;  ///< a call that comes back with another one is stale
  };
  struct Done {};
  std::variant<Waiting, Awaiting, Fetching, Ready, Running, WithUser, Done> at;

  Claim claim;  ///< of what was fetched, and of values that wait for the batch
  // Where rows come from chunks:
  size_t block = 0;     ///< in WindowBatch::blocks
  ChunkBlockPtr wider;  ///< in its place, where replacements come from elsewhere
  bool uses = false;    ///< counted in ChunkBlock::users
  bool pins = false;    ///< and in Chunk::pins
  bool looks = false;   ///< and in Chunk::lookers
  Buffer copied;        ///< lists that were taken out of their chunks, because the batch outlasts these

  template <class State>
  bool is() const {
    return std::holds_alternative<State>(at);
  }
  uint64_t needs() const {
    const auto* ready = std::get_if<Ready>(&at);
    return ready != nullptr ? ready->needs : 0;
  }
  uint64_t held_bytes() const {
    const auto* fetching = std::get_if<Fetching>(&at);
    return claim.bytes() + (fetching != nullptr ? fetching->flight->claimed_bytes() : 0);
  }
};

/// A batch of the window, or behind it: its memory and its rows, divided into tasks. Guarded by the run's lock.
struct WindowBatch {
  /// In tasks of `rows_per_task` rows.
  WindowBatch(const ExecutionPlan& plan, const Itinerary& itinerary, StepPlan step, int64_t rows_per_task);

  BatchJob job;
  uint64_t sequence = 0;
  int64_t begun_ns = 0;
  std::vector<RowTask> tasks;
  std::vector<ChunkBlockPtr> blocks;  ///< that its rows stand in, oldest first in each lane
  /// What the tasks' rows are numbers in; empty: rows stand block by block already.
  std::vector<uint32_t> rows_by_block;
  bool straddles = false;   ///< several blocks of one lane: the older one is let go of before the batch is done
  size_t done = 0;          ///< tasks
  size_t first = 0;         ///< those before it are done
  size_t waiting_from = 0;  ///< none before this one is Waiting
  size_t untouched = 0;     ///< this one and those behind it are Waiting
  size_t running = 0;       ///< tasks that a compute thread may touch
  bool retracting = false;  ///< gives everything back as soon as no compute thread is in it
  bool dropped = false;     ///< not in the window any more
  bool unread = false;      ///< its error is that storage was away when a compute thread asked for bytes
  std::optional<uint64_t> looked_again_at = {};  ///< RowWork::arrivals() when its old samples were last looked up
  bool due = false;       ///< it is the one that is delivered next, and has been looked at as that
  int assembling = 0;     ///< tasks that put it together
  bool complete = false;  ///< `made`, or an error stands in its place
  std::optional<Batch> made;

  int64_t size() const { return static_cast<int64_t>(job.rows().size()); }
  /// Nothing can be done for it now.
  bool rests() const { return retracting || complete || assembling > 0; }
  bool all_done() const { return done == tasks.size(); }
  /// The oldest task that is not done; only where there is one.
  RowTask& oldest();
  size_t index_of(const RowTask& task) const { return static_cast<size_t>(&task - tasks.data()); }
  /// Of a task, among all tasks of the run: the smallest goes first.
  uint64_t order(size_t task) const { return sequence << 24 | task; }
  const ChunkBlockPtr& block_of(const RowTask& task) const { return task.wider ? task.wider : blocks[task.block]; }
  /// Its block is let go of before the batch is done, so that of old samples' row groups one at a time is enough.
  bool leaves_early(const RowTask& task) const { return straddles || (!blocks.empty() && block_of(task)->old); }
  RowPlacement placement(const RowTask& task) const {
    return {blocks.empty() ? nullptr : block_of(task).get(), rows_by_block, leaves_early(task)};
  }
};
using WindowBatchPtr = std::shared_ptr<WindowBatch>;

/// The batches that are begun, in the order in which they are delivered.
using WindowBatches = std::deque<WindowBatchPtr>;
bool is_front(const WindowBatches& batches, const WindowBatch& batch);
/// Whether that task of the batch is the oldest of all that are not done; null: its last step, when all tasks are.
bool is_oldest(const WindowBatches& batches, const WindowBatch& batch, const RowTask* task);

}  // namespace forebay
