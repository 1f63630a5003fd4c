#include <fcntl.h>
#include <gtest/gtest.h>

#include <thread>

#include "cache/cache_index.h"
#include "cache/cache_test_support.h"
#include "cache/segment_writer.h"

// Tests segments of a cache on disk: their names and rows, their writer, and readers during
// writing.

namespace forebay {
namespace {

TEST(SegmentFormat, names_have_one_spelling) {
  EXPECT_EQ(segment_file(17, kIndexEnding), "000017.index");
  EXPECT_EQ(segment_number("000017.index", kIndexEnding), 17u);
  EXPECT_EQ(segment_number(segment_file(4'000'000'000, kDataEnding), kDataEnding), 4'000'000'000u);
  for (const char* other : {"17.index", "0000017.index", "000017.data", "000017.index~", "-00017.index", "00001x.index",
                            ".index", "index", "", "000017.index.index", "99999999999.index"})
    EXPECT_EQ(segment_number(other, kIndexEnding), std::nullopt) << other;
}

TEST(SegmentFormat, a_row_is_valid_only_as_it_was_made) {
  const SegmentRow row = SegmentRow::of(id_of(1), 4096, 100, 0.5);
  EXPECT_TRUE(row.valid());
  EXPECT_FALSE(row.dead());
  for (size_t byte = 0; byte < sizeof row; ++byte) {
    SegmentRow changed = row;
    reinterpret_cast<uint8_t*>(&changed)[byte] ^= 1;
    EXPECT_FALSE(changed.valid()) << "byte " << byte;
  }
  EXPECT_TRUE(SegmentRow().dead());
  EXPECT_FALSE(SegmentRow().valid());
  EXPECT_FALSE(SegmentRow::of(id_of(1), 0, 0, 0).valid()) << "of no bytes";
  EXPECT_FALSE(SegmentRow::of(id_of(1), uint64_t{1} << 63, 1, 0).valid()) << "no file is that long";
  EXPECT_FALSE(SegmentRow::of(id_of(1), INT64_MAX, 1, 0).valid()) << "nor ends there";
}

TEST(SegmentFormat, a_header_is_valid_only_as_it_was_made) {
  const SegmentHeader header = SegmentHeader::of(1 << 20, 1 << 10);
  EXPECT_TRUE(header.valid());
  for (size_t byte = 0; byte < sizeof header; ++byte) {
    SegmentHeader changed = header;
    reinterpret_cast<uint8_t*>(&changed)[byte] ^= 0x80;
    EXPECT_FALSE(changed.valid()) << "byte " << byte;
  }
  EXPECT_FALSE(SegmentHeader().valid());
}

TEST(SegmentFormat, room_is_whole_blocks_and_what_may_grow_has_some_more) {
  EXPECT_EQ(disk_space_of_size(0), 0u);
  EXPECT_EQ(disk_space_of_size(1), 4096u);
  EXPECT_EQ(disk_space_of_size(4096), 4096u);
  EXPECT_EQ(disk_space_of_size(4097), 8192u);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 30})
    EXPECT_GE(disk_space_of_limit(bytes), disk_space_of_size(bytes));
  EXPECT_EQ(whole_rows(0), 0u);
  EXPECT_EQ(whole_rows(3 * kSegmentRowBytes - 1), 2 * kSegmentRowBytes);
}

class SegmentTest : public testing::Test {
 protected:
  SegmentTest() : folder_(CacheFolder::open(scratch_.path() + "/place", true).value()) {}

  std::unique_ptr<SegmentWriter> writer() { return SegmentWriter::acquire(folder_).value(); }
  static std::unique_ptr<SegmentWriter> with_room(std::unique_ptr<SegmentWriter> writer) {
    EXPECT_TRUE(writer->grow(1 << 16, 64 * kSegmentRowBytes));
    return writer;
  }
  /// Returns an entry of that many bytes, all of them `n`.
  static uint64_t add(SegmentWriter& writer, uint64_t n, uint64_t bytes = 100) {
    EXPECT_TRUE(writer.fits(bytes));
    const uint64_t at = writer.allocate(bytes);
    EXPECT_TRUE(writer.write_data(at, std::vector<uint8_t>(bytes, static_cast<uint8_t>(n))));
    EXPECT_TRUE(writer.write_row(SegmentRow::of(id_of(n), at, bytes, 0.25)));
    return at;
  }
  std::string file(uint32_t number, std::string_view ending) const {
    return folder_.path() + "/" + segment_file(number, ending);
  }
  void overwrite(const std::string& path, uint64_t at, const std::string& bytes) const {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(at)) << bytes;
  }
  uint64_t found() const {
    CacheIndex index;
    index.refresh(folder_);
    return index.entries();
  }

