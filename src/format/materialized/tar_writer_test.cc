#include "format/materialized/tar_writer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::vector<uint8_t> bytes_of_length(size_t length) {
  std::vector<uint8_t> bytes(length);
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  return bytes;
}

// The parsed fields of a header. Its checksum has been checked.
struct Read {
  std::string name;
  uint64_t size = 0;
  char type = 0;
};
Read header_at(const Buffer& tar, size_t at) {
  const char* head = reinterpret_cast<const char*>(tar.data()) + at;
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(head[i]);
  EXPECT_EQ(std::strtoull(head + 148, nullptr, 8), sum);
  EXPECT_EQ(std::memcmp(head + 257,
                        "ustar\0"
                        "00",
                        8),
            0);
  for (const int field : {108, 116, 136})
    EXPECT_EQ(std::strtoull(head + field, nullptr, 8), 0U) << "of nobody, at no time";
  return {std::string(head, strnlen(head, 100)), std::strtoull(head + 124, nullptr, 8), head[156]};
}

TEST(TarWriter, MembersLieWhereItSaysInWholeBlocks) {
  TarWriter writer;
  std::vector<ByteRange> places;
  const std::vector<size_t> lengths{0, 1, 511, 512, 513, 5000};
  for (const size_t length : lengths)
    places.push_back(*writer.add("member." + std::to_string(length), bytes_of_length(length)));
  const Buffer tar = writer.take();
  EXPECT_EQ(tar.size() % 512, 0U);
  for (size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_EQ(places[i].length, lengths[i]);
    const Read head = header_at(tar, places[i].offset - 512);
    EXPECT_EQ(head.name, "member." + std::to_string(lengths[i]));
    EXPECT_EQ(head.size, lengths[i]);
    EXPECT_EQ(head.type, '0');
    const auto bytes = bytes_of_length(lengths[i]);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), tar.data() + places[i].offset));
  }
  for (size_t i = tar.size() - 1024; i < tar.size(); ++i) ASSERT_EQ(tar.data()[i], 0) << "two empty blocks end it";
}

TEST(TarWriter, LongNamesHaveAPaxHeaderThatCountsItself) {
  for (const size_t length : {100U, 101U, 250U, 986U, 987U, 988U, 989U, 990U, 991U, 992U, 5000U}) {
    TarWriter writer;
    const std::string name(length, 'n');
    const ByteRange place = *writer.add(name, bytes_of_length(3));
    const Buffer tar = writer.take();
    const Read first = header_at(tar, 0);
    EXPECT_EQ(header_at(tar, place.offset - 512).type, '0');
    EXPECT_EQ(first.type, length > 100 ? 'x' : '0');
    if (length <= 100) continue;
    const std::string record(reinterpret_cast<const char*>(tar.data()) + 512, first.size);
    EXPECT_EQ(std::stoull(record), record.size());
    EXPECT_EQ(record.substr(record.find(' ')), " path=" + name + "\n");
  }
}

TEST(TarWriter, NamesThatLeaveTheFolderAreRefused) {
  for (const std::string& name : {std::string(), std::string("/etc/x"), std::string("../x"), std::string("a/../../x"),
                                  std::string("a/.."), std::string("a\0b", 3), std::string("a\nb")}) {
    TarWriter writer;
    EXPECT_EQ(writer.add(name, {}).status().code(), Code::kInvalidArgument) << name;
    EXPECT_TRUE(writer.bytes().empty());
  }
  TarWriter writer;
  EXPECT_TRUE(writer.add("a/..b/c", {}).ok());
}

TEST(TarWriter, EqualMembersGiveEqualArchives) {
  const auto archive = [] {
    TarWriter writer;
    (void)writer.add("a", bytes_of_length(10));
    (void)writer.add(std::string(300, 'b'), bytes_of_length(20));
    return writer.take();
  };
  const Buffer first = archive(), second = archive();
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size()), 0);
}

}  // namespace
}  // namespace forebay
