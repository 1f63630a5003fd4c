#include "format/webdataset/shard_chunks.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

Field shard_column(std::string name, FieldKind kind, DType dtype = DType::kUint8) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  return field;
}

Field field_of(const ShardField& field) {
  if (field.kind() == ExtensionKind::kInteger) return shard_column(field.name, FieldKind::kTensor, DType::kInt64);
  if (field.kind() == ExtensionKind::kText) return shard_column(field.name, FieldKind::kText);
  return shard_column(field.name, FieldKind::kBytes);
}

/// For each extension of a shard: the fields that use it, each with its preference for it (lower is
/// better).
using FieldsByExtension = std::vector<std::vector<std::pair<size_t, size_t>>>;

FieldsByExtension find_fields(std::span<const std::string> extensions, std::span<const ShardField> fields) {
  FieldsByExtension fields_by_extension(extensions.size());
  for (size_t i = 0; i < extensions.size(); ++i) {
    for (size_t field = 0; field < fields.size(); ++field) {
      const auto& wanted = fields[field].extensions;
      const auto at = std::ranges::find(wanted, extensions[i]);
      if (at != wanted.end()) fields_by_extension[i].emplace_back(field, static_cast<size_t>(at - wanted.begin()));
    }
  }
  return fields_by_extension;
}

void add_field_bytes(std::span<const TarIndex::File> files, const FieldsByExtension& fields_by_extension,
                     std::span<uint64_t> bytes) {
  std::vector<std::pair<size_t, uint64_t>> chosen(bytes.size(), {SIZE_MAX, 0});
  for (const TarIndex::File& file : files) {
    for (const auto& [field, rank] : fields_by_extension[file.extension]) {
      // Must be the same rule as in ChunkFiles::add(), because memory for decoding is reserved by
      // these counts.
      if (rank < chosen[field].first) chosen[field] = {rank, file.bytes};
    }
  }
  for (size_t field = 0; field < bytes.size(); ++field) bytes[field] += chosen[field].second;
}

}  // namespace

Schema schema_of(std::span<const ShardField> fields) {
  Schema schema;
  for (const ShardField& field : fields) {
    schema.push_back(field_of(field));
    if (field.optional) schema.push_back(shard_column(field.name + "_valid", FieldKind::kTensor, DType::kBool));
  }
  schema.push_back(shard_column("key", FieldKind::kText));
  return schema;
}

std::string ShardChunks::chunk_name(size_t chunk) const {
  return fmt::format("{}, bytes {} to {}", shard_name(chunks[chunk].shard), chunks[chunk].begin, chunks[chunk].end);
}

const ShardChunks::Shard& ShardChunks::shard_of(int64_t id) const {
  return *std::prev(std::ranges::upper_bound(shards, id, {}, &Shard::first_id));
}

std::span<const ShardChunks::Link> ShardChunks::links_of(size_t chunk) const {
  const size_t first = chunks[chunk].first_link;
  const size_t end = chunk + 1 < chunks.size() ? chunks[chunk + 1].first_link : links.size();
  return std::span(links).subspan(first, end - first);
}

std::vector<ByteRange> ShardChunks::linked_ranges(size_t chunk) const {
  std::vector<ByteRange> ranges;
  for (const Link& link : links_of(chunk)) {
    const bool inside =
        link.data >= chunks[chunk].begin + kTarBlockBytes && link.data + link.bytes <= chunks[chunk].end;
    if (link.found && !inside) ranges.push_back({link.data - kTarBlockBytes, link.bytes + kTarBlockBytes});
  }
  // Many samples may share one file, which is read once.
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  ranges.erase(std::ranges::unique(ranges).begin(), ranges.end());
  return ranges;
}

uint64_t ShardChunks::index_bytes() const {
  uint64_t keys = 0;
  for (const Shard& shard : shards) keys += shard.key.capacity();
  return keys + links.capacity() * sizeof(Link) + shards.capacity() * sizeof(Shard) +
         chunks.capacity() * sizeof(Chunk) + field_bytes.capacity() * sizeof(uint64_t);
}

void ShardChunks::add(Shard shard, const TarIndex& index, uint64_t chunk_bytes) {
  const auto number = static_cast<uint32_t>(shards.size());
  shard.first_id = samples;
  shard.apart = index.skipped[TarIndex::kSplitSample].count;
  shards.push_back(std::move(shard));
  const FieldsByExtension fields_by_extension = find_fields(index.extensions, fields);
  auto link = index.links.begin();
  uint64_t linked = 0;  // bytes read for links of the chunk
  for (size_t i = 0; i < index.samples.size(); ++i) {
    const TarIndex::Sample& sample = index.samples[i];
    const uint64_t end = index.end_of(i);
    const size_t first_link = links.size();
    uint64_t own_linked = 0;
    for (; link != index.links.end() && link->file < sample.first_file + index.files_of(i).size(); ++link) {
      links.push_back({link->data, index.files[link->file].bytes, link->found});
      own_linked += links.back().bytes;
    }
    // i > 0, because a chunk is one read and must not span two shards.
    const bool goes_on = i > 0 && end - chunks.back().begin + linked + own_linked <= chunk_bytes &&
                         sample.name_bytes <= UINT32_MAX - chunks.back().name_bytes;
    if (!goes_on) {
      chunks.push_back({number, 0, samples, sample.begin, sample.begin, static_cast<uint32_t>(first_link)});
      linked = 0;
      field_bytes.resize(field_bytes.size() + fields.size());
    }
    linked += own_linked;
    chunks.back().end = end;
    chunks.back().name_bytes += sample.name_bytes;
    add_field_bytes(index.files_of(i), fields_by_extension, std::span(field_bytes).last(fields.size()));
    ++samples;
  }
}

}  // namespace forebay
