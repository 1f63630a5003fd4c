// Redis Streams as a log, on a real server: what every log promises, and what only a server can do to its readers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <sstream>
#include <thread>

#include "servers/broker_control.h"
#include "servers/redis_writer.h"
#include "stream/log_conformance.h"
#include "stream/open/open_log.h"
#include "stream/read_record.h"

namespace forebay {

namespace {

using conformance::expect_stop_ends_read;
using conformance::kPatience;
using conformance::LogDriver;
using conformance::LogUnderTest;
using conformance::order;
using conformance::positions_of;
using conformance::read_count;
using conformance::RedisWriter;
using conformance::text_of;
using std::chrono::milliseconds;

constexpr auto kControl = "FOREBAY_TEST_REDIS_CONTROL";

std::shared_ptr<const RecordLog> open_redis_log(const std::string& stream, const std::string& format = "bytes",
                                                const std::string& fields = "") {
  auto log = open_log({RedisWriter::server() + "/" + stream, format, fields});
  EXPECT_TRUE(log.ok()) << log.status().to_string();
  return std::move(log).value();
}

class RedisUnderTest final : public LogUnderTest {
 public:
  explicit RedisUnderTest(size_t partitions) : partitions_(partitions) {}
  std::shared_ptr<const RecordLog> log() override {
    return open_redis_log(partitions_ == 1 ? stream_ + "0" : fmt::format("{}{{0..{}}}", stream_, partitions_ - 1));
  }
  void append(size_t partition, const std::vector<std::string>& payloads) override {
    RedisWriter().append(stream_ + fmt::format("{}", partition), payloads);
  }

 private:
  const size_t partitions_;
  const std::string stream_ = RedisWriter::new_stream();
};

class RedisLogTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RedisWriter::server().empty()) GTEST_SKIP() << "SERVERS ABSENT: FOREBAY_TEST_REDIS is not set";
    writer_ = std::make_unique<RedisWriter>();
  }
  std::unique_ptr<LogReader> reader(const RecordLog& log, const std::string& after = "") const {
    return log.read_after(positions_of(log, {after})).value();
  }
  void add(int from, int count) {
    std::vector<std::string> payloads;
    for (int i = from; i < from + count; ++i) payloads.push_back(std::to_string(i));
    writer_->append(stream_, payloads);
  }
  /// Ends the connections of those that read.
  static void cut_readers() {
    RedisWriter cutter;
    std::istringstream lines(cutter.command({"CLIENT", "LIST"}));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("cmd=xread") == std::string::npos && line.find("cmd=xinfo") == std::string::npos) continue;
      cutter.command({"CLIENT", "KILL", "ID", line.substr(3, line.find(' ') - 3)});
    }
  }
  static Status status_of_read(const std::string& url) {
    auto log = open_log({url});
    if (!log.ok()) return log.status();
    auto reading = (*log)->read_after(positions_of(**log)).value();
    LogReader::Limits limits;
    limits.wait = milliseconds(2000);
    return reading->read({0}, limits, {}).status();
  }

  const std::string stream_ = RedisWriter::new_stream();
  std::unique_ptr<RedisWriter> writer_;
};

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(Redis, LogConformance,
                         testing::Values(LogDriver{"Redis", [](size_t partitions) {
                                                     return RedisWriter::server().empty()
                                                                ? nullptr
                                                                : std::make_unique<RedisUnderTest>(partitions);
                                                   }}));
}  // namespace conformance

TEST_F(RedisLogTest, FieldsOfEntriesAreFields) {
  writer_->must({"XADD", stream_, "*", "label", "7", "image", std::string(300'000, 'p'), "more", "x"});
  writer_->must({"XADD", stream_, "*", "label", "seven", "image", ""});
  const auto log = open_redis_log(stream_, "", R"({"image": "bytes", "label": "int64"})");
  const auto records = read_count(*reader(*log), {0}, 2);
  Record out;
  ASSERT_TRUE(log->load(records.at(0), {}, out).ok());
  EXPECT_EQ(out[0].bytes.size(), 300'000u);
  EXPECT_EQ(*out[1].tensor.data<int64_t>(), 7);
  const Status status = log->load(records.at(1), {}, out);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("'label'"), std::string::npos) << status.message();
}

TEST_F(RedisLogTest, AnEntryWithoutAPayloadIsCorruptAndNothingElse) {
  writer_->must({"XADD", stream_, "*", "a", "1", "b", "2"});
  add(0, 1);
  const auto log = open_redis_log(stream_);
  const auto records = read_count(*reader(*log), {0}, 2);
  Record out;
  const Status status = log->load(records.at(0), {}, out);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("'a', 'b'"), std::string::npos) << status.message();
  EXPECT_EQ(text_of(*log, records[1]), "0");
}

TEST_F(RedisLogTest, WhatWasTrimmedBeforeItsOffsetIsSaid) {
  add(0, 100);
  const auto log = open_redis_log(stream_);
  const auto first = read_count(*reader(*log), {0}, 100);
  writer_->must({"XTRIM", stream_, "MAXLEN", "=", "20"});
  const auto behind = reader(*log, first.at(10).offset);
  EXPECT_EQ(text_of(*log, read_count(*behind, {0}, 20).at(0)), "80");
  const auto gaps = behind->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].until, first[80].offset);
  EXPECT_TRUE(behind->take_gaps().empty()) << "it is said once";
  const auto within = reader(*log, first.at(85).offset), from_beginning = reader(*log);
  read_count(*within, {0}, 14);
  read_count(*from_beginning, {0}, 20);
  EXPECT_TRUE(within->take_gaps().empty());
  EXPECT_TRUE(from_beginning->take_gaps().empty()) << "the beginning is where it begins";
}

