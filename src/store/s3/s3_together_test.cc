#include "store/s3/s3_together.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "store/s3/s3_test_support.h"

namespace forebay {
namespace {

/// A caller that answers on demand, from another thread.
class WaitingCaller final : public HttpCaller {
 public:
  void call(HttpCall, std::stop_token stop, Done done) override {
    std::thread([this, stop, done = std::move(done)] {
      const int now = ++in_flight;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) continue;
      while (hold && !stop.stop_requested()) std::this_thread::yield();
      --in_flight;
      done(stop.stop_requested() ? Result<HttpResponse>(cancelled("stopped")) : Result<HttpResponse>(answer(200)));
      ++ended;
    }).detach();
  }
  std::atomic<int> in_flight{0}, most{0}, ended{0};
  std::atomic<bool> hold{false};
};

class S3TogetherTest : public testing::Test {
 protected:
  ~S3TogetherTest() override {
    while (caller_->ended < sent_) std::this_thread::yield();
  }
  Status send(size_t count, std::function<Status(size_t, Result<HttpResponse>)> take, std::stop_token stop = {}) {
    S3Requests requests{count, 3};
    requests.make = [this](size_t i) {
      ++sent_;
      return S3Request{.key = std::to_string(i)};
    };
    requests.take = std::move(take);
    return send_together(*client_, requests, std::move(stop));
  }

  std::shared_ptr<WaitingCaller> caller_ = std::make_shared<WaitingCaller>();
  std::shared_ptr<S3Client> client_ = [this] {
    S3Options options;
    options.bucket = "bucket";
    return std::make_shared<S3Client>(options, caller_, fixed_credentials({"ID", "SECRET", "", {}}));
  }();
  int sent_ = 0;
};

TEST_F(S3TogetherTest, AllAreSentAFewAtATime) {
  std::set<size_t> taken;
  EXPECT_TRUE(send(50, [&](size_t i, const Result<HttpResponse>& answered) {
                taken.insert(i);
                return answered.status();
              }).ok());
  EXPECT_EQ(taken.size(), 50u);
  EXPECT_LE(caller_->most, 3);
  EXPECT_TRUE(send(0, nullptr).ok());
}

TEST_F(S3TogetherTest, TheFirstErrorEndsThemAndIsTold) {
  const Status failed = send(50, [&](size_t i, const Result<HttpResponse>& answered) {
    return i == 7 ? corrupt("seven") : answered.status();
  });
  EXPECT_EQ(failed.message(), "seven");
  EXPECT_LT(sent_, 50);
}

TEST_F(S3TogetherTest, AStopEndsThem) {
  caller_->hold = true;
  std::stop_source stop;
  std::thread stopper([&] {
    while (caller_->in_flight < 3) std::this_thread::yield();
    stop.request_stop();
  });
  const Status status =
      send(50, [](size_t, const Result<HttpResponse>& answered) { return answered.status(); }, stop.get_token());
  stopper.join();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(sent_, 3);
}

}  // namespace
}  // namespace forebay
