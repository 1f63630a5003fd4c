#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "format/joined/part_of_source.h"
#include "pipeline/run/row_tasks.h"
#include "pipeline/run/run_trace.h"

namespace forebay {

/// The call of user code for a task's sample.
class RowTasks::Call final : public SampleCall {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  RowTasks& tasks_;

 public:
  Call(RowTasks& tasks, WindowBatchPtr of, size_t task, uint64_t number, const ForeignStage& stage, ForeignInput input)
      : alive_(tasks.core_.alive()), tasks_(tasks), batch(std::move(of)), index(task), ticket(number), stage_(stage),
        key_(batch->job.key(batch->tasks[task].first_row, batch->tasks[task].stage)), input_(std::move(input)),
        queued_ns_(monotonic_ns()) {}

  ~Call() override {
    if (!answered_) answer(internal_error("a call of user code was dropped without an answer"), {}, {});
  }

  const WindowBatchPtr batch;
  const size_t index;
  const uint64_t ticket;

  size_t step() const override { return stage_.number; }
  const SampleKey& key() const override { return key_; }
  uint32_t random_index() const override { return stage_.random_index; }
  int64_t sample() const override { return key_.id; }
  int64_t item() const override {
    return row_in_part(*tasks_.plan_of(batch->tasks[index]).source, stage_.part, key_.id);
  }
  std::string sample_name() const override { return tasks_.plan_of(batch->tasks[index]).name_of(key_.id); }
  const Schema& schema() const override { return input_.schema; }
  const Record& record() const override { return input_.record; }
  void finish(Schema schema, Record record) override { answer({}, schema, std::move(record)); }
  void fail(Status status) override { answer(std::move(status), {}, {}); }
  void abandon() override { answered_ = true; }

 private:
  void answer(Status status, const Schema& schema, Record record) {
    if (std::exchange(answered_, true)) return;
    stage_.counters->samples.fetch_add(1, std::memory_order_relaxed);
    const int64_t now_ns = monotonic_ns();
    stage_.counters->waiting_ns.fetch_add(now_ns - queued_ns_, std::memory_order_relaxed);
    if (const auto trace = tasks_.core_.plan.trace().get())
      trace_user_call(*trace, stage_.name, batch->order(index), queued_ns_, now_ns);
    if (!status.ok()) status = std::move(status).with_operator(stage_.name);
    tasks_.on_answer(*this, std::move(status), schema, std::move(record));
  }

  const ForeignStage& stage_;
  const SampleKey key_;
  const ForeignInput input_;
  const int64_t queued_ns_;
  bool answered_ = false;
};

}  // namespace forebay
