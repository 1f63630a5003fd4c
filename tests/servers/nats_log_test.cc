// NATS JetStream as a log, on a real server.
#include <gtest/gtest.h>

#include <unistd.h>

#include <thread>

#include <fmt/format.h>
#include <nats/nats.h>

#include "brokers/nats/nats_session.h"
#include "servers/broker_control.h"
#include "servers/variable.h"
#include "stream/log_conformance.h"
#include "stream/open/open_log.h"

namespace forebay {

namespace {

using conformance::expect_stop_ends_read;
using conformance::LogDriver;
using conformance::LogUnderTest;
using conformance::order;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;
using conformance::variable;
using std::chrono::milliseconds;

constexpr auto kNatsControl = "FOREBAY_TEST_NATS_CONTROL";

std::string nats_server() { return variable("FOREBAY_TEST_NATS"); }

/// The other side: a plain client that makes a stream and publishes to it.
class NatsWriter {
 public:
  NatsWriter() {
    static int made = 0;
    stream_ = fmt::format("stream-{}-{}", ::getpid(), made++);
    connect();
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const std::string subjects = stream_ + ".>";
    const char* list[] = {subjects.c_str()};
    config.Name = stream_.c_str();
    config.Subjects = list;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    EXPECT_EQ(js_AddStream(nullptr, context_, &config, nullptr, nullptr), NATS_OK);
  }
  ~NatsWriter() {
    js_DeleteStream(context_, stream_.c_str(), nullptr, nullptr);
    disconnect();
  }
  const std::string& stream() const { return stream_; }
  std::string url() const { return nats_server() + "/" + stream_; }

  void connect() {
    disconnect();
    ASSERT_EQ(natsConnection_ConnectTo(&connection_, nats_server().c_str()), NATS_OK);
    ASSERT_EQ(natsConnection_JetStream(&context_, connection_, nullptr), NATS_OK);
  }
  /// All of them, one after the other in the stream.
  void append(const std::vector<std::string>& payloads, const std::string& subject = "all") {
    const std::string full = stream_ + "." + subject;
    for (const std::string& payload : payloads)
      EXPECT_EQ(js_PublishAsync(context_, full.c_str(), payload.data(), static_cast<int>(payload.size()), nullptr),
                NATS_OK);
    EXPECT_EQ(js_PublishAsyncComplete(context_, nullptr), NATS_OK);
  }
  void purge_before(uint64_t sequence) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Stream.Purge.Sequence = sequence;
    EXPECT_EQ(js_PurgeStream(context_, stream_.c_str(), &options, nullptr), NATS_OK);
  }

 private:
  void disconnect() {
    jsCtx_Destroy(context_);
    natsConnection_Destroy(connection_);
    context_ = nullptr;
    connection_ = nullptr;
  }
  std::string stream_;
  natsConnection* connection_ = nullptr;
  jsCtx* context_ = nullptr;
};

class NatsUnderTest final : public LogUnderTest {
 public:
  std::shared_ptr<const RecordLog> log() override { return open_log({writer_.url()}).value(); }
  void append(size_t, const std::vector<std::string>& payloads) override { writer_.append(payloads); }

 private:
  NatsWriter writer_;
};

class NatsLogTest : public testing::Test {
 protected:
  void SetUp() override {
    if (nats_server().empty()) GTEST_SKIP() << "SERVERS ABSENT: FOREBAY_TEST_NATS is not set";
    writer_ = std::make_unique<NatsWriter>();
    log_ = open_log({writer_->url()}).value();
  }
  std::unique_ptr<LogReader> reader(const std::string& after = "") const {
    return log_->read_after(positions_of(*log_, {after})).value();
  }
  void add(int from, int count, const std::string& subject = "all") {
    std::vector<std::string> payloads;
    for (int i = from; i < from + count; ++i) payloads.push_back(std::to_string(i));
    writer_->append(payloads, subject);
  }

  std::unique_ptr<NatsWriter> writer_;
  std::shared_ptr<const RecordLog> log_;
};

}  // namespace

namespace conformance {
INSTANTIATE_TEST_SUITE_P(
    Nats, LogConformance,
    testing::Values(LogDriver{
        "Nats", [](size_t) { return nats_server().empty() ? nullptr : std::make_unique<NatsUnderTest>(); }, 1}));
}  // namespace conformance

TEST(NatsSequence, IsReadFromBothFormsOfReplies) {
  const auto plain = NatsSequence::of_reply("$JS.ACK.S.C.1.4711.17.1700000000000000000.5");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->stream, 4711u);
  EXPECT_EQ(plain->consumer, 17u);
  const auto domain = NatsSequence::of_reply("$JS.ACK.D.hash.S.C.1.4711.17.1700000000000000000.5.token");
  ASSERT_TRUE(domain);
  EXPECT_EQ(domain->stream, 4711u);
  for (const std::string text :
       {"", "$JS.ACK", "_INBOX.x", "$JS.ACK.S.C.1.x.17.1.5", "$JS.ACK.S.C.1..17.1.5", "$JS.ACK.S.C.1.2.3.4"})
    EXPECT_FALSE(NatsSequence::of_reply(text)) << text;
}

