#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_test_support.h"
#include "pipeline/run/waits.h"

// Tests what the consumer waited for.

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

TEST(Waits, the_parts_are_the_whole) {
  Waits waits;
  waits.change(5, Awaited::kUser);  // ignored, since the consumer does not wait
  waits.begin(10, Awaited::kSlot);
  waits.change(13, Awaited::kStorage);
  waits.change(40, Awaited::kCompute);
  EXPECT_EQ(waits.end(47), 37);
  waits.begin(100, Awaited::kStorage);
  EXPECT_EQ(waits.end(101), 1);
  EXPECT_EQ(waits.parts(), (Waits::Parts{0, 0, 0, 3, 28, 0, 7, 0, 0}));
}

int64_t part(const Runner::Stats& stats, Awaited what) { return stats.waits_ns[static_cast<size_t>(what)]; }
int64_t whole(const Runner::Stats& stats) {
  return std::accumulate(stats.waits_ns.begin(), stats.waits_ns.end(), int64_t{0});
}

TEST(Waits, storage_that_does_not_answer_is_what_is_waited_for) {
  Rig rig;
  const auto held = std::make_shared<HeldStore>(Objects::store_of(rig.sizes));
  rig.store = held;
  const auto runner = rig.run();
  EXPECT_TRUE(runner->next_for(2ms)->timed_out);
  EXPECT_TRUE(runner->next_for(2ms)->timed_out);
  const Runner::Stats stats = runner->stats();
  EXPECT_GT(part(stats, Awaited::kStorage), 0);
  EXPECT_EQ(part(stats, Awaited::kStorage), whole(stats));
  while (held->held() > 0) held->answer(cancelled("the test is over"));
}

TEST(Waits, a_thread_that_works_and_one_that_is_awaited_are_told_apart) {
  Rig rig;
  rig.options.threads = 1;
  rig.engine = std::make_shared<Engine>(1);
  HeldWork held;
  rig.ops = {{"waits", held.function()}};
  const auto runner = rig.run();
  EXPECT_TRUE(runner->next_for(0ms)->timed_out);
  held.wait_until_begun();
  const int64_t before = part(runner->stats(), Awaited::kCompute);
  EXPECT_TRUE(runner->next_for(2ms)->timed_out);
  const Runner::Stats stats = runner->stats();
  EXPECT_GT(part(stats, Awaited::kCompute), before);
  EXPECT_EQ(part(stats, Awaited::kCompute) + part(stats, Awaited::kThread), whole(stats));
  held.release();
  EXPECT_EQ(drain(*runner).ids.size(), rig.sizes.size());
}

TEST(Waits, the_log_says_what_is_awaited_and_of_which_element) {
  std::set<std::string> sentences;
  for (size_t i = 0; i < kAwaited; ++i) {
    const auto what = static_cast<Awaited>(i);
    const std::string sentence = sentence_of(what, "'a.jpg'");
    const bool of_one = what != Awaited::kPlan && what != Awaited::kAssembly;
    EXPECT_EQ(sentence.find("'a.jpg'") != std::string::npos, of_one) << sentence;
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
  }
}

TEST(Waits, the_sum_is_what_the_consumer_waited) {
  Rig rig;
  rig.store = jittery(rig.sizes);
  rig.epochs = 3;
  const auto runner = rig.run();
  drain(*runner);
  const Runner::Stats stats = runner->stats();
  EXPECT_GT(whole(stats), 0);
  EXPECT_LE(whole(stats), stats.elapsed_ns);
  EXPECT_EQ(part(stats, Awaited::kUser), 0);
}

}  // namespace
}  // namespace forebay
