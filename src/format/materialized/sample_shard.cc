#include "format/materialized/sample_shard.h"

#include "format/materialized/sample_columns.h"

namespace forebay {

namespace {

class SampleShardWriter {
 public:
  SampleShardWriter(std::span<const StoredField> fields, int64_t first, std::span<const Record> samples)
      : fields_(fields), first_(first), samples_(samples), in_range_(fields_in_range(fields)) {}

  Result<ShardFiles> write(const TableCodecs& codecs, const BufferAllocator& memory) {
    FOREBAY_RETURN_IF_ERROR(check_samples(fields_, samples_));
    std::vector<Columns> batches;
    // Arrow stores a column's values together. Several fields of one sample are contiguous only in
    // a batch of one row.
    const size_t rows = in_range_.size() > 1 ? 1 : samples_.size();
    for (size_t at = 0; at < samples_.size(); at += rows) {
      FOREBAY_ASSIGN(Columns columns,
                     everything(samples_.subspan(at, rows), first_ + static_cast<int64_t>(at), memory));
      batches.push_back(std::move(columns));
    }
    FOREBAY_ASSIGN(const WrittenTable data, codecs.write_arrow_file(batches, "", memory));
    FOREBAY_ASSIGN(const Columns index, index_of(fields_, samples_, ranges(batches.front().schema, data), data.bytes));
    FOREBAY_ASSIGN(WrittenTable written, codecs.write_arrow_file({&index, 1}, ""));
    return ShardFiles{data.bytes, written.bytes.together()};
  }

 private:
  Result<Columns> everything(std::span<const Record> samples, int64_t first, const BufferAllocator& memory) const {
    Columns columns;
    columns.rows = static_cast<int64_t>(samples.size());
    add_int64(columns, "id", [&](size_t row) { return first + static_cast<int64_t>(row); });
    for (size_t i = 0; i < fields_.size(); ++i) {
      FOREBAY_RETURN_IF_ERROR(add_field(columns, fields_[i], samples, i, memory));
      if (has_shape_column(fields_[i])) add_shapes(columns, fields_[i].field, samples, i);
    }
    return columns;
  }

  std::vector<SampleRange> ranges(const Schema& schema, const WrittenTable& data) const {
    std::vector<SampleRange> ranges;
    std::vector<uint64_t> earlier_bytes(in_range_.size());  // bytes of earlier samples in the same batch
    for (size_t sample = 0; sample < samples_.size(); ++sample) {
      const size_t batch = in_range_.size() > 1 ? sample : 0;
      std::vector<ByteRange> of_fields;
      for (size_t i = 0; i < in_range_.size(); ++i) {
        const size_t column = *schema.find(fields_[in_range_[i]].field.name);
        const uint64_t bytes = bytes_of(samples_[sample][in_range_[i]]).size();
        of_fields.push_back({data.values[batch][column].offset + earlier_bytes[i], bytes});
        if (in_range_.size() == 1) earlier_bytes[i] += bytes;
      }
      ranges.push_back(SampleRange::around(std::move(of_fields)));
    }
    return ranges;
  }

  const std::span<const StoredField> fields_;
  const int64_t first_;
  const std::span<const Record> samples_;
  const std::vector<size_t> in_range_;
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
uint64_t range_hash(const BufferChain& file, const ByteRange& range) {
  return file.hash(range.offset, range.length).low;
}

Result<ShardFiles> write_sample_shard(std::span<const StoredField> fields, int64_t first,
                                      std::span<const Record> samples, const TableCodecs& codecs,
                                      const BufferAllocator& memory) {
  return SampleShardWriter(fields, first, samples).write(codecs, memory);
}

}  // namespace forebay
