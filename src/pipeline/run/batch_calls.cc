#include "pipeline/run/batch_calls.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "pipeline/run/row_answers.h"
#include "pipeline/run/run_trace.h"

namespace forebay {

/// The call of a function for a batch.
class BatchCalls::Call final : public BatchCall {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  BatchCalls& calls_;

 public:
  Call(BatchCalls& calls, WindowBatchPtr of, uint64_t number, const BatchStage& stage)
      : alive_(calls.core_.alive()), calls_(calls), batch_(std::move(of)), ticket(number), stage_(stage),
        input_(*batch_->made), key_{stage.seed, input_.epoch, batch_->job.first_position(), 0},
        queued_ns_(monotonic_ns()) {
    const std::vector<RowJob>& rows = batch_->job.rows();
    const auto first = std::ranges::find(rows, false, &RowJob::skipped);
    if (first != rows.end()) {
      sample_ = first->id;
      sample_name_ = batch_->job.name_of(first - rows.begin());
    }
    if (stage.input == BatchInput::kFields) return;
    samples_ = batch_->job.take_samples(input_);
    input_.fields.clear();
  }

  ~Call() override {
    if (!answered_) answer(internal_error("a call of user code was dropped without an answer"), {});
  }

 private:
  const WindowBatchPtr batch_;
  const uint64_t ticket;

 public:
  size_t step() const override { return stage_.number; }
  const SampleKey& key() const override { return key_; }
  uint32_t random_index() const override { return stage_.random_index; }
  int64_t sample() const override { return sample_; }
  std::string sample_name() const override { return sample_name_; }
  const Batch& batch() const override { return input_; }
  const std::vector<NamedValues>* samples() const override {
    return stage_.input == BatchInput::kSamples ? &samples_ : nullptr;
  }
  void finish(std::vector<BatchField> fields, int64_t rows) override {
    answer({}, [&](WindowBatch& to) { calls_.accept_fields(to, std::move(fields), rows); });
  }
  void finish(std::shared_ptr<void> object) override {
    answer({}, [&](WindowBatch& to) {
      to.made->fields.clear();
      to.made->object = std::move(object);
    });
  }
  void fail(Status status) override { answer(std::move(status), {}); }
  void abandon() override { answered_ = true; }

 private:
  void answer(Status status, const std::function<void(WindowBatch&)>& accept) {
    if (std::exchange(answered_, true)) return;
    stage_.counters->samples.fetch_add(std::ssize(input_.ids), std::memory_order_relaxed);
    const int64_t now_ns = monotonic_ns();
    stage_.counters->waiting_ns.fetch_add(now_ns - queued_ns_, std::memory_order_relaxed);
    if (const auto trace = calls_.core_.plan.trace().get())
      trace_user_call(*trace, stage_.name, batch_->order_of_whole(), queued_ns_, now_ns);
    if (!status.ok()) status = std::move(status).with_operator(stage_.name).with_sample(sample_).with_key(sample_name_);
    calls_.on_answer(batch_, ticket, std::move(status), accept);
    // A thread of user code may hold the call until its next one.
    input_.fields.clear();
    samples_.clear();
  }

  const BatchStage& stage_;
  Batch input_;
  const SampleKey key_;
  const int64_t queued_ns_;
  int64_t sample_ = -1;
  std::string sample_name_;
  std::vector<NamedValues> samples_;
  bool answered_ = false;
};

/// The calls of a function for the rows of a batch.
struct BatchCalls::RowCalls {
  const WindowBatchPtr batch;
  const uint64_t ticket;
  const BatchStage& stage;
  RowAnswers answers;

  SampleName name_of(size_t row) const { return {batch->job.key_of_block(row).id, batch->job.name_of_block(row)}; }
};

/// The call of a function for one row.
class BatchCalls::RowCall final : public SampleCall {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  BatchCalls& calls_;

 public:
  RowCall(BatchCalls& calls, std::shared_ptr<RowCalls> all, size_t row, NamedValues sample)
      : alive_(calls.core_.alive()), calls_(calls), all_(std::move(all)), row_(row),
        key_(all_->batch->job.key_of_block(row)), queued_ns_(monotonic_ns()) {
    const std::vector<std::string>& wanted = all_->stage.fields;
    for (auto& [name, value] : sample) {
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      Field field;
      field.name = std::move(name);
      field.kind = value.kind;
      field.dtype = value.tensor.dtype;
      field.shape = value.tensor.shape;
      schema_.push_back(std::move(field));
      record_.push_back(std::move(value));
    }
  }

  ~RowCall() override {
    if (!answered_) fail(internal_error("a call of user code was dropped without an answer"));
  }

  size_t step() const override { return all_->stage.number; }
  const SampleKey& key() const override { return key_; }
  uint32_t random_index() const override { return all_->stage.random_index; }
  int64_t sample() const override { return key_.id; }
  std::string sample_name() const override { return all_->name_of(row_).key; }
  const Schema& schema() const override { return schema_; }
  const Record& record() const override { return record_; }
  void finish(Schema schema, Record record) override {
    if (!take_answer() || !all_->answers.store(row_, schema, std::move(record))) return;
    Result<std::vector<BatchField>> made = all_->answers.fields([this](size_t row) { return all_->name_of(row); });
    Status status = made.ok() ? Status() : made.status().with_operator(all_->stage.name);
    calls_.on_answer(all_->batch, all_->ticket, std::move(status),
                     [&](WindowBatch& to) { calls_.accept_fields(to, std::move(*made), std::ssize(to.made->ids)); });
  }
  void fail(Status status) override {
    if (!take_answer()) return;
    const SampleName row = all_->name_of(row_);
    status = std::move(status).with_operator(all_->stage.name).with_sample(row.id).with_key(row.key);
    calls_.on_answer(all_->batch, all_->ticket, std::move(status), {});
  }
  void abandon() override { answered_ = true; }

