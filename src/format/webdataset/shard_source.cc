#include "format/webdataset/shard_source.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/webdataset/chunk_decoder.h"
#include "format/webdataset/shard_places.h"

namespace forebay {

namespace {

std::vector<size_t> first_numbers(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

std::vector<ShardField> chosen_fields(const ShardChunks& chunks, std::span<const size_t> fields) {
  std::vector<ShardField> chosen;
  for (const size_t field : fields) chosen.push_back(chunks.fields[field]);
  return chosen;
}

/// The field that a column is made from; nullopt for `key`.
std::optional<size_t> field_of_column(const ShardChunks& chunks, const std::string& column) {
  for (size_t i = 0; i < chunks.fields.size(); ++i) {
    const ShardField& field = chunks.fields[i];
    if (column == field.name || (field.optional && column == field.name + "_valid")) return i;
  }
  return std::nullopt;
}

}  // namespace

ShardSource::ShardSource(std::shared_ptr<const ShardChunks> chunks)
    : ShardSource(chunks, first_numbers(chunks->fields.size()), first_numbers(schema_of(chunks->fields).size())) {}

ShardSource::ShardSource(std::shared_ptr<const ShardChunks> chunks, std::vector<size_t> fields,
                         std::vector<size_t> columns)
    : chunks_(std::move(chunks)), fields_(std::move(fields)), columns_(std::move(columns)) {
  const Schema decoded = schema_of(chosen_fields(*chunks_, fields_));
  for (const size_t column : columns_) schema_.push_back(decoded[column]);
}

std::string ShardSource::key(int64_t id) const {
  const ShardChunks::Shard& shard = chunks_->shard_of(id);
  return fmt::format("{} sample {}", chunks_->store->display_name(shard.key), id - shard.first_id);
}

ChunkCost ShardSource::chunk_cost(int64_t chunk) const {
  uint64_t bytes = chunk_at(chunk).end - chunk_at(chunk).begin;
  for (const ByteRange& range : chunks_->linked_ranges(static_cast<size_t>(chunk))) bytes += range.length;
  return {bytes, decoded_shard_bytes(*chunks_, static_cast<size_t>(chunk), fields_)};
}

ChunkSource::ChunkFetch ShardSource::chunk_fetch(int64_t chunk) const {
  const ShardChunks::Chunk& part = chunk_at(chunk);
  const ShardChunks::Shard& shard = chunks_->shards[part.shard];
  ChunkFetch fetch{chunks_->store.get(), {{shard.key, ByteRange{part.begin, part.end - part.begin}, shard.size, {}}}};
  for (const ByteRange& range : chunks_->linked_ranges(static_cast<size_t>(chunk)))
    fetch.requests.push_back({shard.key, range, shard.size, {}});
  return fetch;
}

Result<Columns> ShardSource::decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const {
  const ShardChunks::Chunk& part = chunk_at(chunk);
  if (fetched.empty() || fetched.front().size() != part.end - part.begin)
    return internal_error("a chunk's read gave another length");
  std::vector<std::span<const uint8_t>> linked;
  for (size_t i = 1; i < fetched.size(); ++i) linked.push_back(fetched[i].span());
  Result<Columns> decoded =
      decode_shard_chunk(*chunks_, static_cast<size_t>(chunk), fields_, fetched.front().span(), linked, memory);
  if (!decoded.ok()) return Status(decoded.status()).with_key(chunks_->shard_name(part.shard));
  std::vector<ColumnValues> values;
  for (const size_t column : columns_) values.push_back(decoded->values[column]);
  decoded->values = std::move(values);
  decoded->schema = schema_;
  return decoded;
}

std::optional<Hash128> ShardSource::chunk_identity(int64_t chunk) const {
  const ShardChunks::Chunk& part = chunk_at(chunk);
  const ShardChunks::Shard& shard = chunks_->shards[part.shard];
  // The store reports no version, so the bytes may change under the same name and must not be
  // cached.
  if (shard.version == 0) return std::nullopt;
  Hasher hasher;
  hasher.update(fmt::format("tar 2 {}\n{} {} {} {} {}\n", chunks_->shard_name(part.shard), shard.size, shard.version,
                            part.begin, part.end, chunks_->index_options.split == NameSplit::kLastDot));
  for (const size_t column : columns_) hasher.update_value(static_cast<uint64_t>(column));
  // The extensions are part of the identity: others give other columns of the same chunk.
  for (const ShardField& field : chosen_fields(*chunks_, fields_)) {
    hasher.update(fmt::format("{}:{} {} ", field.name.size(), field.name, field.optional));
    for (const std::string& extension : field.extensions)
      hasher.update(fmt::format("{}:{}", extension.size(), extension));
  }
  return hasher.digest();
}

Result<std::shared_ptr<const ChunkSource>> ShardSource::with_fields(std::span<const std::string> names) const {
  // A field and its mask are two names of one field, hence a set.
  std::set<size_t> needed;
  for (const std::string& name : names) {
    if (!schema_.find(name)) {
      std::vector<std::string> known;
      for (const Field& field : schema_) known.push_back(field.name);
      return invalid_argument(fmt::format("the samples have no field '{}'{}", name, suggestion_text(name, known)));
    }
    if (const auto field = field_of_column(*chunks_, name)) needed.insert(*field);
  }
  std::vector<size_t> fields(needed.begin(), needed.end()), columns;
  const Schema decoded = schema_of(chosen_fields(*chunks_, fields));
  for (const std::string& name : names) columns.push_back(*decoded.find(name));
  return std::shared_ptr<const ChunkSource>(
      std::make_shared<ShardSource>(chunks_, std::move(fields), std::move(columns)));
}

ValuePlaces ShardSource::value_places(size_t field, std::stop_token stop) const {
  const std::optional<size_t> file = field_of_column(*chunks_, schema_[field].name);
  if (!file || schema_[field].kind != FieldKind::kBytes) return {};
  return find_shard_places(chunks_, *file, std::move(stop));
}

}  // namespace forebay
