#include "stream/files/line_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "store/scratch_folder.h"
#include "stream/files/growing_file.h"
#include "stream/log_conformance.h"
#include "stream/manual_clock_test_support.h"

namespace forebay {

namespace {

using conformance::LogUnderTest;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;

void append_to(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::shared_ptr<const RecordLog> open_lines(const std::string& pattern, StreamClock& clock,
                                            std::string_view form = "bytes", std::string_view fields = "") {
  auto log = open_line_log(FilePattern::of(pattern).value(), RecordFormat::parse(form, fields).value(), {}, clock);
  EXPECT_TRUE(log.ok()) << log.status().to_string();
  return std::move(log).value();
}

class LinesUnderTest final : public LogUnderTest {
 public:
  explicit LinesUnderTest(size_t partitions) {
    for (size_t i = 0; i < partitions; ++i) folder_.write(fmt::format("{}.log", i), "");
  }
  std::shared_ptr<const RecordLog> log() override { return open_lines(folder_.path("*.log"), clock_); }
  void append(size_t partition, const std::vector<std::string>& payloads) override {
    std::string bytes;
    for (const std::string& payload : payloads) bytes += payload + '\n';
    append_to(folder_.path(fmt::format("{}.log", partition)), bytes);
  }

 private:
  ManualClock clock_;
  ScratchFolder folder_;
};

class LineLogTest : public testing::Test {
 protected:
  std::unique_ptr<LogReader> reader(const RecordLog& log, const std::string& after = "") const {
    return log.read_after(positions_of(log, {after})).value();
  }
  /// What a read says when nothing is there to give.
  static Status status_of_read(LogReader& reader) {
    LogReader::Limits limits;
    limits.wait = std::chrono::milliseconds(20);
    const auto records = reader.read({0}, limits, {});
    EXPECT_TRUE(!records.ok() || records->empty());
    return records.status();
  }

  ManualClock clock_;
  const ScratchFolder folder_;
  const std::string path_ = folder_.path("a.log");
};

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(Lines, LogConformance,
                         testing::Values(LogDriver{
                             "Lines", [](size_t partitions) { return std::make_unique<LinesUnderTest>(partitions); }, 4,
                             20'000}));
}  // namespace conformance

TEST_F(LineLogTest, ARecordThatIsBeingWrittenIsLeftAlone) {
  append_to(path_, "first\nsec");
  const auto log = open_lines(path_, clock_);
  const auto reading = reader(*log);
  EXPECT_EQ(text_of(*log, read_count(*reading, {0}, 1).at(0)), "first");
  EXPECT_TRUE(status_of_read(*reading).ok());
  append_to(path_, "ond");
  EXPECT_TRUE(status_of_read(*reading).ok());
  append_to(path_, "\r\n\nthird");
  const auto records = read_count(*reading, {0}, 2);
  EXPECT_EQ(text_of(*log, records.at(0)), "second");
  EXPECT_EQ(records[0].offset, "14");
  EXPECT_EQ(text_of(*log, records.at(1)), "");
  EXPECT_EQ(log->ends({}).value(), std::vector<std::string>{"15"});
  EXPECT_TRUE(status_of_read(*reading).ok());
}

TEST_F(LineLogTest, TornWritesOfAnySizeGiveWholeRecords) {
  std::mt19937 random(7);
  std::string all;
  std::vector<std::string> lines;
  for (int i = 0; i < 2000; ++i) {
    lines.push_back(fmt::format(R"({{"n": {}, "pad": "{}"}})", i, std::string(random() % 300, 'x')));
    all += lines.back() + (i % 7 == 0 ? "\n \n" : "\n");
  }
  append_to(path_, "");
  const auto log = open_lines(path_, clock_, "json", R"({"n": "int64"})");
  std::jthread writer([&] {
    for (size_t at = 0; at < all.size();) {
      const size_t length = std::min<size_t>(all.size() - at, random() % 400);
      append_to(path_, std::string_view(all).substr(at, length));
      at += length;
    }
  });
  const auto records = read_count(*reader(*log), {0}, lines.size());
  for (size_t i = 0; i < records.size(); ++i) {
    Record out;
    ASSERT_TRUE(log->load(records[i], {}, out).ok());
    EXPECT_EQ(*out[0].tensor.data<int64_t>(), static_cast<int64_t>(i));
  }
}

TEST_F(LineLogTest, LinesLongerThanABlockComeWhole) {
  const std::string line(3 << 20, 'y');
  append_to(path_, "a\n" + line + "\nb\n");
  const auto log = open_lines(path_, clock_);
  const auto reading = reader(*log);
  LogReader::Limits limits;
  limits.bytes = 1000;
  std::vector<std::string> texts;
  while (texts.size() < 3) {
    const auto records = reading->read({0}, limits, {});
    ASSERT_TRUE(records.ok()) << records.status().to_string();
    for (const LogRecord& record : *records) texts.push_back(text_of(*log, record));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a", line, "b"}));
}

TEST_F(LineLogTest, AFileThatWasCutReplacedOrRemovedIsSaidToBe) {
  const std::string other = folder_.path("other");
  append_to(path_, "one\ntwo\n");
  const auto log = open_lines(path_, clock_);
  const auto cut = reader(*log), replaced = reader(*log);
  for (LogReader* reading : {cut.get(), replaced.get()}) read_count(*reading, {0}, 2);
  std::filesystem::resize_file(path_, 4);
  EXPECT_EQ(status_of_read(*cut).code(), Code::kNotFound) << status_of_read(*cut).to_string();
  EXPECT_EQ(status_of_read(*reader(*log, "8")).code(), Code::kNotFound);

  append_to(path_, "TWO\n");
  append_to(other, "another\n");
  append_to(path_, "last\n");
  std::filesystem::rename(other, path_);
  EXPECT_EQ(text_of(*log, read_count(*replaced, {0}, 1).at(0)), "last") << "what the old file had comes first";
  const Status status = status_of_read(*replaced);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("replaced"), std::string::npos) << status.message();
  EXPECT_EQ(status_of_read(*reader(*log, "4")).code(), Code::kCorrupt) << "no line ends there";

  const auto reading = reader(*log);
  read_count(*reading, {0}, 1);
  std::filesystem::remove(path_);
  EXPECT_EQ(status_of_read(*reading).code(), Code::kNotFound);
  EXPECT_EQ(status_of_read(*reader(*log)).code(), Code::kNotFound);
}

TEST_F(LineLogTest, WhereNothingMatchesThatIsSaid) {
  const auto log =
      open_line_log(FilePattern::of(folder_.path("*.jsonl")).value(), RecordFormat::parse("text", "").value(), {});
  EXPECT_EQ(log.status().code(), Code::kNotFound) << log.status().to_string();
  const auto none =
      open_line_log(FilePattern::of(folder_.path("none/*")).value(), RecordFormat::parse("text", "").value(), {});
  EXPECT_EQ(none.status().code(), Code::kNotFound) << none.status().to_string();
}

}  // namespace forebay
