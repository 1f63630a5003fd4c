#include "brokers/connected_reader.h"

#include <deque>

#include <gtest/gtest.h>

#include "stream/manual_clock_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

// A server that answers what the test says, in this order; a connection that is refused needs an
// answer, too.
class FakeServerReader final : public ConnectedReader {
 public:
  explicit FakeServerReader(StreamClock& clock) : ConnectedReader("fake://host/log", "host:1", clock) {}

  std::deque<Status> connects, rounds;  ///< Ok if there are none left
  int connected_again = 0, tries = 0;
  bool is_connected() const override { return connected_; }

 private:
  Status connect(bool again, const std::stop_token&) override {
    ++tries;
    Status status = next(connects);
    connected_ = status.ok();
    connected_again += status.ok() && again ? 1 : 0;
    return status;
  }
  void disconnect() override { connected_ = false; }
  Status read_round(const std::vector<size_t>&, const Limits&, const std::stop_token&,
                    std::vector<LogRecord>& records) override {
    Status status = next(rounds);
    if (status.ok()) records.push_back({0, "1", "key"});
    return status;
  }
  static Status next(std::deque<Status>& from) {
    if (from.empty()) return {};
    Status status = from.front();
    from.pop_front();
    return status;
  }
  bool connected_ = false;
};

class ConnectedReaderTest : public testing::Test {
 protected:
  Result<std::vector<LogRecord>> read(std::chrono::milliseconds wait = 100ms) {
    LogReader::Limits limits;
    limits.wait = wait;
    return reader_.read({0}, limits, {});
  }
  ManualClock clock_;
  FakeServerReader reader_{clock_};
};

TEST_F(ConnectedReaderTest, connects_once_and_reads_on) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read()->size(), 1u);
  EXPECT_EQ(reader_.tries, 1);
  EXPECT_EQ(reader_.reconnects(), 0);
  EXPECT_EQ(reader_.trouble(), "");
  EXPECT_EQ(clock_.passed(), 0ms);
}

TEST_F(ConnectedReaderTest, a_lost_connection_is_restored_and_counted) {
  EXPECT_TRUE(read().ok());
  reader_.rounds = {unavailable("the connection is lost")};
  EXPECT_EQ(read()->size(), 1u) << "within the wait of one read";
  EXPECT_EQ(reader_.reconnects(), 1);
  EXPECT_EQ(reader_.connected_again, 1);
  EXPECT_EQ(clock_.passed(), Backoff::kFirst);
}

TEST_F(ConnectedReaderTest, a_server_that_is_away_is_tried_ever_more_rarely_and_the_reason_is_told) {
  reader_.connects = std::deque<Status>(1000, unavailable("Connection refused"));
  const Result<std::vector<LogRecord>> none = read(10s);
  ASSERT_TRUE(none.ok()) << "it may come back";
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(reader_.trouble(), "host:1: Connection refused");
  EXPECT_EQ(clock_.passed(), 10s);
  EXPECT_EQ(reader_.tries, 11) << "at 0, 20, 60, …, 2540 ms, and every 2 s from there on";
  EXPECT_EQ(reader_.reconnects(), 0) << "it was never connected";
  reader_.connects.clear();
  EXPECT_EQ(read(2s)->size(), 1u);
  EXPECT_EQ(reader_.trouble(), "");
}

TEST_F(ConnectedReaderTest, a_success_makes_the_next_try_come_soon_again) {
  reader_.connects = {unavailable("a"), unavailable("b"), unavailable("c")};
  EXPECT_EQ(read(1s)->size(), 1u);
  EXPECT_EQ(clock_.passed(), 20ms + 40ms + 80ms);
  reader_.rounds = {unavailable("lost")};
  EXPECT_EQ(read(1s)->size(), 1u);
  EXPECT_EQ(clock_.passed(), 20ms + 40ms + 80ms + 20ms);
}

TEST_F(ConnectedReaderTest, any_other_error_ends_the_reading_with_the_log_s_name) {
  reader_.connects = {invalid_argument("the password is wrong")};
  const Status refused = read().status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.key(), "fake://host/log");
  EXPECT_FALSE(reader_.is_connected());
  reader_.rounds = {corrupt("no answer of such a server")};
  EXPECT_EQ(read().status().code(), Code::kCorrupt);
  EXPECT_FALSE(reader_.is_connected()) << "what follows on that connection has no meaning";
}

}  // namespace
}  // namespace forebay
