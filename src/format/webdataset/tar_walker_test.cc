#include "format/webdataset/tar_walker.h"

#include <gtest/gtest.h>

#include "format/webdataset/tar_test_support.h"

namespace forebay::tar_test {
namespace {

struct Walked {
  std::vector<TarMember> members;
  Status status;
  size_t windows = 0;

  std::string names() const {
    std::string names;
    for (const TarMember& member : members) names += (names.empty() ? "" : " ") + member.name;
    return names;
  }
};

/// Passes exactly the requested bytes, and `more` after them.
Walked walk_tar(const std::string& tar, uint64_t more = 0) {
  Walked walked;
  TarWalker walker(0, tar.size());
  TarWindow window;
  while (true) {
    TarMember member;
    const auto step = walker.next(window, member);
    if (!step.ok()) {
      walked.status = step.status();
      return walked;
    }
    if (*step == TarWalker::Step::kEnd) return walked;
    if (*step == TarWalker::Step::kMember) {
      walked.members.push_back(member);
      continue;
    }
    const ByteRange needed = walker.needed();
    EXPECT_LE(needed.offset + needed.length, tar.size());
    const std::string_view part = std::string_view(tar).substr(needed.offset, needed.length + more);
    window = {needed.offset, bytes_of(part)};
    ++walked.windows;
  }
}

void expect_corrupt(const std::string& tar, std::string_view why, uint64_t at) {
  const Status status = walk_tar(tar).status;
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.to_string();
  EXPECT_NE(status.message().find(why), std::string::npos) << status.to_string();
  EXPECT_NE(status.message().find(fmt::format("at byte {}:", at)), std::string::npos) << status.to_string();
  ASSERT_TRUE(status.range());
  EXPECT_EQ(status.range()->offset, at);
}

TEST(tar_walker, gives_members_with_the_places_of_their_data) {
  const Walked walked = walk_tar(tar_of({{"a.txt", "hello"}, {"b.txt", std::string(513, 'x')}, {"c.txt", ""}}));
  ASSERT_EQ(walked.names(), "a.txt b.txt c.txt");
  EXPECT_EQ(walked.members[0].data, 512u);
  EXPECT_EQ(walked.members[1].begin, 1024u);
  EXPECT_EQ(walked.members[1].size, 513u);
  EXPECT_EQ(walked.members[2].begin, 1024u + 512 + 1024);
}

TEST(tar_walker, is_the_same_over_windows_of_any_size) {
  const std::string tar = entry("././@LongLink", std::string(300, 'n') + '\0', 'L') + entry("n", "data") +
                          entry("pax", pax_record("path", "p/q"), 'x') + entry("short", std::string(5000, 'x')) +
                          end_of_tar();
  const std::string names = walk_tar(tar).names();
  EXPECT_EQ(names, std::string(300, 'n') + " p/q");
  for (const uint64_t more : {1, 511, 512, 513, 4096, 100'000}) EXPECT_EQ(walk_tar(tar, more).names(), names) << more;
  EXPECT_EQ(walk_tar(tar, 100'000).windows, 1u);
}

TEST(tar_walker, headers_before_the_header_belong_to_the_member) {
  const std::string tar = entry("a", "") +
                          entry("pax", pax_record("mtime", "1.5") + pax_record("path", "long name"), 'x') +
                          entry("short", "data") + entry("plain", "") + end_of_tar();
  const Walked walked = walk_tar(tar);
  ASSERT_EQ(walked.names(), "a long name plain");
  EXPECT_EQ(walked.members[1].begin, 512u);
  EXPECT_EQ(walked.members[1].data, 512u + 1024 + 512);
}

TEST(tar_walker, a_size_in_a_pax_header_is_that_of_the_data) {
  const std::string tar = entry("pax", pax_record("size", "600"), 'x') + header("big", 0) +
                          padded(std::string(600, 'x')) + entry("next", "") + end_of_tar();
  const Walked walked = walk_tar(tar);
  ASSERT_EQ(walked.names(), "big next");
  EXPECT_EQ(walked.members[0].size, 600u);
}

TEST(tar_walker, links_folders_and_devices_are_no_files_and_have_no_data) {
  std::string tar;
  for (const char type : std::string("123456")) tar += header("x", 700, type);
  const Walked walked =
      walk_tar(tar + header("old/", 0, '\0') + entry("f", "x", '\0') + entry("g", "y", '7') + end_of_tar());
  ASSERT_EQ(walked.members.size(), 9u);
  for (size_t i = 0; i < 7; ++i) EXPECT_NE(walked.members[i].kind, TarMember::Kind::kFile) << i;
  EXPECT_EQ(walked.members[7].kind, TarMember::Kind::kFile);
  EXPECT_EQ(walked.members[8].kind, TarMember::Kind::kFile);
}

TEST(tar_walker, notes_of_other_programs_are_passed_over) {
  EXPECT_EQ(walk_tar(entry("g", pax_record("comment", "by git"), 'g') + entry("label", "", 'V') + entry("a", "") +
                     end_of_tar())
                .names(),
            "label a");
}

TEST(tar_walker, sparse_files_and_other_volumes_are_unsupported) {
  for (const std::string& tar :
       {entry("a", "", 'S'), entry("a", "", 'M'), entry("p", pax_record("GNU.sparse.major", "1"), 'x'),
        entry("g", pax_record("path", "all"), 'g')})
    EXPECT_EQ(walk_tar(tar + entry("b", "") + end_of_tar()).status.code(), Code::kUnsupported);
}

TEST(tar_walker, a_tar_that_was_cut_off_anywhere_is_corrupt) {
  const std::string tar = tar_of({{"a.txt", "hello"}, {"b.txt", std::string(600, 'x')}});
  const size_t end = tar.size() - 2 * kTarBlockBytes;
  for (size_t length = 0; length < end + kTarBlockBytes; ++length)
    EXPECT_EQ(walk_tar(tar.substr(0, length)).status.code(), Code::kCorrupt) << length;
  EXPECT_TRUE(walk_tar(tar.substr(0, end + kTarBlockBytes)).status.ok());
}

TEST(tar_walker, tars_end_to_end_are_read_as_one) {
  const std::string a = tar_of({{"a.txt", "a"}}), b = tar_of({{"b.txt", std::string(600, 'b')}});
  for (const size_t padding : {0, 512, 10240}) {
    const Walked walked = walk_tar(a + std::string(padding, '\0') + b + std::string(padding, '\0'));
    EXPECT_EQ(walked.names(), "a.txt b.txt");
    EXPECT_EQ(walked.members[1].begin, a.size() + padding);
  }
  expect_corrupt(a + b.substr(0, 512 + 1024), "without the blocks of zeros", a.size() + 512 + 1024);
}

TEST(tar_walker, other_data_behind_the_end_is_counted_and_a_damaged_header_is_told) {
  const std::string tar = tar_of({{"a.txt", "a"}});
  for (const std::string& rest : {std::string(700, 'x'), std::string("end")}) {
    TarWalker walker(0, tar.size() + rest.size());
    const std::string whole = tar + rest;
    TarMember member;
    ASSERT_EQ(*walker.next({0, bytes_of(whole)}, member), TarWalker::Step::kMember);
    ASSERT_EQ(*walker.next({0, bytes_of(whole)}, member), TarWalker::Step::kEnd);
    EXPECT_EQ(walker.trailing_bytes(), rest.size());
  }
  std::string damaged = tar;
  damaged[0] = 'b';
  expect_corrupt(tar + damaged, "checksum", tar.size());
}

TEST(tar_walker, links_name_what_they_lead_to) {
  std::string hard = header("h", 0, '1'), symbolic = header("s", 0, '2');
  for (std::string* const link : {&hard, &symbolic}) {
    link->replace(157, 5, "a.txt");
    seal(*link);
  }
  const std::string name(300, 'n');
  const Walked walked = walk_tar(hard + symbolic + entry("././@LongLink", name + '\0', 'K') + hard +
                                 entry("pax", pax_record("linkpath", "p/q"), 'x') + symbolic + end_of_tar());
  ASSERT_EQ(walked.names(), "h s h s");
  EXPECT_EQ(walked.members[0].link, "a.txt");
  EXPECT_EQ(walked.members[0].kind, TarMember::Kind::kHardLink);
  EXPECT_EQ(walked.members[1].kind, TarMember::Kind::kSymbolicLink);
  EXPECT_EQ(walked.members[2].link, name);
  EXPECT_EQ(walked.members[3].link, "p/q");
}

TEST(tar_walker, says_where_it_is_damaged) {
  const std::string a = entry("a", "hello");
  expect_corrupt("", "empty", 0);
  expect_corrupt(a, "without the blocks of zeros", a.size());
  expect_corrupt(a + std::string(512, 'x') + end_of_tar(), "checksum", a.size());
  expect_corrupt(a + header("b", 5000) + end_of_tar(), "'b' states 5000 bytes, and 1024 follow", a.size());
  expect_corrupt(a + header("b", 1ULL << 32) + end_of_tar(), "states 4294967296 bytes", a.size());
  expect_corrupt(a + entry("L", "name", 'L') + end_of_tar(), "ends behind", a.size() + 1024);
}

TEST(tar_walker, sizes_that_would_overflow_are_refused) {
  std::string huge = header("x", 0);
  huge.replace(124, 12, std::string_view("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  seal(huge);
  expect_corrupt(huge + end_of_tar(), "states 9223372036854775807 bytes", 0);
  huge.replace(124, 12, std::string_view("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  huge.replace(156, 1, "L");
  seal(huge);
  expect_corrupt(huge + end_of_tar(), "no name is that long", 0);
}

TEST(tar_walker, damaged_pax_headers_are_corrupt) {
  for (const std::string& records :
       {std::string("nonsense"), std::string("99 path=x\n"), std::string("3 a\n"), std::string("9 path=x"),
        std::string("0 path=x\n"), std::string("18446744073709551615 path=x\n"), std::string("11 pathsss\n"),
        pax_record("size", "-5"), pax_record("size", "99999999999999999999")})
    EXPECT_EQ(walk_tar(entry("p", records, 'x') + entry("a", "") + end_of_tar()).status.code(), Code::kCorrupt)
        << records;
}

TEST(tar_walker, a_flipped_bit_of_a_header_is_told_or_changes_nothing) {
  const std::string tar = tar_of({{"a.txt", "hello"}});
  for (size_t bit = 0; bit < 8 * kTarBlockBytes; ++bit) {
    std::string bad = tar;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const Walked walked = walk_tar(bad);
    EXPECT_TRUE(walked.status.code() == Code::kCorrupt || walked.names() == "a.txt") << bit;
  }
}

}  // namespace
}  // namespace forebay::tar_test
