#include "store/request_slots.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::shared_ptr<RequestSlots> slots_of(int limit) {
  ConcurrencyLimits limits;
  limits.start = limits.least = limits.most = limit;
  return std::make_shared<RequestSlots>(limits);
}

TEST(RequestSlots, those_that_have_requests_in_flight_divide_what_the_store_serves_best) {
  const auto slots = slots_of(12);
  RequestSlots::Share one(slots), two(slots), three(slots);
  EXPECT_EQ(one.limit(), 12) << "nobody else asks for anything";
  const auto sent = two.sent();
  EXPECT_EQ(one.limit(), 6);
  EXPECT_EQ(two.limit(), 12);
  const auto again = two.sent(), other = three.sent();
  EXPECT_EQ(one.limit(), 4);
  EXPECT_EQ(two.limit(), 6);
  two.ended(sent, true);
  EXPECT_EQ(three.limit(), 6) << "one of two requests is still in flight";
  two.ended(again, true);
  EXPECT_EQ(three.limit(), 12);
  three.ended(other, true);
}

TEST(RequestSlots, everybody_may_ask_for_one_thing_at_least) {
  const auto slots = slots_of(1);
  RequestSlots::Share one(slots), two(slots);
  const auto sent = one.sent();
  EXPECT_EQ(two.limit(), 1);
  one.ended(sent, true);
}

}  // namespace
}  // namespace forebay
