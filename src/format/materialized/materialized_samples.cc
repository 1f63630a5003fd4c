#include "format/materialized/materialized_samples.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/part_search.h"
#include "forebay/string_list.h"
#include "format/materialized/encoded_picture.h"
#include "format/materialized/sample_shard.h"

namespace forebay {

namespace {

template <typename T>
T number_at(const Columns& columns, size_t column, size_t row) {
  return reinterpret_cast<const T*>(columns.values[column].values.data())[row];
}

// The index of a column with the type that sample_shard.h prescribes.
Result<size_t> column_of(const Columns& columns, const std::string& name, DType dtype, size_t rank = 0) {
  const std::optional<size_t> found = columns.schema.find(name);
  if (!found) return corrupt(fmt::format("its index lacks the column '{}'", name));
  const Field& field = columns.schema[*found];
  const Shape expected = rank == 0 ? Shape() : Shape{static_cast<int64_t>(rank)};
  if (field.kind != FieldKind::kTensor || field.dtype != dtype || !(field.shape == expected))
    return corrupt(fmt::format("its index has a column '{}' of another type", name));
  return *found;
}

}  // namespace

MaterializedSamples::MaterializedSamples(std::shared_ptr<Store> store, MaterializedManifest manifest,
                                         std::vector<ShardIndex> indices)
    : store_(std::move(store)), manifest_(std::move(manifest)), steps_before_(manifest_.steps_before()),
      indices_(std::move(indices)), begins_{0} {
  for (const StoredShard& shard : manifest_.shards) begins_.push_back(begins_.back() + shard.rows);
  for (const StoredField& stored : manifest_.fields) {
    schema_.push_back(stored.field);
    schema_[schema_.size() - 1].fetched = !stored.in_index;
  }
}

Result<std::shared_ptr<const Source>> MaterializedSamples::make(std::shared_ptr<Store> store,
                                                                MaterializedManifest manifest,
                                                                std::vector<ShardIndex> indices, bool local) {
  std::shared_ptr<MaterializedSamples> source(
      new MaterializedSamples(std::move(store), std::move(manifest), std::move(indices)));
  FOREBAY_RETURN_IF_ERROR(source->find_columns());
  if (local) source->map_shards();
  return std::shared_ptr<const Source>(std::move(source));
}

Status MaterializedSamples::find_columns() {
  has_range_ = !fields_in_range(manifest_.fields).empty();
  for (size_t shard = 0; shard < indices_.size(); ++shard) {
    Status found = find_columns_of(shard);
    if (!found.ok()) return std::move(found).with_key(indices_[shard].key);
  }
  return {};
}

Status MaterializedSamples::find_columns_of(size_t shard) {
  const Columns& columns = indices_[shard].columns;
  if (columns.rows != manifest_.shards[shard].rows)
    return corrupt(fmt::format("its index has {} rows, the manifest {}", columns.rows, manifest_.shards[shard].rows));
  std::vector<FieldColumns> found;
  for (const StoredField& stored : manifest_.fields) {
    FOREBAY_ASSIGN(FieldColumns of_field, field_columns(columns, stored));
    found.push_back(of_field);
  }
  // All shards of a data set have their columns in one order.
  if (shard == 0) field_columns_ = std::move(found);
  if (columns.schema.names() != indices_[0].columns.schema.names())
    return corrupt("its index has other columns than those of other shards");
  if (!has_range_) return {};
  FOREBAY_ASSIGN(range_begin_, column_of(columns, kRangeBegin, DType::kInt64));
  FOREBAY_ASSIGN(range_bytes_, column_of(columns, kRangeBytes, DType::kInt64));
  FOREBAY_ASSIGN(range_hash_, column_of(columns, kRangeHash, DType::kUint64));
  return check_ranges(indices_[shard]);
}

Result<MaterializedSamples::FieldColumns> MaterializedSamples::field_columns(const Columns& columns,
                                                                             const StoredField& stored) const {
  const Field& field = stored.field;
  FieldColumns found;
  if (stored.in_index) {
    const auto column = columns.schema.find(field.name);
    if (!column || !columns.schema[*column].same_type(field))
      return corrupt(fmt::format("its index has no column '{}' of the right type", field.name));
    found.column = *column;
    return found;
  }
  if (field.kind == FieldKind::kTensor && !field.fixed_shape()) {
    FOREBAY_ASSIGN(found.shape, column_of(columns, shape_column(field), DType::kInt32, field.shape.rank()));
  }
  // A single field fills the whole range.
  if (fields_in_range(manifest_.fields).size() == 1) return found;
  FOREBAY_ASSIGN(found.begin, column_of(columns, begin_column(field), DType::kInt64));
  FOREBAY_ASSIGN(found.bytes, column_of(columns, bytes_column(field), DType::kInt64));
  return found;
}

// Checks that all ranges lie inside the shard, so that no read goes beyond it.
Status MaterializedSamples::check_ranges(const ShardIndex& index) const {
  for (size_t row = 0; row < static_cast<size_t>(index.columns.rows); ++row) {
    const auto begin = number_at<uint64_t>(index.columns, range_begin_, row);
    const auto bytes = number_at<uint64_t>(index.columns, range_bytes_, row);
    // Negative numbers, read as unsigned, are larger than any file.
    if (begin > index.bytes || bytes > index.bytes - begin)
      return corrupt(fmt::format("its index says that sample {} lies beyond the end", row));
  }
  return {};
}

// The field whose values are the samples' ranges: of one shape, and not encoded.
std::optional<size_t> MaterializedSamples::field_that_fills_the_range() const {
  const std::vector<size_t> in_range = fields_in_range(manifest_.fields);
  if (in_range.size() != 1) return std::nullopt;
  const StoredField& stored = manifest_.fields[in_range[0]];
  const bool as_in_a_batch = stored.field.kind == FieldKind::kTensor && stored.field.fixed_shape() && !stored.encoded;
  return as_in_a_batch ? std::optional(in_range[0]) : std::nullopt;
}

bool MaterializedSamples::has_ranges_of(uint64_t bytes) const {
  for (const ShardIndex& index : indices_) {
    for (size_t row = 0; row < static_cast<size_t>(index.columns.rows); ++row)
      if (number_at<uint64_t>(index.columns, range_bytes_, row) != bytes) return false;
  }
  return true;
}

void MaterializedSamples::map_shards() {
  const std::optional<size_t> field = field_that_fills_the_range();
  if (!field || row_bytes(schema_[*field]) == 0 || !has_ranges_of(row_bytes(schema_[*field]))) return;
  std::vector<MappedShards::Shard> shards;
  for (const ShardIndex& index : indices_) shards.push_back({index.key, index.bytes});
  mapped_ = MappedShards::of(shards);
  mapped_field_ = *field;
  if (mapped_) schema_[*field].fetched = false;
}

MaterializedSamples::Row MaterializedSamples::row_of(int64_t id) const {
  const auto begin_of = [](int64_t begin) { return begin; };
  const size_t shard = part_holding(std::span(begins_).first(indices_.size()), id, begin_of);
  return {indices_[shard], manifest_.shards[shard], static_cast<size_t>(id - begins_[shard]), shard};
}

uint64_t MaterializedSamples::index_bytes() const {
  uint64_t bytes = begins_.size() * sizeof(int64_t);
  for (const ShardIndex& index : indices_) bytes += index.columns.nbytes() + index.key.size();
  return bytes;
}

std::string MaterializedSamples::key(int64_t id) const {
  const Row row = row_of(id);
  return fmt::format("{} sample {}", store_->display_name(row.index.key), row.row);
}

std::optional<Identity> MaterializedSamples::identity(int64_t id) const {
  const Row row = row_of(id);
  Hasher hasher;
  // The identity is a hash of content, so a copy of the folder anywhere finds the same cache
  // entries.
  for (const Hash128& part : {manifest_.place, row.shard.checksum, row.shard.index_checksum})
    hasher.update_value(part.high), hasher.update_value(part.low);
  hasher.update_value(row.row);
  return Identity(hasher.digest());
}

SampleSource::Fetch MaterializedSamples::fetch(int64_t id) const {
  if (!has_range_ || mapped_) return {};
  const Row row = row_of(id);
  // A store may refuse empty reads. At least one byte follows a shard's values.
  const auto bytes = std::max<uint64_t>(number_at<uint64_t>(row.index.columns, range_bytes_, row.row), 1);
  Fetch fetch{store_.get(), {.key = row.index.key, .range = {}, .expected_size = row.index.bytes}, bytes};
  fetch.request.range = ByteRange{number_at<uint64_t>(row.index.columns, range_begin_, row.row), bytes};
  return fetch;
}

Status MaterializedSamples::damaged(int64_t id, const std::string& what) const {
  return corrupt(fmt::format("is damaged: {}; materialise it again", what)).with_key(key(id));
}

Status MaterializedSamples::load_from_range(size_t field, const Row& row, const Buffer& range, Value* value) const {
  const Columns& columns = row.index.columns;
  const FieldColumns& stored = field_columns_[field];
  const Field& as = schema_[field];
  const uint64_t begin = stored.begin ? number_at<uint64_t>(columns, *stored.begin, row.row) : 0;
  const uint64_t bytes = stored.bytes ? number_at<uint64_t>(columns, *stored.bytes, row.row) : range.size();
  if (begin > range.size() || bytes > range.size() - begin) return corrupt("a field reaches beyond its sample");
  const Buffer part = range.slice(begin, bytes);
  if (as.string_list() && !StringList::is_valid(part.span()))
    return corrupt(fmt::format("the field '{}' does not hold a valid list of strings", as.name));
  if (as.kind != FieldKind::kTensor) {
    *value = {as.kind, {}, part, nullptr};
    return {};
  }
  Tensor tensor{as.dtype, as.shape, part};
  FOREBAY_ASSIGN(const uint64_t elements, read_shape(field, row, tensor.shape));
  if (manifest_.fields[field].encoded) {
    FOREBAY_ASSIGN(std::unique_ptr<Deferred> picture, EncodedPicture::of(part, tensor.shape));
    *value = Value::of(std::move(picture));
    return {};
  }
  // The first condition prevents an overflow of the product.
  if (elements > bytes || elements * dtype_size(as.dtype) != bytes)
    return corrupt(fmt::format("the field '{}' has a shape that does not fit its {} bytes", as.name, bytes));
  *value = Value::of(std::move(tensor));
  return {};
}

Result<uint64_t> MaterializedSamples::read_shape(size_t field, const Row& row, Shape& shape) const {
  const Field& as = schema_[field];
  uint64_t elements = 1;
  for (size_t i = 0; i < as.shape.rank(); ++i) {
    if (const auto& column = field_columns_[field].shape) {
      const auto dim = number_at<int32_t>(row.index.columns, *column, row.row * as.shape.rank() + i);
      if (dim < 0 || (as.shape[i] != Shape::kUnknown && as.shape[i] != dim))
        return corrupt(fmt::format("the field '{}' has the invalid extent {}", as.name, dim));
      shape[i] = dim;
    }
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(shape[i]), &elements))
      return corrupt(fmt::format("the field '{}' has a shape of more elements than can be", as.name));
  }
  return elements;
}