 private:
  // Counts the answer. Returns false if there was one already.
  bool take_answer() {
    if (std::exchange(answered_, true)) return false;
    const BatchStage& stage = all_->stage;
    const int64_t now_ns = monotonic_ns();
    stage.counters->samples.fetch_add(1, std::memory_order_relaxed);
    stage.counters->waiting_ns.fetch_add(now_ns - queued_ns_, std::memory_order_relaxed);
    if (const auto trace = calls_.core_.plan.trace().get())
      trace_user_call(*trace, stage.name, all_->batch->order_of_row(row_), queued_ns_, now_ns);
    return true;
  }

  const std::shared_ptr<RowCalls> all_;
  const size_t row_;
  const SampleKey key_;
  const int64_t queued_ns_;
  Schema schema_;
  Record record_;
  bool answered_ = false;
};

BatchCalls::BatchCalls(RunCore& core, const WindowBatches& batches)
    : core_(core), batches_(batches), forms_(core.plan, core.steps->batch_size(), core.options.ragged) {}

void BatchCalls::advance() {
  for (const WindowBatchPtr& batch : batches_) {
    if (batch->complete || batch->call_ticket != 0) continue;
    if (!batch->assembled || batch->revoking) return;
    if (Status status = forms_.unify(*batch->made); !status.ok()) {
      fail(*batch, std::move(status));
      continue;
    }
    // Results of user code are charged when they arrive, even beyond the budget. If the memory is
    // full, only the oldest batch may therefore call it.
    if (!core_.plan.batch_stages().empty() && core_.memory.full() && !is_front(batches_, *batch)) return;
    call_next(batch);
  }
}

void BatchCalls::call_next(const WindowBatchPtr& batch) {
  const std::vector<BatchStage>& stages = core_.plan.batch_stages();
  if (batch->next_function == stages.size()) return complete(*batch);
  const BatchStage& stage = stages[batch->next_function];
  batch->call_ticket = ++last_ticket_;
  if (stage.input == BatchInput::kRows) return call_rows(batch, stage);
  core_.calls.put(batch->order_of_whole(), std::make_shared<Call>(*this, batch, last_ticket_, stage));
}

// A step of a rank has at least one block, so at least one call answers.
void BatchCalls::call_rows(const WindowBatchPtr& batch, const BatchStage& stage) {
  std::vector<NamedValues> rows = batch->job.take_samples(*batch->made);
  std::vector<BatchField> kept = stage.fields.empty() ? std::vector<BatchField>() : batch->made->fields;
  const std::shared_ptr<RowCalls> all(
      new RowCalls{batch, last_ticket_, stage, RowAnswers(rows.size(), std::move(kept))});
  for (size_t row = 0; row < rows.size(); ++row)
    core_.calls.put(batch->order_of_row(row), std::make_shared<RowCall>(*this, all, row, std::move(rows[row])));
}

void BatchCalls::on_answer(const WindowBatchPtr& of, uint64_t ticket, Status status,
                           const std::function<void(WindowBatch&)>& accept) {
  const AdvancingLock advancing(core_);
  WindowBatch& batch = *of;
  // A batch that was revoked and called the function again has another ticket. So has one of which
  // a row failed.
  if (core_.closed || batch.call_ticket != ticket) return;
  batch.call_ticket = 0;
  if (!status.ok()) return fail(batch, std::move(status));
  accept(batch);
  ++batch.next_function;
  call_next(of);
}

void BatchCalls::accept_fields(WindowBatch& batch, std::vector<BatchField> fields, int64_t rows) const {
  uint64_t bytes = 0;
  for (const BatchField& field : fields)
    bytes += field.values.nbytes() + field.offsets.nbytes() + field.string_offsets.nbytes();
  Batch& made = *batch.made;
  made.fields = std::move(fields);
  if (rows != std::ssize(made.ids)) made.made_rows = rows;
  batch.job.replace_claim(core_.memory.existing(Use::kBatches, bytes));
}

void BatchCalls::fail(WindowBatch& batch, Status status) const {
  BatchJob& job = batch.job;
  const bool repeatable = status.code() == Code::kOutOfBudget || status.code() == Code::kUnavailable;
  if (repeatable && job.fatal.ok()) {
    job.fatal = std::move(status);
  } else if (job.delivery_error().ok()) {
    const int64_t id = job.rows().empty() ? -1 : job.rows().front().id;
    job.errors.push_back({0, id, std::move(status), /*raise=*/true});
  }
  complete(batch);
}

void BatchCalls::complete(WindowBatch& batch) const {
  batch.complete = true;
  if (is_front(batches_, batch)) core_.changed.notify_all();
}

}  // namespace forebay
