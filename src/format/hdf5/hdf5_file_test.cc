#include "format/hdf5/hdf5_file.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "format/hdf5/hdf5_test_file.h"

namespace forebay {
namespace {

template <typename T>
std::string bytes_of_numbers(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string chunk_of_ints(int32_t first, size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return bytes_of_numbers(values);
}

// The unlimited axis determines how chunks are numbered. Files with 4-byte lengths mark it in 4
// bytes.
TEST(Hdf5Space, has_no_end_where_all_bits_of_a_length_are_set) {
  for (const uint8_t length : {uint8_t{4}, uint8_t{8}}) {
    std::vector<uint8_t> bytes = {2, 2, 1, 1};
    for (const uint64_t number : {uint64_t{3}, uint64_t{7}, UINT64_MAX, uint64_t{9}}) {
      for (unsigned i = 0; i < length; ++i) bytes.push_back(static_cast<uint8_t>(number >> (8 * i)));
    }
    Hdf5Cursor in(bytes, {.address = 8, .length = length});
    const Hdf5Space space = parse_hdf5_space(in).value();
    EXPECT_EQ(space.dims, (std::vector<uint64_t>{3, 7})) << int{length};
    EXPECT_EQ(space.most, (std::vector<uint64_t>{kHdf5Unlimited, 9})) << int{length};
  }
}

/// Values 0 … rows - 1, in chunks.
TestHdf5File counting_file(uint64_t rows, uint64_t chunk) {
  TestHdf5File made;
  made.dims = {rows};
  made.chunk = {chunk};
  for (uint64_t begin = 0; begin < rows; begin += chunk)
    made.chunks.push_back({{begin}, chunk_of_ints(static_cast<int32_t>(begin), chunk), 0});
  return made;
}

/// Opens "/x" of the bytes.
Result<std::shared_ptr<const Hdf5File>> open_made(const std::string& bytes, std::optional<Hdf5Windows> windows = {},
                                                  const std::string& path = "/x") {
  Hdf5BytesInMemory memory(hdf5_buffer(bytes));
  FOREBAY_ASSIGN(Hdf5Metadata metadata, Hdf5Metadata::open(memory));
  FOREBAY_ASSIGN(Hdf5Columns columns, resolve_hdf5_fields(metadata, {{"x", path}}, windows));
  return std::shared_ptr<const Hdf5File>(std::make_shared<Hdf5File>(std::move(columns), windows, metadata.offset(0)));
}

/// All rows, decoded from exactly the bytes that ranges() names. Counts how often each byte of a
/// chunk is requested.
template <typename T>
std::vector<T> decoded(const Hdf5File& file, const std::string& bytes, std::map<uint64_t, int>* asked = nullptr) {
  std::vector<T> all;
  const size_t field = 0;
  for (int64_t group = 0; group < file.groups(); ++group) {
    std::vector<TableFile::Piece> pieces;
    for (const ByteRange& range : file.ranges(group, std::span(&field, 1))) {
      pieces.push_back({range.offset, hdf5_buffer(bytes.substr(range.offset, range.length))});
      if (asked) ++(*asked)[range.offset];
    }
    WorkMemory memory;
    const Result<Columns> columns = file.decode(group, std::span(&field, 1), pieces, memory);
    EXPECT_TRUE(columns.ok()) << columns.status().to_string();
    if (!columns.ok()) return all;
    EXPECT_TRUE(columns->check().ok()) << columns->check().to_string();
    EXPECT_EQ(columns->rows, file.rows(group));
    const auto* const values = reinterpret_cast<const T*>(columns->values[0].values.data());
    all.insert(all.end(), values, values + columns->values[0].values.size() / sizeof(T));
  }
  return all;
}

std::string message_of(const std::string& bytes, const std::string& path = "/x") {
  return open_made(bytes, {}, path).status().to_string();
}

TEST(hdf5_file, gives_the_rows_of_chunks_the_last_of_which_reaches_beyond_the_end) {
  const std::string bytes = counting_file(10, 4).to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ((*file)->schema().to_string(), "x: int32 ()");
  std::vector<int32_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(decoded<int32_t>(**file, bytes), expected);
}

TEST(hdf5_file, puts_chunks_of_several_axes_together) {
  TestHdf5File made;
  made.dims = {3, 5};
  made.chunk = {2, 3};
  const auto block = [](int row, int column) {
    std::vector<int32_t> values;
    for (int r = row; r < row + 2; ++r) {
      for (int c = column; c < column + 3; ++c) values.push_back(r < 3 && c < 5 ? r * 10 + c : -1);
    }
    return bytes_of_numbers(values);
  };
  made.chunks = {
      {{0, 0}, block(0, 0), 0}, {{0, 3}, block(0, 3), 0}, {{2, 0}, block(2, 0), 0}, {{2, 3}, block(2, 3), 0}};
  const std::string bytes = made.to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(decoded<int32_t>(**file, bytes),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24}));
}

TEST(hdf5_file, what_was_never_written_is_the_fill_value) {
  TestHdf5File made = counting_file(12, 4);
  made.fill = bytes_of_numbers<int32_t>({-7});
  made.chunks.erase(made.chunks.begin() + 1);
  const std::string bytes = made.to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(decoded<int32_t>(**file, bytes), (std::vector<int32_t>{0, 1, 2, 3, -7, -7, -7, -7, 8, 9, 10, 11}));
}

TEST(hdf5_file, windows_lie_where_their_stride_says_and_the_rest_goes) {
  const std::string bytes = counting_file(10, 4).to_bytes();
  for (const auto& [rows, stride] : {std::pair<int64_t, int64_t>{4, 4}, {3, 2}, {5, 1}, {2, 7}, {10, 3}}) {
    const auto file = open_made(bytes, Hdf5Windows{rows, stride});
    ASSERT_TRUE(file.ok());
    std::vector<int32_t> expected;
    for (int64_t begin = 0; begin + rows <= 10; begin += stride) {
      for (int64_t i = 0; i < rows; ++i) expected.push_back(static_cast<int32_t>(begin + i));
    }
    EXPECT_EQ(decoded<int32_t>(**file, bytes), expected) << rows << " " << stride;
  }
  const auto none = open_made(bytes, Hdf5Windows{11, 1});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->groups(), 0);
}

