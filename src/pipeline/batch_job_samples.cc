#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "forebay/string_list.h"
#include "pipeline/batch_job.h"
#include "pipeline/field_rows.h"

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

Value strings_of(const BatchField& field, int64_t row) {
  std::vector<std::string_view> strings;
  for (int64_t i = field.offsets.data<int64_t>()[row]; i < field.offsets.data<int64_t>()[row + 1]; ++i) {
    const std::span<const uint8_t> string = field.string(i);
    strings.emplace_back(reinterpret_cast<const char*>(string.data()), string.size());
  }
  const bool text = field.kind == BatchField::Kind::kTextList;
  // The strings come from such a run, so they fit into one.
  return Value::of_list(text ? FieldKind::kTextList : FieldKind::kBytesList, StringList::pack(strings)->buffer);
}

// A row of a field. Its values share the memory of the batch.
Value row_of(const BatchField& field, int64_t row, int64_t rows) {
  if (field.string_list()) return strings_of(field, row);
  Tensor part{field.values.dtype, without_first(field.values.shape), {}};
  const bool whole = field.kind == BatchField::Kind::kDense;
  const int64_t items = field.values.shape[0];
  const int64_t begin = whole ? row : field.offsets.data<int64_t>()[row];
  const int64_t end = whole ? row + 1 : field.offsets.data<int64_t>()[row + 1];
  const size_t item = items == 0 ? 0 : field.values.nbytes() / static_cast<size_t>(whole ? rows : items);
  part.buffer = field.values.buffer.slice(static_cast<size_t>(begin) * item, static_cast<size_t>(end - begin) * item);
  if (field.kind == BatchField::Kind::kText) return Value::of_text(std::move(part.buffer));
  if (field.kind == BatchField::Kind::kBytes) return Value::of_bytes(std::move(part.buffer));
  if (!whole) part.shape = with_first(end - begin, part.shape);
  return Value::of(std::move(part));
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

// Blocks of packed sequences are fields.
std::vector<NamedValues> BatchJob::take_samples(const Batch& made) {
  if (!plan_.first().stacks_rows) return std::exchange(samples_, {});
  std::vector<NamedValues> samples(made.ids.size());
  for (size_t row = 0; row < samples.size(); ++row) {
    for (const BatchField& field : made.fields)
      samples[row].emplace_back(field.name, row_of(field, static_cast<int64_t>(row), std::ssize(samples)));
  }
  return samples;
}

}  // namespace forebay
