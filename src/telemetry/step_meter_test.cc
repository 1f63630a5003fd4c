#include "telemetry/step_meter.h"

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
  int times = 0;
  auto book() {
    return [this](int step, int64_t spent) { ns[step] += spent, ++times; };
  }
  int64_t sum() const {
    int64_t sum = 0;
    for (const auto& [step, spent] : ns) sum += spent;
    return sum;
  }
};

TEST(StepMeter, parts_add_up_to_the_cpu_time_of_the_whole) {
  StepMeter meter;
  Booked booked;
  const int64_t begun = thread_cpu_ns();
  for (int piece = 0; piece < 4 * StepMeter::kEvery + 1; ++piece) {  // the last one is looked at, so nothing waits
    meter.begin();
    work_for_us(20);
    {
      const StepSpan decode(meter, 1);
      work_for_us(60);
      const StepSpan resize(meter, 2);
      work_for_us(20);
    }
    meter.end(booked.book());
  }
  const int64_t cpu = thread_cpu_ns() - begun;
  EXPECT_LE(booked.sum(), cpu);
  EXPECT_GE(booked.sum(), cpu * 9 / 10);
  EXPECT_GT(booked.ns[1], booked.ns[0]) << "60 µs against 20, whatever else the machine does";
  EXPECT_GT(booked.ns[1], booked.ns[2]);
}

TEST(StepMeter, one_piece_in_eight_is_looked_at_and_stands_for_those_before_it) {
  StepMeter meter;
  Booked booked;
  int looked = 0;
  for (int piece = 0; piece < 10 * StepMeter::kEvery; ++piece) {
    meter.begin();
    looked += meter.looks();
    {
      const StepSpan span(meter, 3);
    }
    meter.end(booked.book());
  }
  EXPECT_EQ(looked, 10);
  EXPECT_LE(booked.times, 20) << "two steps at each";
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