  ScratchFolder scratch_;
  CacheFolder folder_;
};

TEST_F(SegmentTest, has_no_room_before_it_is_given_some) {
  const auto writer = this->writer();
  EXPECT_FALSE(writer->fits(1));
  EXPECT_GT(writer->extra_disk_space(5000, kSegmentRowBytes), 0u);
  ASSERT_TRUE(writer->grow(5000, kSegmentRowBytes));
  EXPECT_EQ(writer->extra_disk_space(5000, kSegmentRowBytes), 0u) << "it has that already";
  EXPECT_TRUE(writer->fits(5000));
  EXPECT_FALSE(writer->fits(5001));
  add(*writer, 1, 100);
  EXPECT_FALSE(writer->fits(100)) << "the index has no room for a second row";
  EXPECT_LT(writer->data_left(), 5000u);
}

TEST_F(SegmentTest, what_was_written_is_found_with_its_place_and_its_cost) {
  const auto writer = with_room(this->writer());
  add(*writer, 1);
  const uint64_t at = add(*writer, 2, 300);
  CacheIndex index;
  index.refresh(folder_);
  const auto location = index.find(id_of(2));
  ASSERT_TRUE(location.has_value());
  EXPECT_EQ(location->segment, 0u);
  EXPECT_EQ(location->data_offset, at);
  EXPECT_EQ(location->data_bytes, 300u);
  EXPECT_EQ(location->compute_seconds, 0.25);
  EXPECT_EQ(location->row_offset, 2 * kSegmentRowBytes);
  EXPECT_EQ(index.find(id_of(3)), std::nullopt);
  EXPECT_EQ(index.bytes(), 400u);
  EXPECT_GT(index.memory_bytes(), 0u);
}

TEST_F(SegmentTest, a_reader_learns_what_is_added_later_also_in_segments_that_are_new) {
  const auto first = with_room(writer());
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 0u);
  add(*first, 1);
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 1u);
  const auto second = with_room(writer());  // the first is taken
  add(*second, 2);
  add(*first, 3);
  index.try_refresh(folder_);
  EXPECT_EQ(index.entries(), 3u);
  EXPECT_EQ(index.find(id_of(2))->segment, 1u);
}

TEST_F(SegmentTest, one_entry_that_two_wrote_counts_once) {
  const auto first = with_room(writer()), second = with_room(writer());
  add(*first, 1);
  add(*second, 1);
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 1u);
  EXPECT_EQ(index.bytes(), 100u);
}

TEST_F(SegmentTest, the_next_writer_goes_on_where_the_last_one_ended) {
  const uint64_t before = add(*with_room(writer()), 1);
  const uint64_t after = add(*with_room(writer()), 2);
  EXPECT_GT(after, before);
  EXPECT_FALSE(std::filesystem::exists(file(1, kIndexEnding))) << "in the same segment";
  EXPECT_EQ(found(), 2u);
}

TEST_F(SegmentTest, what_a_killed_writer_had_not_told_is_cut_off) {
  {
    const auto writer = with_room(this->writer());
    add(*writer, 1);
    // Data without a row.
    ASSERT_TRUE(writer->write_data(writer->allocate(5000), std::vector<uint8_t>(5000, 7)));
  }
  std::ofstream(file(0, kIndexEnding), std::ios::app | std::ios::binary) << "half a row";
  const auto next = with_room(writer());
  EXPECT_EQ(std::filesystem::file_size(file(0, kDataEnding)), 128u) << "an entry, to its alignment";
  EXPECT_EQ(std::filesystem::file_size(file(0, kIndexEnding)), 2 * kSegmentRowBytes);
  add(*next, 2);
  EXPECT_EQ(found(), 2u);
}

