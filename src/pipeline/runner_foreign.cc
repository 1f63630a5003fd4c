#include "pipeline/runner.h"

namespace forebay {

/// One sample on its way through user code.
class Runner::Call final : public PendingCall {
 public:
  Call(std::shared_ptr<Runner> runner, JobPtr job, size_t task, uint64_t ticket, const ForeignStage& stage,
       SampleKey key, Schema schema, Record record)
      : runner_(std::move(runner)), job_(std::move(job)), task_(task), ticket_(ticket), stage_(stage), key_(key),
        schema_(std::move(schema)), record_(std::move(record)), queued_ns_(monotonic_ns()) {}

  ~Call() override {
    if (!answered_) answer(internal_error("a call of user code was dropped without an answer"), {}, {});
  }

  size_t step() const override { return stage_.step; }
  const SampleKey& key() const override { return key_; }
  uint32_t random_index() const override { return stage_.random_index; }
  std::string sample_name() const override { return runner_->plan_->source->key(key_.id); }
  const Schema& schema() const override { return schema_; }
  const Record& record() const override { return record_; }
  void finish(Schema schema, Record record) override { answer({}, schema, std::move(record)); }
  void fail(Status status) override { answer(std::move(status), {}, {}); }

  void forget() override { answered_ = true; }

 private:
  void answer(Status status, const Schema& schema, Record record) {
    if (answered_) return;
    answered_ = true;
    stage_.counters->samples.fetch_add(1, std::memory_order_relaxed);
    stage_.counters->waiting_ns.fetch_add(monotonic_ns() - queued_ns_, std::memory_order_relaxed);
    if (!status.ok()) status = std::move(status).with_operator(stage_.name);
    runner_->on_answer(job_, task_, ticket_, std::move(status), schema, std::move(record));
  }

  const std::shared_ptr<Runner> runner_;
  const JobPtr job_;
  const size_t task_;
  const uint64_t ticket_;
  const ForeignStage& stage_;
  const SampleKey key_;
  const Schema schema_;
  const Record record_;
  const int64_t queued_ns_;
  bool answered_ = false;
};

void Runner::queue_call(const JobPtr& job, Task& task) {
  const auto& stage = std::get<ForeignStage>(plan_->stages[task.stage]);
  ForeignInput input = foreign_input(stage, task);
  task.state = TaskState::kForeign;
  const auto index = static_cast<size_t>(&task - job->tasks.data());
  calls_.put(priority(*job, index),
             std::make_shared<Call>(shared_from_this(), job, index, task.ticket, stage, job->batch.key(task.begin),
                                    std::move(input.schema), std::move(input.record)));
}

void Runner::on_answer(const JobPtr& job, size_t index, uint64_t ticket, Status status, const Schema& schema,
                       Record record) {
  Lock lock(mutex_);
  Task& task = job->tasks[index];
  if (closed_ || task.ticket != ticket) return;
  if (status.ok()) {
    const auto& stage = std::get<ForeignStage>(plan_->stages[task.stage]);
    status = accept_answer(stage, schema, std::move(record), task);
  }
  Actions actions;
  if (status.ok()) {
    ++task.stage;
    task.state = TaskState::kReady;
  } else {
    sample_failed(job, task, std::move(status), actions);
  }
  run_actions(lock, std::move(actions));
}

}  // namespace forebay
