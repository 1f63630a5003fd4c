#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/table_codec.h"

namespace forebay {

inline TableFile::Piece piece_of(std::string_view file, ByteRange range) {
  if (range.offset > file.size() || range.length > file.size() - range.offset) std::abort();
  Buffer bytes = Buffer::allocate(range.length);
  if (range.length > 0) std::memcpy(bytes.data(), file.data() + range.offset, range.length);
  return {range.offset, std::move(bytes)};
}

/// Opens and decodes `file` as a source would that has little memory: errors are fine, wrong columns and reads outside are not.
inline void read_table(const TableCodec& codec, std::string_view file) {
  constexpr uint64_t kGrant = uint64_t{64} << 20;
  const auto tail = [&](uint64_t bytes) {
    const uint64_t length = std::min<uint64_t>(bytes, file.size());
    return piece_of(file, {file.size() - length, length}).bytes;
  };
  const auto bytes = codec.index_tail_bytes(tail(16).span(), file.size());
  if (!bytes.ok()) return;
  std::vector<TableFile::Piece> more;
  while (true) {
    const auto ranges = codec.index_ranges(tail(*bytes).span(), file.size(), more);
    if (!ranges.ok()) return;
    if (ranges->empty()) break;
    for (const ByteRange& range : *ranges) more.push_back(piece_of(file, range));
  }
  TableReading reading;
  reading.nulls.kind = file.size() % 2 == 0 ? NullPolicy::Kind::kMask : NullPolicy::Kind::kError;
  const auto table = codec.open(tail(*bytes), file.size(), reading, more);
  if (!table.ok()) return;
  std::vector<size_t> fields((*table)->schema().size());
  for (size_t i = 0; i < fields.size(); ++i) fields[i] = i;
  for (int64_t group = 0; group < std::min<int64_t>((*table)->groups(), 8); ++group) {
    for (const size_t field : fields) (*table)->bounds(group, field);
    if ((*table)->cost(group, fields).decoded_bytes > kGrant) continue;
    std::vector<TableFile::Piece> pieces;
    for (const ByteRange& range : (*table)->ranges(group, fields)) pieces.push_back(piece_of(file, range));
    WorkMemory memory(kGrant);
    const auto columns = (*table)->decode(group, fields, pieces, memory);
    if (columns.ok() && !columns->check().ok()) std::abort();
  }
}

}  // namespace forebay
