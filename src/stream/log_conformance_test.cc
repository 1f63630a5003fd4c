#include "stream/log_conformance.h"

#include <latch>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "store/store.h"
#include "stream/stream_test_support.h"

namespace forebay::conformance {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogConformance);

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::vector<std::string> numbered(std::string_view word, size_t count) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) texts.push_back(fmt::format("{} {}", word, i));
  return texts;
}

/// A payload of about 3 KB, different for each number.
std::string long_payload(size_t number) {
  std::string text = fmt::format("{:08}", number);
  text.resize(3000 + number % 100, static_cast<char>('a' + number % 26));
  return text;
}

LogReader::Limits limits_of(size_t records, milliseconds wait) {
  LogReader::Limits limits;
  limits.records = records;
  limits.wait = wait;
  return limits;
}

void expect_nothing(LogReader& reader, const std::vector<size_t>& partitions) {
  const auto records = reader.read(partitions, limits_of(10, milliseconds(50)), {});
  ASSERT_TRUE(records.ok()) << records.status().to_string();
  EXPECT_TRUE(records->empty());
}

}  // namespace

std::string text_of(const RecordLog& log, const LogRecord& record) {
  Buffer fetched;
  if (const auto fetch = log.fetch(record)) {
    auto bytes = read_wait(*fetch->store, fetch->request, {});
    EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
    if (bytes.ok()) fetched = std::move(bytes).value();
  }
  Record out;
  const Status status = log.load(record, fetched, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  if (out.empty()) return "";
  return {reinterpret_cast<const char*>(out[0].bytes.data()), out[0].bytes.size()};
}

std::vector<size_t> partitions_of(const RecordLog& log) {
  std::vector<size_t> partitions(log.partitions().size());
  std::iota(partitions.begin(), partitions.end(), size_t{0});
  return partitions;
}

std::vector<LogPosition> positions_of(const RecordLog& log, const std::vector<std::string>& after) {
  std::vector<LogPosition> positions;
  for (size_t i = 0; i < log.partitions().size(); ++i) positions.push_back({i, i < after.size() ? after[i] : ""});
  return positions;
}

std::vector<LogRecord> read_count(LogReader& reader, const std::vector<size_t>& partitions, size_t count) {
  std::vector<LogRecord> all;
  const Clock::time_point end = Clock::now() + kPatience;
  while (all.size() < count && Clock::now() < end) {
    auto records = reader.read(partitions, {}, {});
    EXPECT_TRUE(records.ok()) << records.status().to_string();
    if (!records.ok()) return all;
    for (LogRecord& record : *records) all.push_back(std::move(record));
  }
  EXPECT_EQ(all.size(), count) << reader.trouble();
  return all;
}

void expect_stop_ends_read(LogReader& reader, int yields) {
  std::stop_source stop;
  std::latch begun(1);
  std::jthread stopper([&] {
    begun.wait();
    let_others_run(yields);
    stop.request_stop();
  });
  begun.count_down();
  const auto records = reader.read({0}, limits_of(10, std::chrono::hours(1000)), stop.get_token());
  EXPECT_EQ(records.status().code(), Code::kCancelled) << records.status().to_string();
}

bool LogConformance::begin(size_t partitions) {
  log_under_test_ = GetParam().make(std::min(partitions, GetParam().max_partitions));
  if (log_under_test_) log_ = log_under_test_->log();
  const char* const required = std::getenv("FOREBAY_REQUIRE_SERVERS");
  const bool must_run = std::string_view(required == nullptr ? "" : required) == "1";
  EXPECT_TRUE(log_under_test_ || !must_run) << "the server is not running";
  return log_ != nullptr;
}

std::unique_ptr<LogReader> LogConformance::reader(const std::vector<std::string>& after) const {
  auto made = log_->read_after(positions_of(*log_, after));
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(made).value();
}

TEST_P(LogConformance, GivesWhatWasWrittenInItsOrder) {
  if (!begin()) GTEST_SKIP();
  std::vector<std::string> texts = numbered("record", 200);
  texts.emplace_back("");
  log_under_test_->append(0, texts);
  const auto reading = reader();
  const std::vector<LogRecord> records = read_count(*reading, {0}, texts.size());
  ASSERT_EQ(records.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(text_of(*log_, records[i]), texts[i]);
    EXPECT_EQ(records[i].partition, 0u);
    EXPECT_FALSE(records[i].key.empty());
    EXPECT_LT(records[i].offset.size(), 1024u);
    EXPECT_TRUE(log_->check_offset(records[i].offset).ok()) << records[i].offset;
    EXPECT_EQ(log_->compare(records[i].offset, records[i].offset), 0);
    if (i == 0) continue;
    EXPECT_LT(log_->compare(records[i - 1].offset, records[i].offset), 0) << records[i].offset;
    EXPECT_GT(log_->compare(records[i].offset, records[i - 1].offset), 0);
  }
  EXPECT_TRUE(reading->take_gaps().empty());
  EXPECT_EQ(reading->trouble(), "");
  EXPECT_EQ(reading->reconnects(), 0);
}

TEST_P(LogConformance, GoesOnBehindAnyOffset) {
  if (!begin()) GTEST_SKIP();
  log_under_test_->append(0, numbered("record", 20));
  const std::vector<LogRecord> all = read_count(*reader(), {0}, 20);
  ASSERT_EQ(all.size(), 20u);
  for (const size_t i : {0, 7, 18, 19}) {
    const auto reading = reader({all[i].offset});
    const std::vector<LogRecord> rest = read_count(*reading, {0}, 19 - i);
    if (rest.empty()) expect_nothing(*reading, {0});
    for (size_t k = 0; k < rest.size(); ++k) {
      EXPECT_EQ(rest[k].offset, all[i + 1 + k].offset);
      EXPECT_EQ(text_of(*log_, rest[k]), text_of(*log_, all[i + 1 + k]));
    }
    EXPECT_TRUE(reading->take_gaps().empty());
  }
}

TEST_P(LogConformance, AnEmptyOneGivesNothingAndHasNoEnd) {
  if (!begin(2)) GTEST_SKIP();
  expect_nothing(*reader(), partitions_of(*log_));
  const auto ends = log_->ends({});
  ASSERT_TRUE(ends.ok()) << ends.status().to_string();
  EXPECT_EQ(*ends, std::vector<std::string>(log_->partitions().size(), ""));
}

TEST_P(LogConformance, FromTheEndsOnlyNewRecordsCome) {
  if (!begin(3)) GTEST_SKIP();
  for (const size_t partition : partitions_of(*log_))
    log_under_test_->append(partition, numbered("old", partition + 1));
  read_count(*reader(), partitions_of(*log_), log_->partitions().size() * (log_->partitions().size() + 1) / 2);
  const auto ends = log_->ends({});
  ASSERT_TRUE(ends.ok()) << ends.status().to_string();
  const auto reading = reader(*ends);
  expect_nothing(*reading, partitions_of(*log_));
  for (const size_t partition : partitions_of(*log_)) log_under_test_->append(partition, {"new"});
  for (const LogRecord& record : read_count(*reading, partitions_of(*log_), log_->partitions().size()))
    EXPECT_EQ(text_of(*log_, record), "new");
}

TEST_P(LogConformance, WhatIsWrittenWhileItWaitsComes) {
  if (!begin()) GTEST_SKIP();
  const auto reading = reader();
  for (int i = 0; i < 3; ++i) {
    expect_nothing(*reading, {0});
    std::jthread writer([&] { log_under_test_->append(0, {fmt::format("late {}", i)}); });
    const std::vector<LogRecord> records = read_count(*reading, {0}, 1);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(text_of(*log_, records[0]), fmt::format("late {}", i));
  }
}

TEST_P(LogConformance, GivesOnlyWhatIsWantedAndForgetsNothingOfTheRest) {
  if (!begin(3)) GTEST_SKIP();
  if (log_->partitions().size() < 3) return;
  for (const size_t partition : partitions_of(*log_)) log_under_test_->append(partition, numbered("record", 30));
  const auto reading = reader();
  for (const LogRecord& record : read_count(*reading, {1}, 30)) EXPECT_EQ(record.partition, 1u);
  expect_nothing(*reading, {1});
  std::vector<size_t> next(3, 0);
  for (const LogRecord& record : read_count(*reading, {0, 2}, 60)) {
    EXPECT_NE(record.partition, 1u);
    EXPECT_EQ(text_of(*log_, record), fmt::format("record {}", next[record.partition]++));
  }
  expect_nothing(*reading, {});
}

TEST_P(LogConformance, GivesNoMoreAtOnceThanIsAskedFor) {
  if (!begin(2)) GTEST_SKIP();
  for (const size_t partition : partitions_of(*log_)) log_under_test_->append(partition, numbered("record", 50));
  const auto reading = reader();
  std::vector<size_t> taken(log_->partitions().size());
  const Clock::time_point end = Clock::now() + kPatience;
  while (std::accumulate(taken.begin(), taken.end(), size_t{0}) < 50 * taken.size() && Clock::now() < end) {
    auto records = reading->read(partitions_of(*log_), limits_of(7, milliseconds(100)), {});
    ASSERT_TRUE(records.ok()) << records.status().to_string();
    std::vector<size_t> now(taken.size());
    for (const LogRecord& record : *records) {
      EXPECT_EQ(text_of(*log_, record), fmt::format("record {}", taken[record.partition]++));
      EXPECT_LE(++now[record.partition], 7u);
    }
  }
  for (const size_t count : taken) EXPECT_EQ(count, 50u);
}

TEST_P(LogConformance, AStopEndsEveryWait) {
  if (!begin()) GTEST_SKIP();
  for (const int yields : {0, 1, 100, 10'000, 100'000}) {
    const auto reading = reader();
    expect_stop_ends_read(*reading, yields);
  }
}

TEST_P(LogConformance, TextThatIsNoOffsetIsRefused) {
  if (!begin()) GTEST_SKIP();
  for (const std::string text : {"", "x", "-", "-1", "1-", "1 ", " 1", "18446744073709551616", "1e3", "/", "5/"}) {
    const Status status = log_->check_offset(text);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << "'" << text << "'";
    if (text.empty()) continue;
    EXPECT_EQ(log_->read_after({{0, text}}).status().code(), Code::kInvalidArgument) << "'" << text << "'";
  }
}

TEST_P(LogConformance, ReadersDoNotDisturbEachOther) {
  if (!begin()) GTEST_SKIP();
  log_under_test_->append(0, numbered("record", 40));
  const auto first = reader(), second = reader();
  EXPECT_EQ(read_count(*first, {0}, 40).size(), 40u);
  log_under_test_->append(0, {"another"});
  EXPECT_EQ(read_count(*second, {0}, 41).size(), 41u);
  EXPECT_EQ(read_count(*first, {0}, 1).size(), 1u);
}

TEST_P(LogConformance, ManyRecordsAreThoseThatWereWritten) {
  if (!begin(2)) GTEST_SKIP();
  const size_t count = GetParam().many_records, partitions = log_->partitions().size();
  std::jthread writer([&] {
    for (size_t i = 0; i < count;) {
      std::vector<std::vector<std::string>> payloads(partitions);
      for (const size_t end = std::min(count, i + 1000); i < end; ++i)
        payloads[i % partitions].push_back(long_payload(i));
      for (size_t partition = 0; partition < partitions; ++partition)
        log_under_test_->append(partition, payloads[partition]);
    }
  });
  const auto reading = reader();
  std::vector<size_t> next = partitions_of(*log_);
  size_t read = 0;
  const Clock::time_point end = Clock::now() + std::chrono::minutes(5);
  while (read < count && Clock::now() < end) {
    const auto records = reading->read(partitions_of(*log_), {}, {});
    ASSERT_TRUE(records.ok()) << records.status().to_string();
    for (const LogRecord& record : *records) {
      ASSERT_EQ(text_of(*log_, record), long_payload(next[record.partition])) << record.offset;
      next[record.partition] += partitions;
    }
    read += records->size();
  }
  EXPECT_EQ(read, count);
  writer.join();
  expect_nothing(*reading, partitions_of(*log_));
}

}  // namespace forebay::conformance
