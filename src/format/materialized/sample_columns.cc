#include "format/materialized/sample_columns.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "format/materialized/sample_shard.h"

namespace forebay {

namespace {

Field plain_field(std::string name, DType dtype, Shape shape = {}) {
  Field field;
  field.name = std::move(name), field.dtype = dtype, field.shape = shape;
  return field;
}

Status check_value(const Field& field, const Value& value) {
  const auto wrong = [&](const std::string& what) {
    return invalid_argument(fmt::format("the field '{}' is {} here, and {} in the others", field.name, what,
                                        field.kind == FieldKind::kTensor ? field.to_string() : field.type_word()));
  };
  if (value.kind != field.kind) return wrong("something else");
  if (field.kind != FieldKind::kTensor) return {};
  const Tensor& tensor = value.tensor;
  bool fits = tensor.dtype == field.dtype && tensor.shape.rank() == field.shape.rank();
  for (size_t i = 0; fits && i < field.shape.rank(); ++i)
    fits = tensor.shape[i] <= INT32_MAX && (field.shape[i] == Shape::kUnknown || field.shape[i] == tensor.shape[i]);
  return fits ? Status() : wrong(fmt::format("{} {}", dtype_name(tensor.dtype), tensor.shape.to_string()));
}

Status check_names(std::span<const StoredField> fields) {
  std::set<std::string> names{"id", kRangeBegin, kRangeBytes, kRangeHash};
  const auto taken = [&](const std::string& name) {
    return invalid_argument(
        fmt::format("a column '{}' is written beside the fields, and one of them is called so; "
                    "give it another name with .rename()",
                    name));
  };
  for (const StoredField& stored : fields) {
    if (!names.insert(stored.field.name).second) return taken(stored.field.name);
    if (stored.in_index) continue;
    for (const std::string& name : {shape_column(stored.field), begin_column(stored.field), bytes_column(stored.field)})
      if (!names.insert(name).second) return taken(name);
  }
  return {};
}

/// The values of one field of some samples, end to end.
class ColumnOf {
 public:
  ColumnOf(std::span<const Record> samples, size_t field) : samples_(samples), field_(field) {}

  Result<Buffer> values(const BufferAllocator& memory) const {
    size_t bytes = 0;
    for (const Record& sample : samples_) bytes += bytes_of(sample[field_]).size();
    if (end_to_end()) return Buffer(buffer_of(samples_.front()).data(), bytes, buffer_of(samples_.front()).owner());
    FOREBAY_ASSIGN(Buffer all, allocate_buffer(memory, bytes));
    uint8_t* out = all.data();
    for (const Record& sample : samples_) {
      const std::span<const uint8_t> from = bytes_of(sample[field_]);
      if (!from.empty()) std::memcpy(out, from.data(), from.size());
      out += from.size();
    }
    return all;
  }
  Buffer offsets(size_t element_bytes) const {
    Buffer all = Buffer::allocate((samples_.size() + 1) * sizeof(int64_t));
    auto* out = reinterpret_cast<int64_t*>(all.data());
    out[0] = 0;
    for (size_t i = 0; i < samples_.size(); ++i)
      out[i + 1] = out[i] + static_cast<int64_t>(bytes_of(samples_[i][field_]).size() / element_bytes);
    return all;
  }

 private:
  Buffer buffer_of(const Record& sample) const {
    const Value& value = sample[field_];
    return value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  }
  // True if the values are contiguous in one allocation, so that nothing needs to be copied.
  bool end_to_end() const {
    // Without an owner nothing keeps the memory alive as long as the column.
    if (samples_.empty() || buffer_of(samples_.front()).owner() == nullptr) return false;
    const uint8_t* next = bytes_of(samples_.front()[field_]).data();
    for (const Record& sample : samples_) {
      const std::span<const uint8_t> bytes = bytes_of(sample[field_]);
      if (bytes.data() != next || buffer_of(sample).owner() != buffer_of(samples_.front()).owner()) return false;
      next += bytes.size();
    }
    return true;
  }