TEST_F(RedisLogTest, AStreamThatIsNotThereIsNamedUntilItGivesSomething) {
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  ASSERT_TRUE(reading->read({0}, {}, {}).ok()) << "it may come";
  EXPECT_NE(reading->trouble().find("no stream '" + stream_ + "'"), std::string::npos) << reading->trouble();
  add(0, 1);
  const auto records = read_count(*reading, {0}, 1);
  EXPECT_EQ(reading->trouble(), "");
  EXPECT_EQ(log->place_of(records.at(0)), stream_ + " " + records[0].offset);
}

TEST_F(RedisLogTest, WhoHasReadFromTheFirstEntryIsToldThatItIsGoneAlsoWhereNothingIsLeft) {
  add(0, 100);
  const auto log = open_redis_log(stream_);
  const auto first = read_count(*reader(*log), {0}, 100);
  const auto from_first = [&] { return std::move(*log->read_after({{0, "", true}})); };
  const auto whole = from_first();
  read_count(*whole, {0}, 100);
  EXPECT_TRUE(whole->take_gaps().empty());
  writer_->must({"XTRIM", stream_, "MAXLEN", "=", "20"});
  const auto behind = from_first();
  read_count(*behind, {0}, 20);
  const auto gaps = behind->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].until, first[80].offset);
  EXPECT_EQ(gaps[0].records, 80);
  writer_->must({"XTRIM", stream_, "MAXLEN", "=", "0"});
  const auto nothing = from_first();
  ASSERT_TRUE(nothing->read({0}, {}, {}).ok());
  const auto all = nothing->take_gaps();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].until, "");
  // At once, and not after the half minute for which a server may be away.
  EXPECT_EQ(read_record(*log, {0, first[0].offset, ""}, {}).status().code(), Code::kNotFound);
}

TEST_F(RedisLogTest, WhatIsTrimmedWhileItReadsIsCounted) {
  add(0, 50);
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  read_count(*reading, {0}, 50);
  writer_->must({"XTRIM", stream_, "MAXLEN", "=", "0"});
  add(50, 1);
  EXPECT_EQ(text_of(*log, read_count(*reading, {0}, 1).at(0)), "50");
  EXPECT_TRUE(reading->take_gaps().empty()) << "all that was trimmed had been read";
  add(51, 30);
  writer_->must({"XTRIM", stream_, "MAXLEN", "=", "10"});
  EXPECT_EQ(text_of(*log, read_count(*reading, {0}, 10).at(0)), "71");
  const auto gaps = reading->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].records, 20);
}

TEST_F(RedisLogTest, AStreamThatIsGoneIsAGap) {
  add(0, 5);
  const auto log = open_redis_log(stream_);
  const auto all = read_count(*reader(*log), {0}, 5);
  writer_->must({"DEL", stream_});
  const auto reading = reader(*log, all.at(2).offset);
  LogReader::Limits limits;
  const auto none = reading->read({0}, limits, {});
  ASSERT_TRUE(none.ok()) << none.status().to_string();
  ASSERT_EQ(reading->take_gaps().size(), 1u);
}

TEST_F(RedisLogTest, WhatTheServerRefusesIsAnErrorInItsWords) {
  writer_->must({"SET", stream_, "text"});
  const Status wrong = status_of_read(RedisWriter::server() + "/" + stream_);
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_NE(wrong.message().find("WRONGTYPE"), std::string::npos) << wrong.to_string();

  writer_->must({"ACL", "SETUSER", "reader", "on", ">the-secret", "~allowed*", "+@all"});
  const std::string host = RedisWriter::server().substr(8);
  for (const std::string& url :
       {"redis://reader:bad-secret@" + host + "/allowed", "redis://reader:the-secret@" + host + "/" + stream_,
        "redis://" + host + "/99/allowed"}) {
    const Status status = status_of_read(url);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    EXPECT_EQ(status.to_string().find("secret"), std::string::npos) << status.to_string();
  }
  EXPECT_TRUE(status_of_read("redis://reader:the-secret@" + host + "/allowed").ok());
  // Without a password it is another user than `default`, too: one that may not see the other stream.
  writer_->must({"ACL", "SETUSER", "guest", "on", "nopass", "~allowed*", "+@all"});
  EXPECT_TRUE(status_of_read("redis://guest@" + host + "/allowed").ok());
  EXPECT_EQ(status_of_read("redis://guest@" + host + "/" + stream_).code(), Code::kInvalidArgument);
  const auto log = open_log({"redis://reader:the-secret@" + host + "/allowed"}).value();
  EXPECT_EQ(log->identity().find("secret"), std::string::npos);
  EXPECT_EQ(log->name(), "redis://" + host + "/0/allowed");
}

