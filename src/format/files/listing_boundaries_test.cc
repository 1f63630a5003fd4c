#include "format/files/listing_boundaries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

Boundaries recorded(const std::vector<std::pair<std::string, uint64_t>>& runs, const std::string& folder = "d/") {
  BoundaryRecorder recorder;
  for (const auto& [last, entries] : runs) recorder.add(folder, last, entries);
  return std::move(recorder).boundaries();
}

TEST(BoundaryRecorder, PartsHoldAsManyNamesAsAPageHasRoomFor) {
  struct Case {
    std::vector<std::pair<std::string, uint64_t>> runs;
    std::vector<std::string> cuts;
  };
  const Case cases[] = {
      {{}, {}},
      {{{"d/a", 2000}}, {}},  // one run cannot be divided
      // Together they are one page.
      {{{"d/a", 475}, {"d/b", 475}}, {}},
      {{{"d/a", 475}, {"d/b", 476}}, {"d/a"}},  // one more is not
      // Pages come in any order.
      {{{"d/b", 500}, {"d/a", 500}}, {"d/a"}},
      {{{"d/a", 400}, {"d/b", 400}, {"d/c", 400}, {"d/e", 400}}, {"d/b"}},  //
      {{{"d/a", 5000}, {"d/b", 1}, {"d/c", 5000}}, {"d/a", "d/b"}},
      {{{"d/a", 900}, {"d/a", 900}, {"d/b", 900}}, {"d/a"}},  // the same name is one cut
      {{{"d/a", 0}, {"d/b", 0}, {"d/c", 0}}, {}},
  };
  for (const Case& one : cases) {
    const Boundaries cuts = recorded(one.runs);
    EXPECT_EQ(cuts.contains("d/") ? cuts.at("d/") : std::vector<std::string>(), one.cuts)
        << testing::PrintToString(one.runs);
    EXPECT_EQ(cuts.size(), one.cuts.empty() ? 0u : 1u) << "folders that are not cut take no room";
  }
}

TEST(BoundaryRecorder, OnlyNamesOfTheFolderItselfCutIt) {
  const uint64_t page = 1000;
  EXPECT_TRUE(
      recorded({{"d/", page}, {"d/sub/x", page}, {"e/x", page}, {"d", page}, {"", page}, {"d/z", page}}).empty());
  EXPECT_EQ(recorded({{"a", page}, {"b/c", page}, {"c", page}}, "").at(""), std::vector<std::string>{"a"});
}

struct BoundaryFilesTest : testing::Test {
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  /// Writes a file in the format of save(), with texts that save() would not write.
  void forge(const std::string& listing, const std::vector<std::string>& texts) const {
    std::string payload;
    for (const std::string& text : texts) {
      const auto size = static_cast<uint32_t>(text.size());
      payload.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
    }
    EXPECT_TRUE(IndexFiles({"boundaries", 1 << 20, 1}, folder).save(listing, payload));
  }

  const ScratchFolder scratch;
  const std::string folder = scratch.path("cache/listings");
  const BoundaryFiles files{folder};
  const Boundaries some = {{"d/", {"d/a", "d/b\xff\n", std::string("d/c\0c", 5)}}, {"d/e/", {"d/e/x"}}};
};

TEST_F(BoundaryFilesTest, WhatWasSavedLastIsLoadedWhateverBytesNamesHave) {
  files.save("s3://b/d/", {{"d/", {"d/old"}}});
  files.save("s3://b/d/", some);
  files.save("s3://b/other/", {{"", {"a", "b"}}});
  EXPECT_EQ(files.load("s3://b/d/"), some);
  EXPECT_EQ(files.load("s3://b/other/"), (Boundaries{{"", {"a", "b"}}}));
  EXPECT_TRUE(files.load("s3://b/d").empty()) << "another listing";
  EXPECT_EQ(entries().size(), 2u) << "nothing is left aside";
}

TEST_F(BoundaryFilesTest, NamesThatCannotCutTheirFolderMakeTheFileNone) {
  files.save("l", some);
  forge("l", {"d/", "d/a", "d/b"});
  ASSERT_EQ(files.load("l"), (Boundaries{{"d/", {"d/a", "d/b"}}})) << "the forging itself";
  const std::vector<std::vector<std::string>> lies = {
      {"d/a"},               // without a folder
      {"d/", "d/b", "d/a"},  // not ascending: parts would overlap
      {"d/", "d/a", "d/a"},  // an empty part
      {"d/", "e/a"},         // in another folder
      {"d/", "d/e/a"},       // in a subfolder
  };
  for (const auto& texts : lies) {
    forge("l", texts);
    EXPECT_TRUE(files.load("l").empty()) << testing::PrintToString(texts);
  }
}

TEST_F(BoundaryFilesTest, WhatIsTooLargeIsNotSavedAndNotRead) {
  files.save("l", some);
  Boundaries huge;
  for (int i = 0; i < 18; ++i) huge["d/"].push_back(fmt::format("d/{:02}{}", i, std::string(1 << 20, 'x')));
  files.save("l", huge);
  EXPECT_EQ(files.load("l"), some) << "what was there stays";
  fs::resize_file(files.path("l"), BoundaryFiles::kMaxFileBytes + 1);
  EXPECT_TRUE(files.load("l").empty());
}

}  // namespace
}  // namespace forebay
