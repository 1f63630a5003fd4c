#include "format/joined/joined_chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/columns.h"
#include "base/work_memory.h"

namespace forebay {

namespace {

// Builds a column of one value a row.
Result<ColumnValues> joined_column(const Field& field, std::vector<Value> rows, WorkMemory& memory) {
  uint64_t bytes = 0;
  for (const Value& value : rows) bytes += value.nbytes();
  FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes + (rows.size() + 1) * sizeof(int64_t)));
  ColumnValues column{Buffer::allocate(bytes), {}};
  if (!field.fixed_shape()) column.offsets = Buffer::allocate((rows.size() + 1) * sizeof(int64_t));
  const uint64_t each = item_bytes(field);
  uint64_t at = 0;
  for (size_t i = 0; i <= rows.size(); ++i) {
    const auto offset = static_cast<int64_t>(at / each);
    if (!column.offsets.empty()) std::memcpy(column.offsets.data() + i * sizeof offset, &offset, sizeof offset);
    if (i == rows.size()) break;
    const uint64_t size = rows[i].nbytes();
    FOREBAY_RETURN_IF_ERROR(rows[i].write({column.values.data() + at, size}, memory));
    at += size;
  }
  return column;
}

}  // namespace

JoinedChunks::JoinedChunks(std::vector<JoinedPart> parts, std::shared_ptr<const std::vector<uint64_t>> kept,
                           std::optional<Hash128> version)
    : parts_(std::move(parts)), first_(shared_as_chunks(parts_.front().source)), kept_(std::move(kept)),
      version_(version ? *version : joined_version(parts_, first_->size())) {
  std::vector<Origin> origins;
  for (size_t part = 0; part < parts_.size(); ++part)
    for (size_t field = 0; field < parts_[part].source->schema().size(); ++field) origins.push_back({part, field});
  set_fields(std::move(origins));
}

// `origins`: those of the first part come first, and are the fields of `first_`.
void JoinedChunks::set_fields(std::vector<Origin> origins) {
  schema_ = Schema();
  first_fields_ = 0;
  others_.clear();
  for (const Origin& origin : origins) {
    const Source& source = origin.part == 0 ? *first_ : *parts_[origin.part].source;
    Field field = source.schema()[origin.field];
    field.name = parts_[origin.part].prefix + field.name;
    schema_.push_back(std::move(field));
    if (origin.part == 0) ++first_fields_;
    if (origin.part > 0) others_.push_back(origin);
  }
}

bool JoinedChunks::is_kept(int64_t id) const {
  return !kept_ || ((*kept_)[static_cast<size_t>(id / 64)] >> (id % 64) & 1) != 0;
}

ChunkCost JoinedChunks::chunk_cost(int64_t chunk) const {
  ChunkCost cost = reads_first() ? first_->chunk_cost(chunk) : ChunkCost();
  const auto rows = static_cast<uint64_t>(chunk_begin(chunk + 1) - chunk_begin(chunk));
  for (size_t i = first_fields_; i < schema_.size(); ++i)
    cost.decoded_bytes += rows * (schema_[i].fixed_shape() ? row_bytes(schema_[i]) : sizeof(int64_t));
  return cost;
}

ChunkSource::ChunkFetch JoinedChunks::chunk_fetch(int64_t chunk) const {
  return reads_first() ? first_->chunk_fetch(chunk) : ChunkFetch();
}

Result<Columns> JoinedChunks::decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const {
  Columns columns;
  columns.rows = chunk_begin(chunk + 1) - chunk_begin(chunk);
  if (reads_first()) {
    FOREBAY_ASSIGN(columns, first_->decode(chunk, std::move(fetched), memory));
  }
  columns.schema = schema_;
  for (size_t i = 0; i < others_.size();) {
    std::vector<size_t> fields;
    const size_t part = others_[i].part;
    for (; i < others_.size() && others_[i].part == part; ++i) fields.push_back(others_[i].field);
    FOREBAY_RETURN_IF_ERROR(add_part(part, chunk, std::move(fields), memory, columns));
  }
  return columns;
}

