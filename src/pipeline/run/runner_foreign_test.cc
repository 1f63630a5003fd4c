#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "pipeline/run/runner_test_support.h"

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

/// Answers calls on a thread of its own, as language bindings do.
class User {
 public:
  using Answer = std::function<void(SampleCall&)>;
  User(std::shared_ptr<Runner> runner, Answer answer, int threads = 1) : runner_(std::move(runner)) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, answer] {
        while (!runner_->closed()) {
          if (const std::shared_ptr<ForeignCall> call = runner_->take_call(5ms)) {
            ++calls;
            answer(dynamic_cast<SampleCall&>(*call));
          }
        }
      });
    }
  }
  ~User() {
    runner_->close();
    for (std::thread& thread : threads_) thread.join();
  }
  std::atomic<int> calls = 0;

 private:
  const std::shared_ptr<Runner> runner_;
  std::vector<std::thread> threads_;
};

// Runs summary(), user code on `label`, and then `after`.
Rig with_user_code(Does::Function after, bool fetches = true) {
  Rig setup;
  setup.change_plan = [after = std::move(after), fetches](BranchPlan& plan) {
    plan.fetches = fetches;
    ForeignStage user;
    user.name = "map(<function>)";
    user.step = 2;
    user.merge = true;
    user.inputs = {1};
    user.input_schema = Schema({plan.output_schema[1]});
    user.output_schema = plan.output_schema;
    user.counters = std::make_shared<StepCounters>();
    plan.stages.push_back(std::move(user));
    if (!after) return;
    NativeStage last;
    last.ops.push_back({"after", std::make_unique<Does>(after), std::make_shared<StepCounters>()});
    plan.stages.push_back(std::move(last));
  };
  return setup;
}

void add_one(SampleCall& call) {
  Tensor made = Tensor::allocate(DType::kInt64, {});
  *made.data<int64_t>() = *call.record()[0].tensor.data<int64_t>() + 1;
  Record record;
  record.push_back(Value::of(std::move(made)));
  call.finish(call.schema(), std::move(record));
}

TEST(RunnerForeign, user_code_gets_every_sample_and_order_stays) {
  for (const int threads : {1, 4}) {
    const auto runner = with_user_code(nullptr).run();
    User user(runner, add_one, threads);
    const Outcome outcome = drain(*runner);
    ASSERT_EQ(outcome.ids.size(), 50u);
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(outcome.labels[i], 10 * outcome.ids[i] + 1);
    EXPECT_EQ(user.calls, 50);
  }
}

// A picture that is rotated in place.
class Turned final : public Deferred {
 public:
  DType dtype() const override { return DType::kUint64; }
  Shape shape() const override { return {2}; }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    std::memset(out.data(), turns, out.size());
    return {};
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<Turned>(*this); }
  int turns = 0;
};

TEST(RunnerForeign, a_task_that_asks_for_more_memory_after_user_code_is_not_done_twice) {
  std::atomic<int> applied = 0;
  Rig setup = with_user_code([&](Record& record, const SampleContext& context) -> Status {
    ++applied;
    static_cast<Turned&>(*record[0].deferred).turns += 1;
    *record[1].tensor.data<int64_t>() += 0;
    return context.memory->reserve(1000);
  });
  setup.ops = {{"begin", [](Record& record, const SampleContext&) -> Status {
                  record[0] = Value::of(std::make_unique<Turned>());
                  return {};
                }}};
  const auto runner = setup.run();
  User user(runner, add_one);
  while (true) {
    const Result<Runner::Delivery> delivery = runner->next_for(20s);
    ASSERT_TRUE(delivery.ok()) << delivery.status().to_string();
    if (!delivery->batch) break;
    for (int64_t row = 0; row < delivery->batch->size(); ++row) {
      EXPECT_EQ(delivery->batch->find("bytes")->row(row)[0], 1) << "turned once, however often it was tried";
    }
  }
  EXPECT_EQ(applied, 100) << "each asked for memory at its first try";
  EXPECT_EQ(user.calls, 50) << "user code is not called again for that";
}

TEST(RunnerForeign, a_replacement_after_user_code_is_loaded_and_mapped_itself) {
  // Nothing is fetched, so the replacement is in memory, but it has to pass user code as well.
  Rig setup = with_user_code(
      [](Record&, const SampleContext& context) -> Status {
        return context.key.id % 2 == 0 ? corrupt("even") : Status();
      },
      false);
  setup.options.bad_sample = BadSample::kReplace;
  const auto runner = setup.run();
  User user(runner, add_one);
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  ASSERT_EQ(outcome.ids.size(), 50u);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(outcome.ids[i] % 2, 1);
    EXPECT_EQ(outcome.labels[i], 10 * outcome.ids[i] + 1);
  }
}

TEST(RunnerForeign, exceptions_of_user_code_follow_the_policy_and_name_the_step) {
  const auto fails = [](SampleCall& call) {
    if (call.key().id == 3) {
      call.fail(Status(Code::kUser, "ValueError: three"));
    } else {
      add_one(call);
    }
  };
  Rig setup = with_user_code(nullptr);
  {
    const auto runner = setup.run();
    User user(runner, fails);
    EXPECT_EQ(drain(*runner).raised,
              std::vector<std::string>{"User: object 3: map(<function>): ValueError: three (sample 3)"});
  }
  setup.options.bad_sample = BadSample::kSkip;
  const auto runner = setup.run();
  User user(runner, fails);
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.ids.size(), 49u);
  EXPECT_EQ(outcome.told.size(), 1u);
}

TEST(RunnerForeign, a_dropped_call_counts_as_failed_and_nothing_hangs) {
  const auto runner = with_user_code(nullptr).run();
  User user(runner, [](SampleCall&) {});
  EXPECT_EQ(runner->next_for(20s).status().code(), Code::kInternal);
}

TEST(RunnerForeign, answers_after_close_and_after_seek_are_ignored) {
  std::vector<std::shared_ptr<ForeignCall>> late;
  Rig setup = with_user_code(nullptr);
  setup.epochs = std::nullopt;
  const auto runner = setup.run();
  EXPECT_TRUE(runner->next_for(50ms)->timed_out);
  for (int i = 0; i < 3; ++i) late.push_back(runner->take_call(1s));
  runner->seek({1, 8, 1});
  for (const auto& call : late) add_one(dynamic_cast<SampleCall&>(*call));
  late.clear();
  EXPECT_TRUE(runner->next_for(50ms)->timed_out);
  for (int i = 0; i < 3; ++i) late.push_back(runner->take_call(1s));
  runner->close();
  for (const auto& call : late) {
    ASSERT_TRUE(call);
    add_one(dynamic_cast<SampleCall&>(*call));
  }
}

TEST(RunnerForeign, user_code_that_is_late_does_not_look_like_a_lack_of_memory) {
  // The budget holds one object at a time. Younger objects that wait for user code are revoked.
  Rig setup = with_user_code(nullptr);
  setup.sizes.assign(32, 1000);
  setup.options = {.threads = 2, .requests = 8, .window_batches = 3, .memory = {.share = {.wanted = 8 * 24 + 2500}}};
  const auto runner = setup.run();
  User user(runner, [](SampleCall& call) {
    std::this_thread::sleep_for(1ms);
    add_one(call);
  });
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.ids.size(), 32u);
}

}  // namespace
}  // namespace forebay
