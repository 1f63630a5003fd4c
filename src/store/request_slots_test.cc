#include "store/request_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace forebay {
namespace {

std::shared_ptr<RequestSlots> slots_of(int start, int least = 1) {
  return std::make_shared<RequestSlots>(ConcurrencyLimits{start, least, 1024});
}

TEST(RequestSlots, are_divided_evenly_among_those_who_read) {
  const auto slots = slots_of(64);
  std::optional<RequestSlots::Share> first(slots);
  EXPECT_EQ(first->limit(), 64);
  {
    const RequestSlots::Share second(slots), third(slots);
    EXPECT_EQ(first->limit(), 21);
    EXPECT_EQ(third.limit(), 21);
    EXPECT_EQ(slots->limit(), 64) << "of all together";
  }
  EXPECT_EQ(first->limit(), 64) << "who has gone leaves his part";
}

TEST(RequestSlots, each_user_has_one_at_least) {
  const auto slots = slots_of(2);
  std::vector<std::unique_ptr<RequestSlots::Share>> many;
  for (int i = 0; i < 10; ++i) many.push_back(std::make_unique<RequestSlots::Share>(slots));
  for (const auto& share : many) EXPECT_EQ(share->limit(), 1);
}

TEST(RequestSlots, a_share_keeps_what_it_shares_alive) {
  auto slots = slots_of(8);
  const RequestSlots::Share share(slots);
  slots.reset();
  EXPECT_EQ(share.limit(), 8);
  share.limit();
}

TEST(RequestSlots, refusals_bring_the_number_of_all_down) {
  const auto slots = slots_of(64);
  RequestSlots::Share share(slots);
  for (int i = 0; i < 300; ++i) {
    const auto sent = share.on_sent();
    slots->on_throttled();
    share.on_ended(sent, false);
  }
  EXPECT_LT(share.limit(), 64);
  EXPECT_GE(share.limit(), 1);
}

TEST(RequestSlots, may_be_used_by_many_threads) {
  const auto slots = slots_of(16);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        RequestSlots::Share share(slots);
        const auto sent = share.on_sent();
        EXPECT_GE(share.limit(), 1);
        share.on_ended(sent, i % 7 != 0);
        if (i % 50 == 0) slots->on_throttled();
      }
    });
  }
  threads.clear();
  EXPECT_GE(slots->limit(), 1);
  EXPECT_LE(slots->limit(), 1024);
}

}  // namespace
}  // namespace forebay
