#include <algorithm>

#include <fmt/format.h>

#include "pipeline/runner.h"

namespace forebay {

namespace {

Extras::iterator find_extra(Extras& extras, const std::string& name) {
  return std::find_if(extras.begin(), extras.end(), [&](const auto& extra) { return extra.first == name; });
}

std::optional<Value> take_extra(Extras& extras, const std::string& name) {
  const auto found = find_extra(extras, name);
  if (name.empty() || found == extras.end()) return std::nullopt;
  std::optional<Value> value = std::move(found->second);
  extras.erase(found);
  return value;
}

std::optional<Value> take_stand_in(const ForeignStage& stage, Extras& extras, const std::string& name) {
  for (const auto& [missing, other] : stage.stand_ins) {
    if (missing == name) return take_extra(extras, other);
  }
  return std::nullopt;
}

}  // namespace

/// One sample on its way through user code.
class Runner::Call final : public ForeignCall {
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

  /// Nobody waits for it any more.
  void forget() { answered_ = true; }

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
  Record inputs;
  for (size_t field : stage.inputs) {
    const Value& value = task.record[field];
    inputs.push_back({value.kind, value.tensor, value.bytes, nullptr});
  }
  Schema schema = stage.input_schema;
  if (stage.forgets_extras) task.extras.clear();
  // What user code made before and nobody has named since is part of the sample too.
  for (size_t i = 0; stage.takes_all && i < task.extras.size(); ++i) {
    const auto& [name, value] = task.extras[i];
    Field field;
    field.name = name;
    field.kind = value.kind;
    schema.push_back(std::move(field));
    inputs.push_back({value.kind, value.tensor, value.bytes, nullptr});
  }
  task.state = TaskState::kForeign;
  const auto index = static_cast<size_t>(&task - job->tasks.data());
  const SampleKey key = job->batch.key(task.begin);
  calls_[priority(*job, index)] = std::make_shared<Call>(shared_from_this(), job, index, task.ticket, stage, key,
                                                         std::move(schema), std::move(inputs));
  called_.notify_one();
}

std::shared_ptr<ForeignCall> Runner::take_call(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  called_.wait_for(lock, timeout, [&] { return closed_ || !calls_.empty(); });
  if (closed_ || calls_.empty()) return nullptr;
  std::shared_ptr<ForeignCall> call = std::move(calls_.begin()->second);
  calls_.erase(calls_.begin());
  return call;
}

// Calls that nobody has taken yet must not answer when they die: their answer would want the lock that is held here.
void Runner::forget_call(uint64_t key) {
  auto found = calls_.find(key);
  if (found == calls_.end()) return;
  found->second->forget();
  calls_.erase(found);
}

void Runner::forget_calls() {
  while (!calls_.empty()) forget_call(calls_.begin()->first);
}

void Runner::on_answer(const JobPtr& job, size_t index, uint64_t ticket, Status status, const Schema& schema,
                       Record record) {
  Lock lock(mutex_);
  Task& task = job->tasks[index];
  if (closed_ || task.ticket != ticket) return;
  if (status.ok()) status = accept_answer(task, schema, std::move(record));
  Actions actions;
  if (status.ok()) {
    ++task.stage;
    task.state = TaskState::kReady;
  } else {
    sample_failed(job, task, std::move(status), actions);
  }
  run_actions(lock, std::move(actions));
}

// What came out of user code becomes the task's record, in the order that the next operators expect.
Status Runner::accept_answer(Task& task, const Schema& schema, Record answer) const {
  const auto& stage = std::get<ForeignStage>(plan_->stages[task.stage]);
  if (!stage.merge) task.extras.clear();
  for (size_t i = 0; i < answer.size(); ++i) {
    std::erase_if(task.extras, [&](const auto& extra) { return extra.first == schema[i].name; });
    task.extras.emplace_back(schema[i].name, std::move(answer[i]));
  }
  Record record;
  for (size_t i = 0; i < stage.output_schema.size(); ++i) {
    const Field& field = stage.output_schema[i];
    if (std::optional<Value> made = take_extra(task.extras, field.name)) {
      record.push_back(std::move(*made));
    } else if (stage.merge && i < task.record.size()) {
      record.push_back(std::move(task.record[i]));
    } else if (std::optional<Value> other = take_stand_in(stage, task.extras, field.name)) {
      record.push_back(std::move(*other));
    } else if (field.optional) {
      record.emplace_back();
    } else {
      return Status(Code::kUnsupported, fmt::format("a later step needs the field '{}', but the function gave only: {}",
                                                    field.name, schema.names()));
    }
  }
  for (const auto& [name, maker] : stage.later_names) {
    if (find_extra(task.extras, name) == task.extras.end()) continue;
    return invalid_argument(fmt::format(
        "there would be two fields '{}': the function gives one, and .{} makes another; give one of them another name",
        name, maker));
  }
  std::sort(task.extras.begin(), task.extras.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  task.record = std::move(record);
  return {};
}

}  // namespace forebay