TEST(hdf5_file, each_stored_chunk_is_in_one_row_group) {
  const std::string bytes = counting_file(3'000'000, 1000).to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_GT((*file)->groups(), 1);
  std::map<uint64_t, int> asked;
  EXPECT_EQ(decoded<int32_t>(**file, bytes, &asked).size(), 3'000'000u);
  uint64_t fetched = 0;
  const size_t field = 0;
  for (int64_t group = 0; group < (*file)->groups(); ++group)
    fetched += (*file)->cost(group, std::span(&field, 1)).fetched_bytes;
  EXPECT_EQ(fetched, 12'000'000u) << "a chunk is read twice, or not at all";
}

TEST(hdf5_file, overlapping_windows_share_chunks_but_for_the_ends_of_row_groups) {
  const std::string bytes = counting_file(2'000'000, 1000).to_bytes();
  const auto file = open_made(bytes, Hdf5Windows{100, 50});
  ASSERT_TRUE(file.ok());
  uint64_t fetched = 0;
  const size_t field = 0;
  for (int64_t group = 0; group < (*file)->groups(); ++group)
    fetched += (*file)->cost(group, std::span(&field, 1)).fetched_bytes;
  EXPECT_LE(fetched, 8'000'000u * 9 / 8);
}

TEST(hdf5_file, a_name_that_is_not_there_is_told_with_those_that_are) {
  const std::string bytes = counting_file(4, 4).to_bytes();
  const std::string told = message_of(bytes, "/y");
  EXPECT_NE(told.find("NotFound"), std::string::npos) << told;
  EXPECT_NE(told.find("there is x"), std::string::npos) << told;
  EXPECT_NE(message_of(bytes, "/").find("is a group"), std::string::npos);
  EXPECT_NE(message_of(bytes, "/x@rate").find("no attribute 'rate'"), std::string::npos);
}

TEST(hdf5_file, other_filters_are_refused_with_the_way_out) {
  for (const auto& [id, name] :
       {std::pair<uint16_t, const char*>{4, "szip"}, {5, "nbit"}, {6, "scaleoffset"}, {32008, "filter 32008"}}) {
    TestHdf5File made = counting_file(4, 4);
    made.filters = {{id, {}}};
    const std::string told = message_of(made.to_bytes());
    EXPECT_NE(told.find("Unsupported"), std::string::npos) << told;
    EXPECT_NE(told.find(name), std::string::npos) << told;
    EXPECT_NE(told.find("h5repack"), std::string::npos) << told;
  }
}