TEST_F(NatsLogTest, OnlyMessagesOfTheSubjectComeAndKeysAreSubjects) {
  add(0, 5, "a.x");
  add(5, 5, "b");
  add(10, 5, "a.y");
  const auto log = open_log({writer_->url() + "/" + writer_->stream() + ".a.*"}).value();
  const auto records = read_count(*log->read_after(positions_of(*log)).value(), {0}, 10);
  ASSERT_EQ(records.size(), 10u);
  EXPECT_EQ(text_of(*log, records[5]), "10");
  EXPECT_EQ(records[5].offset, "11");
  EXPECT_EQ(records[5].key, writer_->stream() + ".a.y");
}

TEST_F(NatsLogTest, WhatWasForgottenBeforeItsOffsetIsCounted) {
  add(0, 100);
  writer_->purge_before(81);
  const auto behind = reader("11"), within = reader("85"), from_beginning = reader();
  EXPECT_EQ(text_of(*log_, read_count(*behind, {0}, 20).at(0)), "80");
  const auto gaps = behind->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].records, 69);
  EXPECT_EQ(gaps[0].until, "81");
  read_count(*within, {0}, 15);
  read_count(*from_beginning, {0}, 20);
  EXPECT_TRUE(within->take_gaps().empty());
  EXPECT_TRUE(from_beginning->take_gaps().empty());
  writer_->purge_before(101);
  const auto from_first = std::move(*log_->read_after({{0, "", true}}));
  ASSERT_TRUE(from_first->read({0}, {}, {}).ok());
  const auto all = from_first->take_gaps();
  ASSERT_EQ(all.size(), 1u) << "of what was read before, with nothing left";
  EXPECT_EQ(all[0].records, 100);
  EXPECT_EQ(all[0].until, "101");
}

TEST_F(NatsLogTest, WhatIsForgottenWhileItReadsIsCounted) {
  add(0, 200);
  const auto reading = reader();
  LogReader::Limits limits;
  limits.records = 10;  // and as many may be under way
  std::vector<LogRecord> records;
  while (records.empty() || records.back().offset != "200") {
    auto some = reading->read({0}, limits, {});
    ASSERT_TRUE(some.ok()) << some.status().to_string();
    if (records.empty() && !some->empty()) writer_->purge_before(151);
    for (LogRecord& record : *some) records.push_back(std::move(record));
  }
  const auto gaps = reading->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].until, "151");
  EXPECT_EQ(gaps[0].records, 200 - static_cast<int64_t>(records.size()));
  EXPECT_GE(gaps[0].records, 150 - 20);
}

TEST_F(NatsLogTest, AStreamThatIsNotThereOrEndsBeforeTheOffsetIsNotFound) {
  add(0, 3);
  const auto none = open_log({nats_server() + "/no-such-stream"}).value();
  EXPECT_EQ(none->read_after(positions_of(*none)).value()->read({0}, {}, {}).status().code(), Code::kNotFound);
  EXPECT_EQ(none->ends({}).status().code(), Code::kNotFound);
  EXPECT_EQ(reader("4")->read({0}, {}, {}).status().code(), Code::kNotFound);
}

TEST_F(NatsLogTest, ABrokerThatIsKilledAndStartedAgainIsReadToItsEnd) {
  const auto reading = reader();
  constexpr int kEach = 500, kLives = 3;
  std::vector<LogRecord> records;
  for (int life = 0; life < kLives; ++life) {
    add(life * kEach, kEach);
    LogReader::Limits limits;
    limits.records = 50;
    while (records.size() < static_cast<size_t>(life) * kEach + kEach / 2) {
      auto some = reading->read({0}, limits, {});
      ASSERT_TRUE(some.ok()) << some.status().to_string();
      for (LogRecord& record : *some) records.push_back(std::move(record));
    }
    order(kNatsControl, "kill");
    for (int i = 0; i < 200 && reading->trouble().empty(); ++i) {
      auto some = reading->read({0}, limits, {});  // the client may hold some that it had got
      ASSERT_TRUE(some.ok()) << some.status().to_string();
      for (LogRecord& record : *some) records.push_back(std::move(record));
    }
    EXPECT_NE(reading->trouble().find("127.0.0.1"), std::string::npos) << reading->trouble();
    order(kNatsControl, "start");
    writer_->connect();
    for (LogRecord& record : read_count(*reading, {0}, (life + 1) * kEach - records.size()))
      records.push_back(std::move(record));
    for (int i = 0; i < 300 && !reading->trouble().empty(); ++i)
      (void)reading->read({0}, limits, {});  // all may have come before
    EXPECT_EQ(reading->trouble(), "");
  }
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(text_of(*log_, records[i]), std::to_string(i));
  EXPECT_EQ(records.size(), size_t{kEach} * kLives);
  EXPECT_TRUE(reading->take_gaps().empty());
  EXPECT_GE(reading->reconnects(), kLives);
}

TEST_F(NatsLogTest, AServerThatHangsOrIsAwayHoldsUpNoStop) {
  LogReader::Limits limits;
  for (const std::string state : {"pause", "kill"}) {
    for (const bool connected : {true, false}) {
      const auto reading = reader();
      limits.wait = milliseconds(20);
      ASSERT_TRUE(!connected || reading->read({0}, limits, {}).ok());
      order(kNatsControl, state);
      expect_stop_ends_read(*reading);
      order(kNatsControl, state == "pause" ? "resume" : "start");
    }
  }
  writer_->connect();
}

}  // namespace forebay
