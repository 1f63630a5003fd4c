#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "format/hdf5/hdf5_file.h"
#include "format/hdf5/hdf5_test_file.h"
#include "format/hdf5/links.h"

namespace forebay {
namespace {

std::filesystem::path hdf5_folder() {
  const char* const shared = std::getenv("FOREBAY_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : FOREBAY_SOURCE_DIR "/../shared") / "data" / "hdf5";
}

std::vector<std::filesystem::path> hdf5_files() {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(hdf5_folder())) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(hdf5_folder())) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Opens all data sets that the file names, and decodes the first row group of each. Any error is
/// allowed, but no crash, no endless loop, and no memory beyond the grant. Returns how many were
/// decoded.
int read_all(const std::string& bytes) {
  Hdf5BytesInMemory memory(hdf5_buffer(bytes));
  Result<Hdf5Metadata> file = Hdf5Metadata::open(memory);
  if (!file.ok()) return 0;
  int decoded = 0;
  for (const std::string& path : hdf5_data_sets(*file, 20)) {
    Result<Hdf5Columns> columns = resolve_hdf5_fields(*file, {{"x", path}}, {});
    if (!columns.ok()) continue;
    const Hdf5File table(std::move(*columns), {}, file->offset(0));
    const size_t field = 0;
    if (table.groups() == 0 || table.cost(0, std::span(&field, 1)).decoded_bytes > 64 << 20) continue;
    std::vector<TableFile::Piece> pieces;
    for (const ByteRange& range : table.ranges(0, std::span(&field, 1)))
      pieces.push_back({range.offset, hdf5_buffer(bytes.substr(range.offset, range.length))});
    WorkMemory work(64 << 20);
    Result<Columns> rows = table.decode(0, std::span(&field, 1), pieces, work);
    if (!rows.ok()) continue;
    EXPECT_TRUE(rows->check().ok()) << rows->check().to_string();
    ++decoded;
  }
  return decoded;
}

#define SKIP_WITHOUT_HDF5_FILES(files) \
  if ((files).empty()) GTEST_SKIP() << "SHARED DATA ABSENT: " << hdf5_folder()

TEST(hostile_hdf5, real_files_are_read) {
  const auto files = hdf5_files();
  SKIP_WITHOUT_HDF5_FILES(files);
  int decoded = 0;
  for (const auto& path : files) decoded += read_all(content_of(path));
  EXPECT_GT(decoded, 60);
}

TEST(hostile_hdf5, files_cut_off_anywhere_are_told) {
  const auto files = hdf5_files();
  SKIP_WITHOUT_HDF5_FILES(files);
  for (const auto& path : files) {
    const std::string bytes = content_of(path);
    for (size_t i = 0; i < 40; ++i) read_all(bytes.substr(0, bytes.size() * i / 40));
  }
}

TEST(hostile_hdf5, flipped_bits_are_told_or_change_values_and_nothing_else) {
  const auto files = hdf5_files();
  SKIP_WITHOUT_HDF5_FILES(files);
  std::mt19937 random(11);
  for (const auto& path : files) {
    const std::string bytes = content_of(path);
    // The first kilobytes are mostly metadata.
    const size_t reach = std::min<size_t>(bytes.size(), 16 << 10);
    for (int round = 0; round < 150; ++round) {
      std::string flipped = bytes;
      for (int flips = 0; flips <= round % 4; ++flips)
        flipped[random() % reach] ^= static_cast<char>(1 << random() % 8);
      read_all(flipped);
    }
  }
}

TEST(hostile_hdf5, numbers_at_their_limits_are_told) {
  const auto files = hdf5_files();
  SKIP_WITHOUT_HDF5_FILES(files);
  std::mt19937 random(12);
  for (const auto& path : files) {
    const std::string bytes = content_of(path);
    const size_t reach = std::min<size_t>(bytes.size(), 16 << 10);
    for (int round = 0; round < 60; ++round) {
      std::string changed = bytes;
      const size_t at = random() % reach, width = size_t{1} << random() % 4;
      for (size_t i = at; i < std::min(at + width, changed.size()); ++i) changed[i] = round % 2 == 0 ? '\xff' : '\0';
      read_all(changed);
    }
  }
}

TEST(hostile_hdf5, damage_behind_checksums_that_hold_is_told) {
  TestHdf5File made;
  made.dims = {64};
  made.chunk = {16};
  for (uint64_t begin = 0; begin < 64; begin += 16) made.chunks.push_back({{begin}, std::string(64, '\x01'), 0});
  std::mt19937 random(13);
  for (int round = 0; round < 3000; ++round) {
    TestHdf5File each = made;
    switch (round % 5) {
      case 0: each.dims[0] = uint64_t{random()} << random() % 40; break;
      case 1: each.chunk[0] = uint64_t{random()} >> random() % 32; break;
      case 2: each.chunks[random() % 4].first_element[0] = uint64_t{random()} << random() % 33; break;
      case 3: each.type[random() % each.type.size()] = static_cast<char>(random()); break;
      default: each.filters = {{static_cast<uint16_t>(random() % 8), {static_cast<uint32_t>(random())}}};
    }
    read_all(each.to_bytes());
  }
}

}  // namespace
}  // namespace forebay
