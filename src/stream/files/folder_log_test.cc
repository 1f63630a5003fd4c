#include "stream/files/folder_log.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "store/local/local_store.h"
#include "store/scratch_folder.h"
#include "stream/files/followed_folder.h"
#include "stream/log_conformance.h"
#include "stream/manual_clock_test_support.h"

namespace forebay {

namespace {

using conformance::LogUnderTest;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;

std::shared_ptr<const RecordLog> open_folder(const std::string& pattern, StreamClock& clock) {
  auto log =
      folder_log(local_store(""), FilePattern::of(pattern).value(), RecordFormat::parse("bytes", "").value(), clock);
  EXPECT_TRUE(log.ok()) << log.status().to_string();
  return std::move(log).value();
}

/// Files come in the order in which they were changed, those of one tick of the clock by name.
class FolderUnderTest final : public LogUnderTest {
 public:
  std::shared_ptr<const RecordLog> log() override { return open_folder(folder_.path("*.bin"), clock_); }
  void append(size_t, const std::vector<std::string>& payloads) override {
    for (const std::string& payload : payloads) {
      // The clock does not wait for a writer, so each file appears as a whole.
      const std::string name = fmt::format("{:08}.bin", written_++);
      folder_.write(name + ".tmp", payload);
      std::filesystem::rename(folder_.path(name + ".tmp"), folder_.path(name));
    }
  }

 private:
  ManualClock clock_;
  ScratchFolder folder_;
  size_t written_ = 0;
};

class FolderLogTest : public testing::Test {
 protected:
  ManualClock clock_;
  const ScratchFolder folder_;
};

std::vector<std::string> sorted_keys(const std::vector<LogRecord>& records) {
  std::vector<std::string> keys;
  for (const LogRecord& record : records) keys.push_back(record.key);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(Folder, LogConformance,
                         testing::Values(LogDriver{"Folder", [](size_t) { return std::make_unique<FolderUnderTest>(); },
                                                   1, 3'000}));
}  // namespace conformance

TEST(FolderPlace, IsReadAsItIsWritten) {
  for (const std::string text : {"0/a", "1700000000123456789/a/b c.jpg", "5//"}) {
    const auto place = FolderPlace::parse(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->to_string(), text);
  }
  for (const std::string text : {"", "a", "1", "1/", "/a", "-1/a", "01/a", "9223372036854775808/a", "1 /a"})
    EXPECT_FALSE(FolderPlace::parse(text)) << text;
  EXPECT_FALSE(FolderPlace::parse("1/" + std::string(2000, 'k')));
  EXPECT_LT(*FolderPlace::parse("9/z"), *FolderPlace::parse("10/a"));
  EXPECT_LT(*FolderPlace::parse("9/a"), *FolderPlace::parse("9/b"));
}

TEST_F(FolderLogTest, AFolderByItselfIsToldHowToReadWhatIsBelow) {
  const Status status = FilePattern::look_at(folder_.path("")).status();
  EXPECT_NE(status.message().find("for the files below it use"), std::string::npos) << status.to_string();
}

TEST_F(FolderLogTest, UnfinishedAndHiddenNamesAreLeftOut) {
  for (const std::string name : {".hidden", "a.tmp", "sub/b.part", "sub/.c", ".d/e", "sub/deep/f", "g"})
    folder_.write(name, name);
  const auto log = open_folder(folder_.path("**"), clock_);
  const auto reading = log->read_after(positions_of(*log)).value();
  EXPECT_EQ(sorted_keys(read_count(*reading, {0}, 2)), (std::vector<std::string>{"g", "sub/deep/f"}));
  std::filesystem::rename(folder_.path("a.tmp"), folder_.path("a"));
  const auto renamed = read_count(*reading, {0}, 1);
  ASSERT_EQ(renamed.size(), 1u);
  EXPECT_EQ(renamed[0].key, "a");
  EXPECT_EQ(text_of(*log, renamed[0]), "a.tmp");
  EXPECT_TRUE(log->schema()[0].fetched);
  EXPECT_FALSE(log->schema()[1].fetched);
}

TEST_F(FolderLogTest, ANameThatNoStateCouldHoldIsNamed) {
  folder_.write("a", "a");
  folder_.write("b\xff", "b");
  const auto log = open_folder(folder_.path("*"), clock_);
  const auto reading = log->read_after(positions_of(*log)).value();
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = reading->read({0}, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("not UTF-8"), std::string::npos) << status.message();
}

TEST_F(FolderLogTest, AFileThatIsWrittenAgainComesAgainAndOneThatIsGoneDoesNot) {
  folder_.write("a", "old");
  folder_.write("b", "old");
  const auto log = open_folder(folder_.path("*"), clock_);
  const auto reading = log->read_after(positions_of(*log)).value();
  EXPECT_EQ(read_count(*reading, {0}, 2).size(), 2u);
  folder_.write("c", "gone soon");
  std::filesystem::remove(folder_.path("c"));
  folder_.write("a", "newer");
  const auto again = read_count(*reading, {0}, 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].key, "a");
  EXPECT_EQ(text_of(*log, again[0]), "newer");
}

TEST_F(FolderLogTest, UnderLoadEveryFileComesOnceInOneOrderForAllReaders) {
  constexpr int kWriters = 3, kFiles = 1000;
  for (int writer = 0; writer < kWriters; ++writer)
    std::filesystem::create_directories(folder_.path(fmt::format("{}", writer)));
  // The system's clock: files of several writers that change in one tick of the file system's clock
  // are told apart only by the time that passes.
  const auto log = open_folder(folder_.path("**"), StreamClock::real());
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < kFiles; ++i) {
        const std::string name = fmt::format("{}/{:04}", writer, i);
        folder_.write(name + ".tmp", name);
        std::filesystem::rename(folder_.path(name + ".tmp"), folder_.path(name));
      }
    });
  }
  const auto live = read_count(*log->read_after(positions_of(*log)).value(), {0}, kWriters * kFiles);
  ASSERT_EQ(live.size(), size_t{kWriters} * kFiles);
  const auto later = read_count(*log->read_after(positions_of(*log)).value(), {0}, kWriters * kFiles);
  for (size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(live[i].offset, later[i].offset);
    EXPECT_EQ(text_of(*log, live[i]), live[i].key);
  }
}

TEST_F(FolderLogTest, AFolderThatIsNotThereIsNotFound) {
  const auto log = open_folder(folder_.path("none/*"), clock_);
  const auto reading = log->read_after(positions_of(*log)).value();
  EXPECT_EQ(reading->read({0}, {}, {}).status().code(), Code::kNotFound);
}

}  // namespace forebay