TEST_F(RedisLogTest, ConnectionsThatAreCutAreMadeAgainAndNothingIsLostOrDoubled) {
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  // The connection is cut each time that 200 more records have come, while the next are read.
  std::atomic<size_t> read = 0;
  std::jthread writer([&] {
    for (int i = 0; i < 40; ++i) add(i * 50, 50);
  });
  std::jthread cutter([&] {
    for (size_t cut = 200; cut < 2000; cut += 200) {
      for (size_t now = read; now < cut; now = read) read.wait(now);
      cut_readers();
    }
  });
  std::vector<LogRecord> records;
  LogReader::Limits few;
  few.records = 50;
  for (int i = 0; i < 1000 && records.size() < 2000; ++i) {
    Result<std::vector<LogRecord>> some = reading->read({0}, few, {});
    EXPECT_TRUE(some.ok()) << some.status().to_string();
    if (!some.ok()) break;
    std::ranges::move(*some, std::back_inserter(records));
    read = records.size();
    read.notify_all();
  }
  read = SIZE_MAX;
  read.notify_all();
  EXPECT_EQ(records.size(), 2000u);
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(text_of(*log, records[i]), std::to_string(i));
  EXPECT_TRUE(reading->take_gaps().empty());
  EXPECT_GT(reading->reconnects(), 0) << "nothing was cut";
  cutter.join();
  writer.join();
}

TEST_F(RedisLogTest, ABrokerThatIsKilledAndStartedAgainIsReadToItsEnd) {
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  constexpr int kEach = 500, kLives = 3;
  std::vector<LogRecord> records;
  for (int life = 0; life < kLives; ++life) {
    writer_->must({"CONFIG", "SET", "appendfsync", "always"});
    add(life * kEach, kEach);
    const size_t before_kill = static_cast<size_t>(life) * kEach + kEach / 2;
    LogReader::Limits limits;
    limits.records = 50;
    while (records.size() < before_kill) {
      auto some = reading->read({0}, limits, {});
      ASSERT_TRUE(some.ok()) << some.status().to_string();
      for (LogRecord& record : *some) records.push_back(std::move(record));
    }
    order(kControl, "kill");
    const auto none = reading->read({0}, limits, {});
    ASSERT_TRUE(none.ok()) << none.status().to_string();
    EXPECT_TRUE(none->empty());
    EXPECT_NE(reading->trouble().find("127.0.0.1"), std::string::npos) << reading->trouble();
    order(kControl, "start");
    writer_->connect();
    for (LogRecord& record : read_count(*reading, {0}, (life + 1) * kEach - records.size()))
      records.push_back(std::move(record));
    EXPECT_EQ(reading->trouble(), "");
    EXPECT_EQ(reading->reconnects(), life + 1);
  }
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(text_of(*log, records[i]), std::to_string(i));
  EXPECT_EQ(records.size(), size_t{kEach} * kLives);
  EXPECT_TRUE(reading->take_gaps().empty());
}

TEST_F(RedisLogTest, AServerThatHangsOrIsAwayHoldsUpNoStop) {
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  LogReader::Limits limits;
  ASSERT_TRUE(reading->read({0}, limits, {}).ok());
  for (const std::string state : {"pause", "kill"}) {
    order(kControl, state);
    expect_stop_ends_read(*reading);
    order(kControl, state == "pause" ? "resume" : "start");
  }
  writer_->connect();
  add(0, 1);
  EXPECT_EQ(text_of(*log, read_count(*reading, {0}, 1).at(0)), "0");
}

TEST_F(RedisLogTest, LargeEntriesComeInRoundsOfAboutTheBytesThatAreWanted) {
  for (int i = 0; i < 40; ++i) writer_->append(stream_, {std::string(1 << 20, static_cast<char>('a' + i % 26))});
  const auto log = open_redis_log(stream_);
  const auto reading = reader(*log);
  LogReader::Limits limits;
  limits.bytes = 4 << 20;
  size_t count = 0, rounds = 0;
  while (count < 40) {
    const auto records = reading->read({0}, limits, {});
    ASSERT_TRUE(records.ok()) << records.status().to_string();
    for (const LogRecord& record : *records) EXPECT_EQ(text_of(*log, record)[0], static_cast<char>('a' + count++ % 26));
    EXPECT_LE(records->size(), rounds++ > 3 ? 8u : 40u);
  }
}

}  // namespace forebay
