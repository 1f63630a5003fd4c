#include "base/step_meter.h"

#include <gtest/gtest.h>

#include <map>

namespace forebay {
namespace {

// Keeps the thread busy for that long on the wall clock.
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
    const bool is_measuring = meter.is_measuring();
    work_for_us(20);
    {
      const StepSpan decode(meter, 1);
      work_for_us(60);
      const StepSpan resize(meter, 2);
      work_for_us(20);
    }
    const int64_t cpu = meter.end(booked.book());
    EXPECT_LE(cpu, thread_cpu_ns());
    if (!is_measuring) {
      EXPECT_TRUE(booked.ns.empty());
      continue;
    }
    ++looked;
    EXPECT_NEAR(static_cast<double>(booked.sum()), static_cast<double>(cpu), 10);
  }
  EXPECT_GE(looked, 5);
}

// Clocks of a thread that shares its core: the wall clock runs while other threads have the core,
// and the CPU clock does not.
struct SharedCore {
  static inline int64_t wall = 0, cpu = 0, cpu_reads = 0;
  static int64_t wall_ns() { return wall; }
  static int64_t cpu_ns() {
    ++cpu_reads;
    return cpu;
  }
  static void work(int64_t ns) { wall += ns, cpu += ns; }
  static void others_have_the_core(int64_t ns) { wall += ns; }
};

TEST(StepMeter, time_without_a_core_is_no_steps_work) {
  constexpr int64_t kMs = 1'000'000;
  // The thread loses its core at any point: in a step, at its end, before the first and after the
  // last.
  for (int lost_in = 0; lost_in < 4; ++lost_in) {
    BasicStepMeter<SharedCore> meter;
    std::map<int, int64_t> booked;
    const auto lose_core = [&](int place) {
      if (place == lost_in) SharedCore::others_have_the_core(8 * kMs);
    };
    meter.begin();
    ASSERT_TRUE(meter.is_measuring());
    lose_core(0);
    SharedCore::work(kMs / 10);
    meter.enter(1);
    SharedCore::work(2 * kMs);
    lose_core(1);
    meter.enter(2);
    SharedCore::work(kMs);
    lose_core(2);
    meter.enter(0);
    SharedCore::work(kMs / 2);
    lose_core(3);
    EXPECT_EQ(meter.end([&](int step, int64_t ns) { booked[step] += ns; }), kMs * 36 / 10);
    EXPECT_NEAR(static_cast<double>(booked[0]), 0.6 * kMs, 10) << lost_in;
    EXPECT_NEAR(static_cast<double>(booked[1]), 2.0 * kMs, 10) << lost_in;
    EXPECT_NEAR(static_cast<double>(booked[2]), 1.0 * kMs, 10) << lost_in;
  }
}

TEST(StepMeter, short_visits_are_timed_without_a_system_call) {
  BasicStepMeter<SharedCore> meter;
  std::map<int, int64_t> booked;
  SharedCore::cpu_reads = 0;
  meter.begin();
  ASSERT_TRUE(meter.is_measuring());
  for (int row = 0; row < 500; ++row) {  // rows of a picture: resized, then normalised
    meter.enter(1);
    SharedCore::work(3000);
    meter.enter(2);
    SharedCore::work(1000);
  }
  SharedCore::others_have_the_core(8'000'000);  // once, in a short visit
  const int64_t cpu = meter.end([&](int step, int64_t ns) { booked[step] += ns; });
  EXPECT_EQ(SharedCore::cpu_reads, 2) << "at the beginning and the end";
  EXPECT_EQ(cpu, 2'000'000);
  EXPECT_NEAR(static_cast<double>(booked[1]), 1'500'000, 10);
  EXPECT_NEAR(static_cast<double>(booked[2]), 500'000, 10);
}

TEST(StepMeter, one_piece_in_eight_is_looked_at_whatever_period_the_work_has) {
  constexpr int kPieces = 8000;
  for (int period : {1, 2, 3, 4, 8, 16}) {
    StepMeter meter;
    std::map<int, int> looked;
    for (int piece = 0; piece < kPieces; ++piece) {
      meter.begin();
      looked[piece % period] += meter.is_measuring();
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
