#include "format/webdataset/tar_index.h"
#include "format/webdataset/sample_grouper.h"

#include <gtest/gtest.h>

#include "format/webdataset/tar_test_support.h"

namespace forebay::tar_test {
namespace {

Result<TarIndex> index_of(const std::string& tar) {
  SampleGrouper grouper;
  TarWalker walker(0, tar.size());
  TarMember member;
  while (true) {
    FOREBAY_ASSIGN(const TarWalker::Step step, walker.next({0, bytes_of(tar)}, member));
    if (step == TarWalker::Step::kEnd) return std::move(grouper).take();
    FOREBAY_RETURN_IF_ERROR(grouper.add(member));
  }
}

TarIndex must_index(const std::string& tar) {
  auto index = index_of(tar);
  EXPECT_TRUE(index.ok()) << index.status().to_string();
  return index.ok() ? std::move(*index) : TarIndex();
}

const std::string kTar = entry("README", "about") + entry("a/1.jpg", "jpeg") + entry("a/1.cls", "7") +
                         entry("a/", "", '5') + entry("a/2.cls", "8") + entry("a/2.jpg", std::string(600, 'x')) +
                         entry("a/1.jpg", "again") + end_of_tar();

TEST(tar_index, files_that_follow_each_other_with_one_base_name_are_a_sample) {
  const TarIndex index = must_index(kTar);
  EXPECT_EQ(index.extensions, (std::vector<std::string>{"jpg", "cls"}));
  ASSERT_EQ(index.samples.size(), 3u);
  EXPECT_EQ(index.files_of(0).size(), 2u);
  EXPECT_EQ(index.files_of(1)[1].bytes, 600u);
  EXPECT_EQ(index.files_of(2).size(), 1u);
  EXPECT_EQ(index.samples[1].name_bytes, 3u);
}

TEST(tar_index, samples_lie_end_to_end_from_the_beginning_on) {
  const TarIndex index = must_index(kTar);
  EXPECT_EQ(index.samples[0].begin, 0u);
  EXPECT_EQ(index.end_of(0), 3u * 1024);
  EXPECT_EQ(index.samples[1].begin, index.end_of(0));
  EXPECT_EQ(index.end, kTar.size() - 1024);
}

TEST(tar_index, becomes_bytes_and_comes_back) {
  const TarIndex index = must_index(kTar);
  const auto back = TarIndex::from_bytes(index.to_bytes(), kTar.size());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to_bytes(), index.to_bytes());
  EXPECT_EQ(back->end, index.end);
  EXPECT_EQ(back->samples[2].begin, index.samples[2].begin);
}

TEST(tar_index, has_the_places_of_files_whatever_stands_before_them) {
  const std::string pax = pax_record("mtime", "1.5");
  const std::string tar = entry("README", "about") + entry("./PaxHeaders/1.jpg", pax, 'x') + entry("1.jpg", "first") +
                          entry("1.cls", "7") + entry("1/", "", '5') + entry("1.txt", std::string(600, 't')) +
                          entry("2.jpg", "", '1') + entry("2.cls", "8") + end_of_tar();
  const TarIndex index = must_index(tar);
  const auto back = TarIndex::from_bytes(index.to_bytes(), tar.size());
  ASSERT_TRUE(back);
  const std::vector<std::string> values = {"first", "7", std::string(600, 't'), "", "8"};
  ASSERT_EQ(back->files.size(), values.size());
  TarFilePlaces places(index), read(*back);
  for (size_t i = 0, sample = 0; i < values.size(); ++i) {
    if (sample < index.samples.size() && index.samples[sample].first_file == i) {
      places.begin(sample);
      read.begin(sample++);
    }
    const ByteRange place = places.next(), place_read = read.next();
    EXPECT_EQ(place_read.offset, place.offset) << i;
    EXPECT_EQ(place_read.length, values[i].size()) << i;
    EXPECT_EQ(tar.substr(place_read.offset, place_read.length), values[i]) << i;
  }
}

TEST(tar_index, bytes_of_a_longer_tar_are_refused) {
  EXPECT_FALSE(TarIndex::from_bytes(must_index(kTar).to_bytes(), kTar.size() - 2048));
}

TEST(tar_index, damaged_bytes_are_refused_or_give_an_index_of_that_tar) {
  const std::string good = must_index(kTar).to_bytes();
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(TarIndex::from_bytes(good.substr(0, length), kTar.size())) << length;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto index = TarIndex::from_bytes(bad, kTar.size());
    if (!index) continue;
    EXPECT_LE(index->end, kTar.size());
    for (const auto& file : index->files) EXPECT_LT(file.extension, index->extensions.size());
  }
}

TEST(tar_index, counts_that_no_bytes_follow_take_no_memory) {
  EXPECT_FALSE(TarIndex::from_bytes(std::string("\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10), UINT64_MAX));
  EXPECT_FALSE(TarIndex::from_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 4096));
}

TEST(tar_index, paths_that_leave_their_folder_end_it_with_their_place) {
  const auto index = index_of(entry("ok.txt", "") + entry("../../etc/passwd.txt", "") + end_of_tar());
  EXPECT_EQ(index.status().code(), Code::kCorrupt);
  EXPECT_NE(index.status().message().find("'../../etc/passwd.txt' is a path that leaves its folder"),
            std::string::npos);
  EXPECT_EQ(index.status().range()->offset, 512u);
}

TEST(tar_index, numbers_before_the_extension_are_told_and_not_taken_for_fields) {
  std::string tar;
  for (int i = 0; i < 300; ++i) tar += entry(fmt::format("image.{:04}.jpg", i), "x");
  const Status status = index_of(tar + end_of_tar()).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("first dot"), std::string::npos) << status.to_string();
}

TEST(tar_index, a_tar_without_samples_has_none) {
  EXPECT_TRUE(must_index(end_of_tar()).samples.empty());
  EXPECT_TRUE(must_index(entry("README", "x") + end_of_tar()).samples.empty());
}

}  // namespace
}  // namespace forebay::tar_test