TEST_F(SegmentTest, a_row_whose_bytes_are_not_there_is_nobodys_entry) {
  add(*with_room(writer()), 1);
  add(*with_room(writer()), 2);
  std::filesystem::resize_file(file(0, kDataEnding), 150);  // of the second entry, 128 to 228
  EXPECT_EQ(found(), 1u);
  add(*with_room(writer()), 3);  // in its place
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_TRUE(index.find(id_of(1)) && index.find(id_of(3)));
  EXPECT_EQ(index.find(id_of(2)), std::nullopt) << "its row would name bytes of another entry";
}

TEST_F(SegmentTest, a_damaged_row_hides_no_other) {
  {
    const auto writer = with_room(this->writer());
    for (const uint64_t n : {1, 2, 3}) add(*writer, n);
  }
  overwrite(file(0, kIndexEnding), 2 * kSegmentRowBytes + 20, "damage");
  EXPECT_EQ(found(), 2u);
  with_room(writer());  // clears it
  EXPECT_EQ(found(), 2u);
}

TEST_F(SegmentTest, a_damaged_header_begins_the_segment_anew) {
  add(*with_room(writer()), 1);
  overwrite(file(0, kIndexEnding), 0, "not an index");
  EXPECT_EQ(found(), 0u);
  add(*with_room(writer()), 2);
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 1u);
  EXPECT_TRUE(index.find(id_of(2)));
}

TEST_F(SegmentTest, a_last_row_that_is_just_being_written_is_looked_at_again) {
  const auto writer = with_room(this->writer());
  const uint64_t at = writer->allocate(100);
  ASSERT_TRUE(writer->write_data(at, std::vector<uint8_t>(100, 1)));
  const SegmentRow row = SegmentRow::of(id_of(1), at, 100, 0);
  const std::string bytes(reinterpret_cast<const char*>(&row), sizeof row);
  overwrite(file(0, kIndexEnding), kSegmentRowBytes, bytes.substr(0, 40) + std::string(24, '\xff'));
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 0u);
  overwrite(file(0, kIndexEnding), kSegmentRowBytes, bytes);
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 1u);
}

TEST_F(SegmentTest, what_one_removed_nobody_finds_who_looks_later) {
  const auto writer = with_room(this->writer());
  add(*writer, 1);
  add(*writer, 2);
  CacheIndex mine, other;
  mine.refresh(folder_);
  other.refresh(folder_);
  mine.remove(folder_, id_of(1));
  mine.remove(folder_, id_of(1));  // again
  mine.remove(folder_, id_of(9));  // never there
  EXPECT_EQ(mine.find(id_of(1)), std::nullopt);
  EXPECT_EQ(mine.bytes(), 100u);
  EXPECT_TRUE(other.find(id_of(1))) << "who knew it already";
  EXPECT_EQ(found(), 1u);
}

TEST_F(SegmentTest, files_that_are_gone_are_told) {
  const auto writer = with_room(this->writer());
  EXPECT_TRUE(writer->files_exist());
  std::filesystem::remove(file(0, kDataEnding));
  EXPECT_FALSE(writer->files_exist());
  CacheIndex index;
  index.refresh(folder_);
  EXPECT_EQ(index.entries(), 0u);
}

TEST_F(SegmentTest, readers_see_whole_entries_while_one_writes) {
  const auto writer = this->writer();
  constexpr uint64_t kEntries = 500;
  ASSERT_TRUE(writer->grow(kEntries * 128, kEntries * kSegmentRowBytes));
  std::thread writing([&] {
    for (uint64_t n = 0; n < kEntries; ++n) add(*writer, n);
  });
  CacheIndex index;
  uint64_t seen = 0;
  while (seen < kEntries) {
    index.refresh(folder_);
    EXPECT_GE(index.entries(), seen);
    seen = index.entries();
    for (uint64_t n = 0; n < seen; ++n) ASSERT_EQ(index.find(id_of(n))->data_bytes, 100u);
    if (testing::Test::HasFailure()) break;
  }
  writing.join();
}

}  // namespace
}  // namespace forebay
