#include "format/materialized/sample_shard.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

namespace forebay {

namespace {

Field plain_field(std::string name, DType dtype, Shape shape = {}) {
  Field field;
  field.name = std::move(name), field.dtype = dtype, field.shape = shape;
  return field;
}

std::span<const uint8_t> bytes_of(const Value& value) {
  return value.kind == FieldKind::kTensor ? std::span(value.tensor.buffer.data(), value.tensor.nbytes())
                                          : value.bytes.span();
}

// Unknown before the sample is seen, and no list of its own kind.
bool has_shape_column(const StoredField& stored) {
  return !stored.in_index && stored.field.kind == FieldKind::kTensor && !stored.field.fixed_shape();
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

/// One column over some of the samples, end to end.
class ColumnOf {
 public:
  ColumnOf(std::span<const Record> samples, size_t field) : samples_(samples), field_(field) {}

  Buffer values() const {
    size_t bytes = 0;
    for (const Record& sample : samples_) bytes += bytes_of(sample[field_]).size();
    Buffer all = Buffer::allocate(bytes);
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
  std::span<const Record> samples_;
  size_t field_;
};

void add_numbers(Columns& columns, Field field, Buffer values) {
  columns.schema.push_back(std::move(field));
  columns.values.push_back({std::move(values), {}});
}

template <typename T, typename At>
void add_made(Columns& columns, std::string name, DType dtype, int64_t rows, const At& at) {
  Buffer values = Buffer::allocate(static_cast<size_t>(rows) * sizeof(T));
  for (int64_t row = 0; row < rows; ++row) reinterpret_cast<T*>(values.data())[row] = at(row);
  add_numbers(columns, plain_field(std::move(name), dtype), std::move(values));
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

void add_field(Columns& columns, const StoredField& stored, std::span<const Record> samples, size_t number) {
  const ColumnOf column(samples, number);
  Field field = plain_field(stored.field.name, stored.field.dtype, stored.field.shape);
  field.kind = stored.field.kind;
  // Bits could not be read sample by sample.
  if (!stored.in_index && field.dtype == DType::kBool) field.dtype = DType::kUint8;
  if (field.fixed_shape()) return add_numbers(columns, std::move(field), column.values());
  if (field.kind == FieldKind::kTensor) field.shape = {Shape::kUnknown};
  const size_t element = field.kind == FieldKind::kTensor ? dtype_size(field.dtype) : 1;
  columns.schema.push_back(std::move(field));
  columns.values.push_back({column.values(), column.offsets(element)});
}

/// Where the sample's values lie, in the file and field by field.
struct Range {
  uint64_t begin = UINT64_MAX, end = 0;
  std::vector<uint64_t> begins;  ///< of the fields in it
};

class SampleShardWriter {
 public:
  SampleShardWriter(std::span<const StoredField> fields, int64_t first, std::span<const Record> samples)
      : fields_(fields), first_(first), samples_(samples), in_range_(fields_in_range(fields)) {}

  Result<ShardFiles> write(const TableCodecs& codecs) {
    FOREBAY_RETURN_IF_ERROR(check());
    std::vector<Columns> batches;
    const size_t rows = in_range_.size() > 1 ? 1 : samples_.size();
    for (size_t at = 0; at < samples_.size(); at += rows)
      batches.push_back(everything(samples_.subspan(at, rows), first_ + static_cast<int64_t>(at)));
    FOREBAY_ASSIGN(const WrittenTable data, codecs.write_arrow_file(batches, ""));
    find_ranges(batches.front().schema, data);
    const Columns index = what_readers_keep(data.bytes);
    FOREBAY_ASSIGN(WrittenTable written, codecs.write_arrow_file({&index, 1}, ""));
    return ShardFiles{data.bytes, std::move(written.bytes)};
  }

 private:
  Status check() const {
    std::set<std::string> names{"id", kRangeBegin, kRangeBytes, kRangeHash};
    const auto taken = [&](const std::string& name) {
      return invalid_argument(
          fmt::format("a column '{}' is written beside the fields, and one of them is called so; "
                      "give it another name with .rename()",
                      name));
    };
    for (const StoredField& stored : fields_) {
      if (!names.insert(stored.field.name).second) return taken(stored.field.name);
      if (stored.in_index) continue;
      for (const std::string& name :
           {shape_column(stored.field), begin_column(stored.field), bytes_column(stored.field)})
        if (!names.insert(name).second) return taken(name);
    }
    for (const Record& sample : samples_)
      for (size_t i = 0; i < fields_.size(); ++i) FOREBAY_RETURN_IF_ERROR(check_value(fields_[i].field, sample[i]));
    return {};
  }

  Columns everything(std::span<const Record> samples, int64_t first) const {
    Columns columns;
    columns.rows = static_cast<int64_t>(samples.size());
    add_made<int64_t>(columns, "id", DType::kInt64, columns.rows, [&](int64_t row) { return first + row; });
    for (size_t i = 0; i < fields_.size(); ++i) {
      add_field(columns, fields_[i], samples, i);
      if (has_shape_column(fields_[i])) add_shapes(columns, fields_[i].field, samples, i);
    }
    return columns;
  }

  uint64_t bytes_in(size_t sample, size_t field) const { return bytes_of(samples_[sample][field]).size(); }

  void find_ranges(const Schema& schema, const WrittenTable& data) {
    ranges_.resize(samples_.size());
    std::vector<uint64_t> gone(in_range_.size());  // bytes of earlier samples in the same batch
    for (size_t sample = 0; sample < samples_.size(); ++sample) {
      const size_t batch = in_range_.size() > 1 ? sample : 0;
      Range& range = ranges_[sample];
      for (size_t i = 0; i < in_range_.size(); ++i) {
        const size_t column = *schema.find(fields_[in_range_[i]].field.name);
        const uint64_t bytes = bytes_in(sample, in_range_[i]);
        const uint64_t begin = data.values[batch][column].offset + gone[i];
        if (in_range_.size() == 1) gone[i] += bytes;
        range.begins.push_back(begin);
        range.begin = std::min(range.begin, begin);
        range.end = std::max(range.end, begin + bytes);
      }
      if (in_range_.empty()) range.begin = range.end = 0;
    }
  }

  Columns what_readers_keep(const Buffer& data) const {
    Columns columns;
    columns.rows = static_cast<int64_t>(samples_.size());
    const auto range = [&](int64_t row) -> const Range& { return ranges_[static_cast<size_t>(row)]; };
    for (size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].in_index) add_field(columns, fields_[i], samples_, i);
    if (in_range_.empty()) return columns;
    add_made<int64_t>(columns, kRangeBegin, DType::kInt64, columns.rows,
                      [&](int64_t row) { return static_cast<int64_t>(range(row).begin); });
    add_made<int64_t>(columns, kRangeBytes, DType::kInt64, columns.rows,
                      [&](int64_t row) { return static_cast<int64_t>(range(row).end - range(row).begin); });
    add_made<uint64_t>(columns, kRangeHash, DType::kUint64, columns.rows, [&](int64_t row) {
      return range_hash(data.span().subspan(range(row).begin, range(row).end - range(row).begin));
    });
    for (size_t i = 0; i < in_range_.size(); ++i) {
      const size_t number = in_range_[i];
      const Field& field = fields_[number].field;
      if (has_shape_column(fields_[number])) add_shapes(columns, field, samples_, number);
      if (in_range_.size() == 1) continue;
      add_made<int64_t>(columns, begin_column(field), DType::kInt64, columns.rows,
                        [&](int64_t row) { return static_cast<int64_t>(range(row).begins[i] - range(row).begin); });
      add_made<int64_t>(columns, bytes_column(field), DType::kInt64, columns.rows,
                        [&](int64_t row) { return static_cast<int64_t>(bytes_in(static_cast<size_t>(row), number)); });
    }
    return columns;
  }

  const std::span<const StoredField> fields_;
  const int64_t first_;
  const std::span<const Record> samples_;
  const std::vector<size_t> in_range_;
  std::vector<Range> ranges_;
};

}  // namespace

std::vector<size_t> fields_in_range(std::span<const StoredField> fields) {
  std::vector<size_t> found;
  for (size_t i = 0; i < fields.size(); ++i)
    if (!fields[i].in_index) found.push_back(i);
  return found;
}

std::string shape_column(const Field& field) { return field.name + ":shape"; }
std::string begin_column(const Field& field) { return field.name + ":begin"; }
std::string bytes_column(const Field& field) { return field.name + ":bytes"; }
uint64_t range_hash(std::span<const uint8_t> bytes) { return hash128(bytes.data(), bytes.size()).low; }

Result<ShardFiles> write_sample_shard(std::span<const StoredField> fields, int64_t first,
                                      std::span<const Record> samples, const TableCodecs& codecs) {
  return SampleShardWriter(fields, first, samples).write(codecs);
}

}  // namespace forebay
