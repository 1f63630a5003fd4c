#include <algorithm>
#include <cstring>
#include <utility>

#include "pipeline/batch_job.h"

// Batches whose rows stay samples of their own, for user code that makes the batch of them.

namespace forebay {

namespace {

Buffer copy_bytes(const Buffer& shared) {
  Buffer buffer = Buffer::allocate(shared.size());
  if (!shared.empty()) std::memcpy(buffer.data(), shared.data(), shared.size());
  return buffer;
}

// The memory of a value may belong to a chunk or to the data set, and user code may write to it.
Value own_copy(const Value& value) {
  Value copy{value.kind, value.tensor, {}, nullptr};
  if (value.kind == FieldKind::kTensor) {
    copy.tensor.buffer = copy_bytes(value.tensor.buffer.slice(0, value.tensor.nbytes()));
  } else {
    copy.bytes = copy_bytes(value.bytes);
  }
  return copy;
}

// The rows of a field of one shape share its memory.
void add_rows_of(const BatchField& field, std::vector<NamedValues>& samples) {
  Tensor row;
  row.dtype = field.values.dtype;
  for (size_t axis = 1; axis < field.values.shape.rank(); ++axis) row.shape.push_back(field.values.shape[axis]);
  const size_t bytes = samples.empty() ? 0 : field.values.nbytes() / samples.size();
  for (size_t i = 0; i < samples.size(); ++i) {
    row.buffer = field.values.buffer.slice(i * bytes, bytes);
    samples[i].emplace_back(field.name, Value::of(row));
  }
}

}  // namespace

// The values are stored already. They are copied once more, so that a sample owns its memory.
void BatchJob::plan_samples(BatchAssembly& assembly) const {
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].skipped) assembly.add_bytes(values_.bytes(static_cast<int64_t>(row)));
  }
}

NamedValues BatchJob::copy_sample(int64_t row) const {
  NamedValues sample;
  for (const size_t output : values_.outputs()) {
    const Value& value = values_.values(output)[static_cast<size_t>(row)];
    if (value.kind != FieldKind::kAny) sample.emplace_back(outputs_[output].field.name, own_copy(value));
  }
  if (const std::string& mark = plan_.first().rehearsed_field; !mark.empty()) {
    Tensor replayed = Tensor::allocate(DType::kBool, {});
    *replayed.buffer.data() = step_.is_replayed(row) ? 1 : 0;
    sample.emplace_back(mark, Value::of(std::move(replayed)));
  }
  if (values_.extras().empty()) return sample;
  for (const auto& [name, value] : values_.extras()[static_cast<size_t>(row)])
    sample.emplace_back(name, own_copy(value));
  return sample;
}

void BatchJob::copy_samples() {
  samples_.clear();
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].skipped) samples_.push_back(copy_sample(static_cast<int64_t>(row)));
  }
}

// Blocks of packed sequences are fields, which are of one shape.
std::vector<NamedValues> BatchJob::take_samples(const Batch& made) {
  if (!plan_.first().stacks_rows) return std::exchange(samples_, {});
  std::vector<NamedValues> samples(made.ids.size());
  for (const BatchField& field : made.fields) add_rows_of(field, samples);
  return samples;
}

}  // namespace forebay
