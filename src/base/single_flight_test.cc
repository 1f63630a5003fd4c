#include "base/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace forebay {
namespace {

Hash128 entry(uint64_t number) { return hash128(&number, sizeof number); }

void call(const SingleFlight::Callbacks& callbacks) {
  for (const auto& callback : callbacks) callback();
}

TEST(SingleFlight, an_entry_is_made_by_one_and_the_others_are_told_when_that_ends) {
  const auto flights = SingleFlight::make();
  int notified = 0;
  EXPECT_FALSE(flights->subscribe(entry(1), SingleFlight::Wait::kAny, [&] { ++notified; })) << "nobody makes it";
  auto first = flights->begin(entry(1));
  ASSERT_TRUE(first);
  EXPECT_FALSE(flights->begin(entry(1)));
  EXPECT_TRUE(flights->begin(entry(2))) << "another entry";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(flights->subscribe(entry(1), SingleFlight::Wait::kAny, [&] { ++notified; }));
  first.reset();
  EXPECT_EQ(notified, 3);
  EXPECT_TRUE(flights->begin(entry(1)));
  EXPECT_EQ(flights->size(), 0u);
}

TEST(SingleFlight, waiters_are_told_when_a_flight_begins_to_rest_and_find_what_it_has) {
  const auto flights = SingleFlight::make();
  const auto flight = flights->begin(entry(1));
  EXPECT_TRUE(flights->state(entry(1))->working)
      << "or who looks between its beginning and its read would read as well";
  int notified = 0;
  ASSERT_TRUE(flights->subscribe(entry(1), SingleFlight::Wait::kAny, [&] { ++notified; }));
  call(flight->pause(SingleFlight::Stored{Buffer::allocate(7), 3}));
  EXPECT_EQ(notified, 1);
  const auto state = flights->state(entry(1));
  ASSERT_TRUE(state && state->stored);
  EXPECT_FALSE(state->working);
  EXPECT_EQ(state->stored->bytes.size(), 7u);
  EXPECT_EQ(state->stored->version, 3u);
  flight->resume();
  call(flight->pause());
  EXPECT_TRUE(flights->state(entry(1))->stored) << "it still has them";
  EXPECT_EQ(notified, 1) << "who was told has to wait again";
}

// Another thread may change the flight between state() and subscribe().
TEST(SingleFlight, only_a_flight_that_is_working_is_waited_for_where_a_resting_one_may_rest_for_ever) {
  const auto flights = SingleFlight::make();
  int notified = 0;
  const auto waits = [&] { return flights->subscribe(entry(1), SingleFlight::Wait::kWorking, [&] { ++notified; }); };
  EXPECT_FALSE(waits()) << "there is none";
  auto flight = flights->begin(entry(1));
  EXPECT_TRUE(waits());
  call(flight->pause());
  EXPECT_EQ(notified, 1);
  EXPECT_FALSE(waits()) << "nothing would tell of a rest that has begun";
  flight->resume();
  EXPECT_TRUE(waits());
  flight.reset();
  EXPECT_EQ(notified, 2);
}

TEST(SingleFlight, ending_twice_ends_no_other_flight_of_the_entry) {
  const auto flights = SingleFlight::make();
  auto flight = flights->begin(entry(1));
  call(flight->end());
  const auto next = flights->begin(entry(1));
  ASSERT_TRUE(next);
  call(flight->end());
  flight.reset();
  EXPECT_TRUE(flights->state(entry(1)));
}

TEST(SingleFlight, many_threads_make_each_entry_once) {
  const auto flights = SingleFlight::make();
  constexpr uint64_t kEntries = 200;
  std::vector<std::atomic<int>> made(kEntries);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEntries; ++i) {
        while (made[i] == 0) {
          std::atomic<bool> notified = false;
          if (auto flight = flights->begin(entry(i))) {
            if (made[i] == 0) ++made[i];
          } else if (flights->subscribe(entry(i), SingleFlight::Wait::kAny,
                                        [&] { notified = true, notified.notify_all(); })) {
            notified.wait(false);
          }
        }
      }
    });
  }
  threads.clear();
  for (const auto& times : made) EXPECT_EQ(times, 1);
  EXPECT_EQ(flights->size(), 0u);
}

}  // namespace
}  // namespace forebay
