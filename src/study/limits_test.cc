#include "study/limits.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"
#include "study/observation.h"

namespace forebay {
namespace {

/// Ten seconds of a run with those waits of the consumer.
Observation ten_seconds(const WaitStats& waits) {
  Observation seen;
  seen.rates = {100};
  seen.before.elapsed_seconds = 5;
  seen.before.waits = {1, 1, 1, 1, 1, 1, 1, 1, 1};  // waits before the windows do not count
  seen.before.consumer_wait_seconds = 9;
  seen.after = seen.before;
  seen.after.elapsed_seconds = 15;
  WaitStats& after = seen.after.waits;
  after.plan += waits.plan, after.memory += waits.memory, after.slot += waits.slot, after.storage += waits.storage;
  after.thread += waits.thread, after.compute += waits.compute, after.user += waits.user,
      after.assembly += waits.assembly, after.interpreter += waits.interpreter;
  for (const double part : {waits.plan, waits.memory, waits.slot, waits.storage, waits.thread, waits.compute,
                            waits.user, waits.assembly, waits.interpreter})
    seen.after.consumer_wait_seconds += part;
  return seen;
}

TEST(Limits, TheLargestWaitIsTheLimit) {
  struct Case {
    WaitStats waits;
    bool requests_given;
    Limit limit;
    double share;
  };
  const Case cases[] = {
      {{}, false, Limit::kTrainer, 0},
      {{.storage = 0.4}, false, Limit::kTrainer, 0.04},  // less than 5 % is no limit
      {{.storage = 6, .compute = 3}, false, Limit::kStorage, 0.6},
      {{.storage = 3, .compute = 6}, false, Limit::kCompute, 0.6},
      {{.storage = 4, .thread = 2, .compute = 2, .assembly = 1}, false, Limit::kCompute, 0.5},
      {{.slot = 3, .storage = 2, .compute = 4}, false, Limit::kStorage, 0.5},  // no requests= given
      {{.slot = 5, .storage = 2, .compute = 4}, true, Limit::kRequests, 0.5},
      {{.memory = 5, .storage = 4}, false, Limit::kMemory, 0.5},
      {{.thread = 4, .user = 5}, false, Limit::kUserCode, 0.5},
  };
  for (const Case& one : cases) {
    LoaderOptions options;
    if (one.requests_given) options.resources.requests = 2;
    const Limiter limiter = limiter_of(ten_seconds(one.waits), options);
    EXPECT_EQ(name_of(limiter.limit), name_of(one.limit));
    EXPECT_NEAR(limiter.share, one.share, 1e-9);
  }
}

TEST(Limits, TheSentenceHasTheFiguresOfTheWindowsAlone) {
  Observation seen = ten_seconds({.storage = 8});
  StoreStats store;
  store.name = "s3://bucket/";
  store.waited = 100, store.seconds = 50, store.bytes = 1000;
  seen.before.stores = {store};
  store.waited = 1100, store.seconds = 90, store.bytes = 1000 + (uint64_t{100} << 20), store.throttled = 3;
  seen.after.stores = {store};
  const std::string sentence = limiter_of(seen, {}).sentence;
  for (const char* figure : {"80 %", "s3://bucket/", "40.0 ms", "10.0 MiB/s", "4 reads", "3 times"})
    EXPECT_NE(sentence.find(figure), std::string::npos) << figure << " in: " << sentence;
}

TEST(Limits, ComputeNamesTheOperatorThatTookMostSinceTheFirstLook) {
  Observation seen = ten_seconds({.compute = 9});
  seen.after.threads = 2;
  seen.before.steps = {{.name = "decode", .busy_seconds = 100}, {.name = "resize", .busy_seconds = 1}};
  seen.after.steps = {{.name = "decode", .busy_seconds = 101}, {.name = "resize", .busy_seconds = 4}};
  seen.after.thread_time = {.rows = 15, .idle = 5};
  const std::string sentence = limiter_of(seen, {}).sentence;
  EXPECT_NE(sentence.find("resize took 75 %"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("at work 75 %"), std::string::npos) << sentence;
}

TEST(Limits, ReadsAreTheLimitWhileThreadsAreIdle) {
  Observation seen = ten_seconds({.storage = 2, .compute = 6});
  seen.after.threads = 2, seen.after.requests = 4;
  seen.after.thread_time = {.rows = 9, .idle = 11};
  seen.before.stores = {StoreStats()};
  seen.after.stores = {StoreStats()};
  seen.after.stores.front().seconds = 39;
  LoaderOptions options;
  EXPECT_EQ(name_of(limiter_of(seen, options).limit), "storage");
  EXPECT_NEAR(limiter_of(seen, options).share, 0.8, 1e-9);
  options.resources.requests = 4;
  EXPECT_EQ(name_of(limiter_of(seen, options).limit), "requests");
  seen.after.stores.front().seconds = 20;
  EXPECT_EQ(name_of(limiter_of(seen, options).limit), "compute") << "half of the requests have nothing to do";
  seen.after.stores.front().seconds = 39;
  seen.after.thread_time = {.rows = 15, .idle = 5};
  EXPECT_EQ(name_of(limiter_of(seen, options).limit), "compute") << "the threads are busy";
}

TEST(Limits, ALockOfTheInterpreterIsTheUsersCode) {
  const Limiter limiter = limiter_of(ten_seconds({.compute = 3, .user = 1, .interpreter = 4}), {});
  EXPECT_EQ(limiter.limit, Limit::kUserCode);
  EXPECT_NE(limiter.sentence.find("80 % of that for Python's lock"), std::string::npos) << limiter.sentence;
  const Limiter without = limiter_of(ten_seconds({.user = 5}), {});
  EXPECT_EQ(without.sentence.find("lock"), std::string::npos) << without.sentence;
}

TEST(Limits, CoresAreTheLimitIfThreadsAreRunnableWithoutOne) {
  Observation seen = ten_seconds({.compute = 9});
  seen.after.threads = 1;
  seen.before.thread_time = {.rows = 3, .row_groups = 1, .engine = 5};
  seen.after.thread_time = {.rows = 9, .row_groups = 3, .engine = 15};
  seen.cores_before = {.ran = 100, .waited = 50};
  seen.cores_after = {.ran = 107, .waited = 51};
  EXPECT_EQ(name_of(limiter_of(seen, {}).limit), "compute") << "seven eighths of the time";
  seen.cores_after = {.ran = 103, .waited = 55};
  const Limiter limiter = limiter_of(seen, {});
  EXPECT_EQ(name_of(limiter.limit), "cores");
  EXPECT_NEAR(limiter.share, 0.9, 1e-9);
  EXPECT_NE(limiter.sentence.find("a core for 38 % of the time that they were ready"), std::string::npos)
      << limiter.sentence;
  seen.cores_after = {.ran = 100.1, .waited = 51};
  EXPECT_EQ(name_of(limiter_of(seen, {}).limit), "compute") << "most of the time they waited for something else";
  seen.cores_after = {.ran = 103, .waited = 55};
  seen.after.threads = 1000;  // so many threads take turns on the cores
  EXPECT_EQ(name_of(limiter_of(seen, {}).limit), "compute");
  seen.cores_before = seen.cores_after = {};
  EXPECT_EQ(name_of(limiter_of(seen, {}).limit), "compute") << "a kernel that does not say";
}

TEST(Limits, BlockedThreadsDoNotLackCores) {
  Observation seen = ten_seconds({.storage = 9});
  seen.after.threads = 1;
  seen.after.thread_time.rows = 1;
  seen.cores_after = {.ran = 1, .waited = 5};
  EXPECT_EQ(name_of(limiter_of(seen, {}).limit), "storage");
}

}  // namespace
}  // namespace forebay
