#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/stats/store.h"
#include "pipeline/run/block_uses.h"
#include "pipeline/run/chunks.h"
#include "pipeline/run/reclaimer.h"
#include "pipeline/run/revocation.h"
#include "pipeline/run/row_tasks.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

// Parts of a run without threads. The test inspects their decisions and carries them out itself.

namespace forebay::runner_test {

/// Answers a read with the bytes of another store when the test says so.
class HeldStore final : public Store {
 public:
  explicit HeldStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  void read(const ReadRequest& request, std::stop_token, ReadDone done) override {
    held_.emplace_back(request, std::move(done));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    store_->list(request, stop, std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    store_->stat(key, stop, std::move(done));
  }
  std::string display_name(const std::string& key) const override { return store_->display_name(key); }
  StoreStats stats() const override { return store_->stats(); }
  bool reads_now() const override { return expects_hits; }
  std::optional<Result<Buffer>> read_now(const ReadRequest&) override { return on_read_now(); }

  /// Whether compute threads are to try to read from the page cache. Set it before the run is made.
  bool expects_hits = false;
  /// Answers an attempt to read from the page cache. The default: not there.
  std::function<std::optional<Result<Buffer>>()> on_read_now = [] { return std::nullopt; };
  size_t held() const { return held_.size(); }
  /// Answers the oldest read.
  void answer() {
    auto [request, done] = take();
    store_->read(request, {}, std::move(done));
  }
  void answer(Status status) { take().second(std::move(status)); }

 private:
  std::pair<ReadRequest, ReadDone> take() {
    auto first = std::move(held_.front());
    held_.pop_front();
    return first;
  }

  const std::shared_ptr<Store> store_;
  std::deque<std::pair<ReadRequest, ReadDone>> held_;
};

/// A run that never advances by itself.
class StillRun : private Advancing {
 public:
  StillRun(ExecutionPlan plan, std::shared_ptr<StepSource> steps, RunnerOptions options)
      : engine(std::make_shared<Engine>(1)), core(*engine, std::move(plan), std::move(steps), std::move(options)) {
    core.set_run(*this, alive_);
  }
  virtual ~StillRun() = default;

  const std::shared_ptr<Engine> engine;
  RunCore core;
  int advances = 0;

  /// Sends the reads that were decided on, and runs the posted tasks on this thread, one after
  /// another.
  void carry_out(Actions& actions) {
    send(actions);
    for (Actions::Post& post : std::exchange(actions.posts, {})) post.task(memory);
  }
  void send(Actions& actions) {
    for (const PendingReadPtr& read : std::exchange(actions.reads, {})) core.fetcher.send(read);
  }
  WorkMemory memory;

 private:
  void advance(Actions&) override { ++advances; }
  const std::shared_ptr<void> alive_ = std::make_shared<int>();
};

/// All parts of a run below the window.
struct Parts : StillRun {
  Parts(ExecutionPlan plan, std::shared_ptr<StepSource> steps, RunnerOptions options, int64_t rows = 1)
      : StillRun(std::move(plan), std::move(steps), std::move(options)),
        groups(groups_of(core.plan, std::vector<int64_t>(core.plan.size(), rows))), chunks(chunks_of(core, *engine)),
        uses(core, chunks, groups), revocation(core, uses), reclaimer(core, chunks, revocation, batches),
        tasks(core, uses, revocation, reclaimer, batches) {}

  /// Adds the next batch of the itinerary to the window.
  WindowBatchPtr begin() {
    StepPlan step = core.steps->step(planned_).value();
    planned_ = step.after;
    auto batch = std::make_shared<WindowBatch>(core.plan, std::move(step), groups);
    batch->sequence = sequence_++;
    uses.plan(*batch);
    batches.push_back(batch);
    return batch;
  }
  uint64_t held(Use use) const { return core.memory.snapshot().of(use); }

  WindowBatches batches;
  const std::vector<TaskGroup> groups;
  const ChunksByBranch chunks;
  const BlockUses uses;
  const Revocation revocation;
  const WindowReclaimer reclaimer;
  RowTasks tasks;

 private:
  static ChunksByBranch chunks_of(RunCore& core, Engine& engine) {
    ChunksByBranch all;
    for (size_t branch = 0; branch < core.plan.size(); ++branch) {
      const bool has_chunks = core.plan.branch(branch).chunks != nullptr;
      all.push_back(has_chunks
                        ? std::make_unique<Chunks>(core, branch, engine.chunks, [](const Chunk&) { return true; })
                        : nullptr);
    }
    return all;
  }

  Cursor planned_;
  uint64_t sequence_ = 0;
};

}  // namespace forebay::runner_test