TEST(hdf5_file, a_chunk_that_claims_a_gigabyte_in_a_small_file_takes_no_memory) {
  TestHdf5File made;
  made.dims = {uint64_t{1} << 28};
  made.chunk = {uint64_t{1} << 28};
  made.filters = {{1, {6}}};
  made.chunks = {{{0}, std::string(10'000, 'z'), 0}};
  const auto file = open_made(made.to_bytes());
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const size_t field = 0;
  EXPECT_GE((*file)->cost(0, std::span(&field, 1)).decoded_bytes, uint64_t{1} << 30) << "what it takes is known before";
  std::vector<uint8_t> none;
  WorkMemory memory(1 << 20);
  Hdf5Filtering filtering;
  const auto undone = filtering.undo(std::vector<Hdf5Filter>{{Hdf5Filter::kDeflate, {}, {}}}, 0,
                                     std::vector<uint8_t>(10'000, 'z'), uint64_t{1} << 30, memory);
  EXPECT_EQ(undone.status().code(), Code::kCorrupt) << "10,000 bytes cannot be a gigabyte";
  const auto bomb = filtering.undo(std::vector<Hdf5Filter>{{Hdf5Filter::kDeflate, {}, {}}}, 0,
                                   std::vector<uint8_t>(10'000, 'z'), uint64_t{8} << 20, memory);
  EXPECT_EQ(bomb.status().code(), Code::kOutOfBudget) << "memory is asked for before it is taken";
}

TEST(hdf5_file, lying_sizes_and_places_are_told) {
  const auto told = [](const TestHdf5File& made) { return message_of(made.to_bytes()); };
  TestHdf5File short_chunk = counting_file(8, 4);
  short_chunk.chunks[1].stored.resize(12);
  EXPECT_NE(told(short_chunk).find("another size than its shape"), std::string::npos);
  TestHdf5File inside = counting_file(8, 4);
  inside.chunks[1].first_element = {2};
  EXPECT_NE(told(inside).find("begins inside another one"), std::string::npos);
  TestHdf5File twice = counting_file(8, 4);
  twice.chunks[1].first_element = {0};
  EXPECT_NE(told(twice).find("two places"), std::string::npos);
  TestHdf5File wide = counting_file(8, 4);
  wide.element_bytes = 8;
  EXPECT_NE(told(wide).find("other elements"), std::string::npos);
  TestHdf5File vast = counting_file(8, 4);
  vast.dims = {UINT64_MAX - 5};
  EXPECT_NE(told(vast).find("no file could hold"), std::string::npos);
  TestHdf5File none = counting_file(8, 4);
  none.chunk = {0};
  EXPECT_NE(told(none).find("makes no sense"), std::string::npos);
}

TEST(hdf5_file, a_file_cut_off_anywhere_is_told) {
  const std::string bytes = counting_file(10, 4).to_bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    const Result<std::shared_ptr<const Hdf5File>> opened = open_made(bytes.substr(0, length));
    ASSERT_FALSE(opened.ok()) << length;
    ASSERT_EQ(opened.status().code(), Code::kCorrupt) << length << ": " << opened.status().to_string();
  }
}

TEST(hdf5_file, a_damaged_chunk_names_its_data_set_and_its_place) {
  TestHdf5File made = counting_file(4, 4);
  made.filters = {{1, {6}}};
  made.chunks[0].stored = "no zlib stream at all";
  const std::string bytes = made.to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const size_t field = 0;
  const std::vector<ByteRange> ranges = (*file)->ranges(0, std::span(&field, 1));
  ASSERT_EQ(ranges.size(), 1u);
  const std::vector<TableFile::Piece> pieces = {
      {ranges[0].offset, hdf5_buffer(bytes.substr(ranges[0].offset, ranges[0].length))}};
  WorkMemory memory;
  const Status status = (*file)->decode(0, std::span(&field, 1), pieces, memory).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("'/x'"), std::string::npos) << status.message();
  EXPECT_EQ(status.range(), ranges[0]);
}

TEST(hdf5_file, chunks_in_any_division_of_pieces_are_joined) {
  const std::string bytes = counting_file(10, 4).to_bytes();
  const auto file = open_made(bytes);
  ASSERT_TRUE(file.ok());
  const size_t field = 0;
  std::vector<TableFile::Piece> pieces;
  for (size_t begin = 0; begin < bytes.size(); begin += 7)
    pieces.push_back({begin, hdf5_buffer(bytes.substr(begin, 7))});
  WorkMemory memory;
  const Result<Columns> columns = (*file)->decode(0, std::span(&field, 1), pieces, memory);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(reinterpret_cast<const int32_t*>(columns->values[0].values.data())[9], 9);
  pieces.erase(pieces.begin() + 9);
  EXPECT_EQ((*file)->decode(0, std::span(&field, 1), pieces, memory).status().code(), Code::kInternal);
}

}  // namespace
}  // namespace forebay