// Adds columns of one part's fields.
Status JoinedChunks::add_part(size_t part, int64_t chunk, std::vector<size_t> fields, WorkMemory& memory,
                              Columns& columns) const {
  const SampleSource& source = *parts_[part].source->as_samples();
  std::vector<int64_t> rows;
  // Rows without a partner are never seen, so they may have any value.
  for (int64_t id = chunk_begin(chunk); id < chunk_begin(chunk + 1); ++id)
    rows.push_back(is_kept(id) ? parts_[part].row(id) : 0);
  std::vector<std::vector<Value>> loaded(fields.size());
  const bool loads = !std::ranges::all_of(fields, [&](size_t field) { return source.gathers(field); });
  for (size_t i = 0; loads && i < rows.size(); ++i) {
    Record record;
    Status status = source.load(rows[i], Buffer(), record);
    if (!status.ok()) return std::move(status).with_key(source.key(rows[i]));
    for (size_t field = 0; field < fields.size(); ++field) loaded[field].push_back(std::move(record[fields[field]]));
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = source.schema()[fields[i]];
    if (source.gathers(fields[i])) {
      ColumnValues column{Buffer::allocate(rows.size() * row_bytes(field)), {}};
      FOREBAY_RETURN_IF_ERROR(source.gather(fields[i], rows, column.values.data()));
      columns.values.push_back(std::move(column));
    } else {
      FOREBAY_ASSIGN(columns.values.emplace_back(), joined_column(field, std::move(loaded[i]), memory));
    }
  }
  return {};
}

// The rows of other parts are in it one by one, since these may change without the chunk.
std::optional<Hash128> JoinedChunks::chunk_identity(int64_t chunk) const {
  Hasher hasher;
  if (reads_first()) {
    const std::optional<Hash128> own = first_->chunk_identity(chunk);
    if (!own) return std::nullopt;
    hasher.update_value(own->high);
    hasher.update_value(own->low);
  }
  for (size_t part = 1; part < parts_.size(); ++part) {
    for (int64_t id = chunk_begin(chunk); id < chunk_begin(chunk + 1); ++id) {
      if (!is_kept(id)) continue;
      const std::optional<Identity> row = parts_[part].source->identity(parts_[part].row(id));
      if (!row || !row->lasting) return std::nullopt;
      hasher.update_value(row->hash.high);
      hasher.update_value(row->hash.low);
    }
  }
  for (const Field& field : schema_) hasher.update(field.to_string() + ";");
  return hasher.digest();
}

std::string JoinedChunks::time_name(size_t field) const {
  return field < first_fields_ ? first_->time_name(field) : std::string();
}
bool JoinedChunks::is_of_folder(size_t field) const { return field < first_fields_ && first_->is_of_folder(field); }
bool JoinedChunks::is_mask(size_t field) const { return field < first_fields_ && first_->is_mask(field); }

Result<std::shared_ptr<const ChunkSource>> JoinedChunks::with_fields(std::span<const std::string> names) const {
  auto source = std::make_shared<JoinedChunks>(*this);
  std::vector<std::string> of_first;
  std::vector<Origin> origins, others;
  for (const std::string& name : names) {
    const size_t at = *schema_.find(name);
    if (at >= first_fields_) {
      others.push_back(others_[at - first_fields_]);
    } else {
      origins.push_back({0, of_first.size()});
      of_first.push_back(name.substr(parts_.front().prefix.size()));
    }
  }
  if (!of_first.empty()) {
    FOREBAY_ASSIGN(source->first_, first_->with_fields(of_first));
  }
  std::ranges::stable_sort(others, {}, &Origin::part);
  origins.insert(origins.end(), others.begin(), others.end());
  source->set_fields(std::move(origins));
  return std::shared_ptr<const ChunkSource>(std::move(source));
}

}  // namespace forebay