  std::span<const Record> samples_;
  size_t field_;
};

void add_numbers(Columns& columns, Field field, Buffer values) {
  columns.schema.push_back(std::move(field));
  columns.values.push_back({std::move(values), {}});
}

template <typename T>
void add_made(Columns& columns, std::string name, DType dtype, const std::function<T(size_t)>& of_row) {
  const auto rows = static_cast<size_t>(columns.rows);
  Buffer values = Buffer::allocate(rows * sizeof(T));
  for (size_t row = 0; row < rows; ++row) reinterpret_cast<T*>(values.data())[row] = of_row(row);
  add_numbers(columns, plain_field(std::move(name), dtype), std::move(values));
}

}  // namespace

std::span<const uint8_t> bytes_of(const Value& value) {
  return value.kind == FieldKind::kTensor ? std::span(value.tensor.buffer.data(), value.tensor.nbytes())
                                          : value.bytes.span();
}

bool has_shape_column(const StoredField& stored) {
  return !stored.in_index && stored.field.kind == FieldKind::kTensor && !stored.field.fixed_shape();
}

Status check_samples(std::span<const StoredField> fields, std::span<const Record> samples) {
  FOREBAY_RETURN_IF_ERROR(check_names(fields));
  for (const Record& sample : samples)
    for (size_t i = 0; i < fields.size(); ++i) FOREBAY_RETURN_IF_ERROR(check_value(fields[i].field, sample[i]));
  return {};
}

void add_int64(Columns& columns, std::string name, const std::function<int64_t(size_t)>& of_row) {
  add_made(columns, std::move(name), DType::kInt64, of_row);
}

void add_uint64(Columns& columns, std::string name, const std::function<uint64_t(size_t)>& of_row) {
  add_made(columns, std::move(name), DType::kUint64, of_row);
}

void add_shapes(Columns& columns, const Field& field, std::span<const Record> samples, size_t number) {
  const size_t rank = field.shape.rank();
  Buffer values = Buffer::allocate(samples.size() * rank * sizeof(int32_t));
  auto* out = reinterpret_cast<int32_t*>(values.data());
  for (const Record& sample : samples)
    for (const int64_t dim : sample[number].tensor.shape) *out++ = static_cast<int32_t>(dim);
  add_numbers(columns, plain_field(shape_column(field), DType::kInt32, {static_cast<int64_t>(rank)}),
              std::move(values));
}

Status add_field(Columns& columns, const StoredField& stored, std::span<const Record> samples, size_t number,
                 const BufferAllocator& memory) {
  const ColumnOf column(samples, number);
  Field field = plain_field(stored.field.name, stored.field.dtype, stored.field.shape);
  field.kind = stored.field.kind;
  // Bits cannot be read sample by sample, so bools are stored as bytes.
  if (!stored.in_index && field.dtype == DType::kBool) field.dtype = DType::kUint8;
  FOREBAY_ASSIGN(Buffer values, column.values(memory));
  if (field.fixed_shape()) {
    add_numbers(columns, std::move(field), std::move(values));
    return {};
  }
  if (field.kind == FieldKind::kTensor) field.shape = {Shape::kUnknown};
  const size_t element = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
  columns.schema.push_back(std::move(field));
  columns.values.push_back({std::move(values), column.offsets(element)});
  return {};
}

SampleRange SampleRange::around(std::vector<ByteRange> fields) {
  SampleRange range;
  if (!fields.empty()) range.begin = UINT64_MAX;
  for (const ByteRange& field : fields) {
    range.begin = std::min(range.begin, field.offset);
    range.end = std::max(range.end, field.offset + field.length);
  }
  range.fields = std::move(fields);
  return range;
}

Result<Columns> index_of(std::span<const StoredField> fields, std::span<const Record> samples,
                         std::span<const SampleRange> ranges, const BufferChain& shard) {
  Columns columns;
  columns.rows = static_cast<int64_t>(samples.size());
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].in_index) FOREBAY_RETURN_IF_ERROR(add_field(columns, fields[i], samples, i, {}));
  const std::vector<size_t> in_range = fields_in_range(fields);
  if (in_range.empty()) return columns;
  const auto bytes = [&](size_t row) { return ranges[row].end - ranges[row].begin; };
  add_int64(columns, kRangeBegin, [&](size_t row) { return static_cast<int64_t>(ranges[row].begin); });
  add_int64(columns, kRangeBytes, [&](size_t row) { return static_cast<int64_t>(bytes(row)); });
  add_uint64(columns, kRangeHash, [&](size_t row) { return range_hash(shard, {ranges[row].begin, bytes(row)}); });
  for (size_t i = 0; i < in_range.size(); ++i) {
    const Field& field = fields[in_range[i]].field;
    if (has_shape_column(fields[in_range[i]])) add_shapes(columns, field, samples, in_range[i]);
    if (in_range.size() == 1) continue;
    add_int64(columns, begin_column(field),
              [&](size_t row) { return static_cast<int64_t>(ranges[row].fields[i].offset - ranges[row].begin); });
    add_int64(columns, bytes_column(field),
              [&](size_t row) { return static_cast<int64_t>(ranges[row].fields[i].length); });
  }
  return columns;
}

}  // namespace forebay
