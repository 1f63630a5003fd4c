#include "store/http/connection_openings.h"

#include <gtest/gtest.h>

#include "store/http/curl_loop.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

/// Transfers to one server, with a clock.
class OpeningsTest : public testing::Test {
 protected:
  using Transfer = ConnectionOpenings::Transfer;
  using Load = ConnectionOpenings::Load;

  Transfer transfer() { return std::make_unique<CurlTransfer>(HttpRequest(), nullptr, *loop_); }

  /// Returns how many of the transfers, none of which finds a free stream, open a connection. These
  /// go to `opening_`; the others wait.
  size_t try_all(std::vector<Transfer> transfers, Load load = {}) {
    size_t opened = 0;
    for (Transfer& one : transfers) {
      if (openings_.try_open(server_, one.get(), load, now_)) {
        ++opened;
        opening_.push_back(std::move(one));
      } else {
        openings_.wait(server_, std::move(one));
      }
    }
    return opened;
  }
  size_t try_new(int count, Load load = {}) {
    std::vector<Transfer> transfers;
    for (int i = 0; i < count; ++i) transfers.push_back(transfer());
    return try_all(std::move(transfers), load);
  }
  std::vector<Transfer> answer_first(int version) {
    const Transfer first = std::move(opening_.front());
    opening_.erase(opening_.begin());
    return openings_.answered(server_, first.get(), version);
  }

  const std::shared_ptr<CurlLoop> loop_ = std::make_shared<CurlLoop>(CurlTransportOptions{});
  const ConnectionOpenings::Server server_ = {"host:443", nullptr};
  ConnectionOpenings openings_;
  std::vector<Transfer> opening_;
  ConnectionOpenings::Clock::time_point now_{};
};

TEST_F(OpeningsTest, OneOpensAndTheOthersGoOnWithItsAnswer) {
  EXPECT_EQ(try_new(64), 1u);
  EXPECT_TRUE(openings_.try_open(server_, opening_[0].get(), {}, now_)) << "another address of the same server";
  EXPECT_EQ(answer_first(2).size(), 63u);
  EXPECT_FALSE(openings_.has_waiting());
}

TEST_F(OpeningsTest, TheyGoOnWithoutItsAnswerWhenTheConnectionIsTwiceAsOldAsItTookToMake) {
  EXPECT_EQ(try_new(3), 1u);
  EXPECT_FALSE(openings_.next_due());
  now_ += 30ms;
  openings_.connected(server_, opening_[0].get(), now_);
  EXPECT_EQ(openings_.next_due(), now_ + 30ms);
  EXPECT_TRUE(openings_.due(now_ + 29ms).empty());
  EXPECT_EQ(openings_.due(now_ + 30ms).size(), 2u);
  EXPECT_FALSE(openings_.next_due());
}

TEST_F(OpeningsTest, AsManyOpenAtOnceAsThoseWhoWaitNeed) {
  try_new(1);
  answer_first(2);
  const Load full{.connections = 1, .most = 10};
  EXPECT_EQ(try_new(54, full), 6u);
  EXPECT_EQ(answer_first(2).size(), 9u) << "a connection's worth";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(answer_first(2).size(), 9u);
  EXPECT_EQ(answer_first(2).size(), 3u) << "all that are left";
}

TEST_F(OpeningsTest, NobodyWaitsForServersThatAnswerInHttp1) {
  EXPECT_EQ(try_new(3), 1u);
  EXPECT_EQ(answer_first(1).size(), 2u);
  EXPECT_EQ(try_new(64), 64u);
  EXPECT_EQ(try_new(64, {.connections = 64, .most = 1}), 64u) << "and later";
}

TEST_F(OpeningsTest, NobodyWaitsWhereAConnectionTakesOneRequestAndHasIt) {
  EXPECT_EQ(try_new(3, {.connections = 1, .most = 1}), 3u) << "HTTP/1.1 with a first answer that takes long";
}

TEST_F(OpeningsTest, OneRequestOnAConnectionOfHttp2SaysNothing) {
  try_new(1);
  answer_first(2);
  EXPECT_EQ(try_new(64, {.connections = 1, .most = 1}), 1u) << "the server may be about to close it";
}

TEST_F(OpeningsTest, AServerThatCannotBeReachedIsTriedByEverMore) {
  EXPECT_EQ(try_new(8), 1u);
  for (const size_t more : {2u, 4u}) {
    std::vector<Transfer> others;
    for (const Transfer& one : std::exchange(opening_, {})) {
      for (Transfer& other : openings_.ended(server_, one.get())) others.push_back(std::move(other));
    }
    EXPECT_GE(try_all(std::move(others)), more);
  }
}

TEST_F(OpeningsTest, WhoIsGoneDoesNotWait) {
  try_new(4);
  openings_.erase_waiting_if([](const Transfer&) { return true; });
  EXPECT_FALSE(openings_.has_waiting());
  EXPECT_TRUE(answer_first(2).empty());
}

}  // namespace
}  // namespace forebay
