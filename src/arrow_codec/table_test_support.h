#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay::arrow_codec_test {

inline std::filesystem::path shared_data() {
  const char* set = std::getenv("FOREBAY_SHARED");
  const std::filesystem::path root = set ? set : std::string(FOREBAY_SOURCE_DIR) + "/../shared";
  return root / "data";
}

#define FOREBAY_NEED_SHARED_DATA()                                          \
  if (!std::filesystem::exists(::forebay::arrow_codec_test::shared_data())) \
  GTEST_SKIP() << "SHARED DATA ABSENT: " << ::forebay::arrow_codec_test::shared_data()

inline std::vector<std::filesystem::path> files_below(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data() / folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

inline Buffer copy_of(std::string_view bytes) {
  Buffer copy = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

inline TableFile::Piece piece_of(const std::string& file, ByteRange range) {
  return {range.offset, copy_of(std::string_view(file).substr(range.offset, range.length))};
}

/// Opens a file as a source does: first the tail, then the ranges that the index asks for. Only
/// those ranges are passed.
inline Result<std::shared_ptr<const TableFile>> open_table(const TableCodec& codec, const std::string& file,
                                                           const TableReading& reading = {}) {
  const auto tail = [&](uint64_t bytes) {
    return copy_of(std::string_view(file).substr(file.size() - std::min<uint64_t>(bytes, file.size())));
  };
  FOREBAY_ASSIGN(const uint64_t bytes, codec.index_tail_bytes(tail(16).span(), file.size()));
  if (bytes > file.size()) return internal_error("asks for more than there is");
  std::vector<TableFile::Piece> more;
  while (true) {
    FOREBAY_ASSIGN(const auto ranges, codec.index_ranges(tail(bytes).span(), file.size(), more));
    if (ranges.empty()) return codec.open(tail(bytes), file.size(), reading, more);
    for (const ByteRange& range : ranges) more.push_back(piece_of(file, range));
  }
}

inline std::vector<size_t> all_fields(const TableFile& table) {
  std::vector<size_t> fields(table.schema().size());
  for (size_t i = 0; i < fields.size(); ++i) fields[i] = i;
  return fields;
}

inline Result<Columns> decode_group(const TableFile& table, const std::string& file, int64_t group,
                                    std::span<const size_t> fields, WorkMemory& memory) {
  std::vector<TableFile::Piece> pieces;
  uint64_t end = 0;
  for (const ByteRange& range : table.ranges(group, fields)) {
    EXPECT_GE(range.offset, end) << "ranges overlap";
    end = range.offset + range.length;
    EXPECT_LE(end, file.size());
    pieces.push_back(piece_of(file, range));
  }
  return table.decode(group, fields, pieces, memory);
}

inline Result<Columns> decode_group(const TableFile& table, const std::string& file, int64_t group) {
  WorkMemory memory;
  const auto fields = all_fields(table);
  return decode_group(table, file, group, fields, memory);
}

}  // namespace forebay::arrow_codec_test
