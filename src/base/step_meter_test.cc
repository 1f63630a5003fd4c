#include "base/step_meter.h"

#include <gtest/gtest.h>

#include <map>

namespace forebay {
namespace {

// Keeps the thread busy for that long, by the clock on the wall.
void work_for_us(int64_t us) {
  const int64_t until = monotonic_ns() + us * 1000;
  while (monotonic_ns() < until) {
  }
}

struct Booked {
  std::map<int, int64_t> ns;
  auto book() {
    return [this](int step, int64_t spent) { ns[step] += spent; };
  }
  int64_t sum() const {
    int64_t sum = 0;
    for (const auto& [step, spent] : ns) sum += spent;
    return sum;
  }
};

TEST(StepMeter, the_parts_of_a_piece_add_up_to_its_cpu_time) {
  StepMeter meter;
  int looked = 0;
  for (int piece = 0; piece < 50; ++piece) {
    Booked booked;
    meter.begin();
    const bool looks = meter.looks();
    work_for_us(20);
    {
      const StepSpan decode(meter, 1);
      work_for_us(60);
      const StepSpan resize(meter, 2);
      work_for_us(20);
    }
    const int64_t cpu = meter.end(booked.book());
    EXPECT_LE(cpu, thread_cpu_ns());
    if (!looks) {
      EXPECT_TRUE(booked.ns.empty());
      continue;
    }
    ++looked;
    EXPECT_NEAR(static_cast<double>(booked.sum()), static_cast<double>(cpu), 10);
  }
  EXPECT_GE(looked, 5);
}

TEST(StepMeter, one_piece_in_eight_is_looked_at_whatever_period_the_work_has) {
  constexpr int kPieces = 8000;
  for (int period : {1, 2, 3, 4, 8, 16}) {
    StepMeter meter;
    std::map<int, int> looked;
    for (int piece = 0; piece < kPieces; ++piece) {
      meter.begin();
      looked[piece % period] += meter.looks();
      (void)meter.end([](int, int64_t) {});
    }
    for (const auto& [kind, times] : looked) EXPECT_NEAR(times, kPieces / period / StepMeter::kEvery, 10) << period;
  }
}

TEST(StepMeter, spans_lie_inside_each_other) {
  StepMeter meter;
  meter.begin();
  EXPECT_EQ(meter.current(), 0);
  {
    const StepSpan outer(meter, 4);
    {
      const StepSpan inner(meter, 5);
      EXPECT_EQ(meter.current(), 5);
    }
    EXPECT_EQ(meter.current(), 4);
    const StepSpan beyond(meter, 1'000'000);
    EXPECT_EQ(meter.current(), StepMeter::kSteps - 1);
  }
  EXPECT_EQ(meter.current(), 0);
}

}  // namespace
}  // namespace forebay
