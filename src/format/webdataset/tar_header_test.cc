#include "format/webdataset/tar_header.h"

#include <gtest/gtest.h>

#include "format/webdataset/tar_test_support.h"

namespace forebay::tar_test {
namespace {

TarHeaderBlock must_parse(const std::string& block) {
  const auto parsed = parse_tar_header(bytes_of(block));
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return parsed.ok() ? *parsed : TarHeaderBlock();
}

void set(std::string& block, size_t offset, std::string_view value) {
  block.replace(offset, value.size(), value);
  seal(block);
}

TEST(tar_header, gives_name_type_and_size) {
  const TarHeaderBlock parsed = must_parse(header("a/b.jpg", 1234));
  EXPECT_EQ(parsed.name, "a/b.jpg");
  EXPECT_EQ(parsed.type, '0');
  EXPECT_EQ(parsed.size, 1234u);
}

TEST(tar_header, a_prefix_stands_before_the_name) {
  EXPECT_EQ(must_parse(header("b.jpg", 0, '0', "long/way")).name, "long/way/b.jpg");
}

TEST(tar_header, where_gnu_keeps_times_is_no_prefix) {
  std::string block = header("b.jpg", 0, '0', "14371234567");
  set(block, 257, "ustar  ");
  EXPECT_EQ(must_parse(block).name, "b.jpg");
}

TEST(tar_header, a_name_may_fill_its_field) {
  const std::string name(100, 'n');
  EXPECT_EQ(must_parse(header(name, 0)).name, name);
}

TEST(tar_header, sizes_in_base_256_are_read) {
  std::string block = header("a", 0);
  set(block, 124, std::string_view("\x80\0\0\0\0\0\0\x02\0\0\0\1", 12));
  EXPECT_EQ(must_parse(block).size, (uint64_t{2} << 32) + 1);
}

TEST(tar_header, sizes_beyond_64_bits_and_below_zero_are_refused) {
  for (const std::string_view size : {std::string_view("\x80\1\0\0\0\0\0\0\0\0\0\0", 12),
                                      std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12)}) {
    std::string block = header("a", 0);
    set(block, 124, size);
    EXPECT_EQ(parse_tar_header(bytes_of(block)).status().code(), Code::kCorrupt);
  }
}

TEST(tar_header, blanks_around_a_size_do_not_count) {
  std::string block = header("a", 0);
  set(block, 124, std::string_view("   17 \0\0\0\0\0\0", 12));
  EXPECT_EQ(must_parse(block).size, 15u);
}

TEST(tar_header, a_size_that_is_no_number_is_corrupt) {
  std::string block = header("a", 0);
  set(block, 124, "00000000189");
  EXPECT_EQ(parse_tar_header(bytes_of(block)).status().code(), Code::kCorrupt);
}

// In the checksum field a blank may replace a leading zero.
TEST(tar_header, a_flipped_bit_is_found_or_changes_nothing) {
  const std::string good = header("a/b.jpg", 1234);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto parsed = parse_tar_header(bytes_of(bad));
    EXPECT_EQ(parsed.ok() ? parsed->name : "a/b.jpg", "a/b.jpg") << bit;
    EXPECT_EQ(parsed.ok() ? parsed->size : 1234, 1234u) << bit;
    if (bit / 8 < 148 || bit / 8 > 155) {
      EXPECT_FALSE(parsed.ok()) << bit;
    }
  }
}

TEST(tar_header, a_checksum_of_signed_bytes_is_taken) {
  std::string block = header("\xfc\xfd", 0);
  int sum = 0;
  block.replace(148, 8, 8, ' ');
  for (const char c : block) sum += static_cast<signed char>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum).append(1, '\0'));
  EXPECT_EQ(must_parse(block).name, "\xfc\xfd");
}

TEST(tar_header, only_zeros_are_a_zero_block) {
  std::string block(kTarBlockBytes, '\0');
  EXPECT_TRUE(is_zero_block(bytes_of(block)));
  block.back() = 1;
  EXPECT_FALSE(is_zero_block(bytes_of(block)));
}

}  // namespace
}  // namespace forebay::tar_test