// Copies a range from mapped shards and checks it.
Status MaterializedSamples::copy_range(int64_t id, const Row& row, std::span<uint8_t> out) const {
  const auto begin = number_at<uint64_t>(row.index.columns, range_begin_, row.row);
  FOREBAY_RETURN_IF_ERROR(mapped_->copy(row.shard_index, begin, out));
  if (range_hash(out) != number_at<uint64_t>(row.index.columns, range_hash_, row.row))
    return damaged(id, "its checksum is another");
  return {};
}

bool MaterializedSamples::gathers(size_t field) const {
  if (mapped_ && field == mapped_field_) return true;
  return manifest_.fields[field].in_index && schema_[field].kind == FieldKind::kTensor && schema_[field].fixed_shape();
}

Status MaterializedSamples::gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const {
  const size_t bytes = row_bytes(schema_[field]);
  for (const int64_t id : ids) {
    const Row row = row_of(id);
    if (!manifest_.fields[field].in_index) {
      FOREBAY_RETURN_IF_ERROR(copy_range(id, row, {out, bytes}));
    } else if (bytes > 0) {
      std::memcpy(out, row.index.columns.values[field_columns_[field].column].values.data() + row.row * bytes, bytes);
    }
    out += bytes;
  }
  return {};
}

Status MaterializedSamples::load(int64_t id, Buffer fetched, Record& record) const {
  const Row row = row_of(id);
  const Columns& columns = row.index.columns;
  record.resize(schema_.size());
  Buffer range;
  if (!fetched.empty()) {
    const auto bytes = number_at<uint64_t>(columns, range_bytes_, row.row);
    if (fetched.size() != std::max<uint64_t>(bytes, 1)) return damaged(id, "it is shorter than it was written");
    range = fetched.slice(0, bytes);
    if (range_hash(range.span()) != number_at<uint64_t>(columns, range_hash_, row.row))
      return damaged(id, "its checksum is another");
  }
  for (size_t i = 0; i < schema_.size(); ++i) {
    if (mapped_ && i == mapped_field_) {
      Tensor tensor = Tensor::allocate(schema_[i].dtype, schema_[i].shape);
      FOREBAY_RETURN_IF_ERROR(copy_range(id, row, {tensor.buffer.data(), tensor.nbytes()}));
      record[i] = Value::of(std::move(tensor));
    } else if (manifest_.fields[i].in_index) {
      record[i] = columns.value(field_columns_[i].column, static_cast<int64_t>(row.row));
    } else if (!fetched.empty()) {
      if (Status loaded = load_from_range(i, row, range, &record[i]); !loaded.ok())
        return damaged(id, std::string(loaded.message()));
    }
  }
  return {};
}

}  // namespace forebay
