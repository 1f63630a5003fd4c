#include "format/webdataset/shard_units.h"

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

/// For each extension of a shard: which fields take it, and how much each would rather have it than another.
using Takers = std::vector<std::vector<std::pair<size_t, size_t>>>;

Takers takers_of(std::span<const std::string> extensions, std::span<const ShardField> fields) {
  Takers takers(extensions.size());
  for (size_t i = 0; i < extensions.size(); ++i) {
    for (size_t field = 0; field < fields.size(); ++field) {
      const auto& wanted = fields[field].extensions;
      const auto at = std::ranges::find(wanted, extensions[i]);
      if (at != wanted.end()) takers[i].emplace_back(field, static_cast<size_t>(at - wanted.begin()));
    }
  }
  return takers;
}

void add_field_bytes(std::span<const TarIndex::File> files, const Takers& takers, std::span<uint64_t> bytes) {
  std::vector<std::pair<size_t, uint64_t>> chosen(bytes.size(), {SIZE_MAX, 0});
  for (const TarIndex::File& file : files) {
    for (const auto& [field, rank] : takers[file.extension]) {
      // The rule of UnitFiles::add(), which decodes: memory is reserved by what is counted here.
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

std::string ShardUnits::unit_name(size_t unit) const {
  return fmt::format("{}, bytes {} to {}", shard_name(units[unit].shard), units[unit].begin, units[unit].end);
}

std::span<const ShardUnits::Link> ShardUnits::links_of(size_t unit) const {
  const size_t first = units[unit].first_link;
  const size_t end = unit + 1 < units.size() ? units[unit + 1].first_link : links.size();
  return std::span(links).subspan(first, end - first);
}

std::vector<ByteRange> ShardUnits::linked_ranges(size_t unit) const {
  std::vector<ByteRange> ranges;
  for (const Link& link : links_of(unit)) {
    const bool inside = link.data >= units[unit].begin + kTarBlockBytes && link.data + link.bytes <= units[unit].end;
    if (link.found && !inside) ranges.push_back({link.data - kTarBlockBytes, link.bytes + kTarBlockBytes});
  }
  // Many samples may share one file: it is read once.
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  ranges.erase(std::ranges::unique(ranges).begin(), ranges.end());
  return ranges;
}

uint64_t ShardUnits::index_bytes() const {
  uint64_t keys = 0;
  for (const Shard& shard : shards) keys += shard.key.capacity();
  return keys + links.capacity() * sizeof(Link) + shards.capacity() * sizeof(Shard) + units.capacity() * sizeof(Unit) +
         field_bytes.capacity() * sizeof(uint64_t);
}

void ShardUnits::add(Shard shard, const TarIndex& index, uint64_t unit_bytes) {
  const auto number = static_cast<uint32_t>(shards.size());
  shard.first_id = samples;
  shard.apart = index.aside[TarIndex::kApart].count;
  shards.push_back(std::move(shard));
  const Takers takers = takers_of(index.extensions, fields);
  auto link = index.links.begin();
  uint64_t linked = 0;  // bytes that are read for links of the unit
  for (size_t i = 0; i < index.samples.size(); ++i) {
    const TarIndex::Sample& sample = index.samples[i];
    const uint64_t end = index.end_of(i);
    const size_t first_link = links.size();
    uint64_t own_linked = 0;
    for (; link != index.links.end() && link->file < sample.first_file + index.files_of(i).size(); ++link) {
      links.push_back({link->data, index.files[link->file].bytes, link->found});
      own_linked += links.back().bytes;
    }
    // i > 0: a unit never reaches over the end of a shard, as its bytes are one read.
    const bool goes_on = i > 0 && end - units.back().begin + linked + own_linked <= unit_bytes &&
                         sample.name_bytes <= UINT32_MAX - units.back().name_bytes;
    if (!goes_on) {
      units.push_back({number, 0, samples, sample.begin, sample.begin, static_cast<uint32_t>(first_link)});
      linked = 0;
      field_bytes.resize(field_bytes.size() + fields.size());
    }
    linked += own_linked;
    units.back().end = end;
    units.back().name_bytes += sample.name_bytes;
    add_field_bytes(index.files_of(i), takers, std::span(field_bytes).last(fields.size()));
    ++samples;
  }
}

}  // namespace forebay
