#include "format/files/reading_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "forebay/stats/store.h"
#include "format/files/joined_reads.h"
#include "store/memory/memory_store.h"

namespace forebay {
namespace {

/// Holds reads until a number of them have come, then answers them all.
class GatheringStore : public Store {
 public:
  explicit GatheringStore(size_t wanted) : wanted_(wanted) {}
  void read(const ReadRequest&, std::stop_token stop, ReadDone done) override {
    std::unique_lock lock(mutex_);
    waiting_.push_back(std::move(done));
    most = std::max(most, waiting_.size());
    const bool enough = waiting_.size() >= wanted_;
    lock.unlock();
    if (enough) return answer(false);
    if (!stop.stop_possible()) return;
    // Answers at once if it was stopped before.
    auto on_stop = std::make_unique<Stop>(stop, [this] { answer(true); });
    lock.lock();
    stops_.push_back(std::move(on_stop));
  }
  void list(const ListRequest&, std::stop_token, ListDone done) override { done(internal_error("no")); }
  void stat(const std::string& key, std::stop_token, StatDone done) override { done(ObjectInfo{key, 5}); }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }

  size_t most = 0;

 private:
  using Stop = std::stop_callback<std::function<void()>>;
  void answer(bool stopped) {
    std::vector<ReadDone> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(waiting_);
    }
    for (ReadDone& done : now)
      done(stopped ? Result<Buffer>(cancelled("stopped")) : Result<Buffer>(Buffer::allocate(1)));
  }
  const size_t wanted_;
  std::mutex mutex_;
  std::vector<ReadDone> waiting_;
  std::vector<std::unique_ptr<Stop>> stops_;
};

/// Asks for a size, then reads, then is done.
class TwoSteps final : public ReadingJob {
 public:
  explicit TwoSteps(std::atomic<int>& done) : done_(done) {}
  Result<NextReads> step(JobInput input) override {
    if (!input.status.ok()) return input.status;
    if (step_++ == 0) return NextReads{{}, "x"};
    if (step_ == 2) {
      EXPECT_EQ(input.info->size, 5u);
      return NextReads{{{"x", ByteRange{0, 1}, {}, {}}}, {}};
    }
    EXPECT_EQ(input.buffers.size(), 1u);
    ++done_;
    return NextReads();
  }

 private:
  std::atomic<int>& done_;
  int step_ = 0;
};

}  // namespace

TEST(ReadingJobs, many_reads_are_in_flight_at_once) {
  GatheringStore store(40);
  std::atomic<int> done{0};
  const auto make = [&](size_t) { return std::make_unique<TwoSteps>(done); };
  EXPECT_TRUE(run_reading_jobs(store, 80, make, {.at_once = 40}, {}).ok());
  EXPECT_EQ(done, 80);
  EXPECT_EQ(store.most, 40u);
}

TEST(ReadingJobs, memory_bounds_how_many_run_and_a_large_one_runs_alone) {
  GatheringStore store(1);
  std::atomic<int> done{0};
  std::mutex mutex;
  size_t running = 0, most = 0;
  struct Counted final : ReadingJob {
    Counted(std::atomic<int>& all, std::mutex& m, size_t& r, size_t& peak) : inner(all), mutex(m), running(r) {
      const std::lock_guard lock(mutex);
      peak = std::max(peak, ++running);
    }
    ~Counted() override {
      const std::lock_guard lock(mutex);
      --running;
    }
    Result<NextReads> step(JobInput input) override { return inner.step(std::move(input)); }
    TwoSteps inner;
    std::mutex& mutex;
    size_t& running;
  };
  const auto make = [&](size_t) { return std::make_unique<Counted>(done, mutex, running, most); };
  const ReadingJobsOptions options{.budget_bytes = 100,
                                   .bytes = [](size_t job) -> uint64_t { return job == 7 ? 1000 : 50; }};
  EXPECT_TRUE(run_reading_jobs(store, 50, make, options, {}).ok());
  EXPECT_EQ(done, 50);
  EXPECT_LE(most, 2u);
}

TEST(ReadingJobs, the_first_error_ends_them_all) {
  GatheringStore store(1000);  // would wait forever
  std::atomic<int> made{0};
  struct Failing final : ReadingJob {
    explicit Failing(bool f) : fails(f) {}
    Result<NextReads> step(JobInput) override {
      if (fails) return corrupt("job five");
      return NextReads{{{"x", ByteRange{0, 1}, {}, {}}}, {}};
    }
    bool fails;
  };
  const auto make = [&](size_t job) {
    ++made;
    return std::make_unique<Failing>(job == 5);
  };
  const Status status = run_reading_jobs(store, 100, make, {.at_once = 10}, {});
  EXPECT_EQ(status.message(), "job five");
  EXPECT_LE(made, 10);
}

TEST(ReadingJobs, a_stop_ends_the_wait) {
  GatheringStore store(1000);
  std::atomic<int> done{0};
  std::stop_source stop;
  std::atomic<int> made{0};
  const auto make = [&](size_t) {
    if (++made == 10) stop.request_stop();
    return std::make_unique<TwoSteps>(done);
  };
  const Status status = run_reading_jobs(store, 10, make, {}, stop.get_token());
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(done, 0);
}

TEST(JoinedReads, near_ranges_are_one_request_and_long_ones_several) {
  const auto of = [](std::vector<ByteRange> ranges) {
    std::vector<ByteRange> reads;
    for (const ReadRequest& read : joined_reads("k", 1 << 30, ranges)) {
      EXPECT_EQ(read.expected_size, uint64_t{1} << 30);
      reads.push_back(*read.range);
    }
    return reads;
  };
  using Ranges = std::vector<ByteRange>;
  EXPECT_EQ(of({}), Ranges{});
  EXPECT_EQ(of({{10, 5}, {15, 5}, {100, 1}}), (Ranges{{10, 91}}));
  EXPECT_EQ(of({{0, 10}, {(64 << 10) + 11, 5}}), (Ranges{{0, 10}, {(64 << 10) + 11, 5}}));
  EXPECT_EQ(of({{0, 20 << 20}}), (Ranges{{0, 8 << 20}, {8 << 20, 8 << 20}, {16 << 20, 4 << 20}}));
  EXPECT_EQ(of({{0, 6 << 20}, {6 << 20, 6 << 20}}), (Ranges{{0, 6 << 20}, {6 << 20, 6 << 20}})) << "none is too long";
  EXPECT_EQ(of({{5, 0}, {9, 1}}), (Ranges{{9, 1}}));
}

}  // namespace forebay
