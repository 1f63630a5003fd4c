#include "pipeline/run/batch_calls.h"

#include <gtest/gtest.h>

#include "pipeline/run/runner_test_support.h"

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

constexpr auto kLong = 60s;

BatchStage batch_stage(size_t number, BatchInput input = BatchInput::kFields) {
  BatchStage stage;
  stage.name = "map_batch(<function>)";
  stage.number = number;
  stage.seed = 9;
  stage.input = input;
  return stage;
}

std::shared_ptr<Runner> with_stages(Rig& rig, std::vector<BatchStage> stages) {
  return std::make_shared<Runner>(rig.engine, ExecutionPlan({rig.plan()}, std::move(stages)), rig.itinerary(),
                                  rig.options);
}

std::shared_ptr<BatchCall> take_call_of_batch(Runner& runner) {
  return std::dynamic_pointer_cast<BatchCall>(runner.take_call(kLong));
}

// Answers with one field, of one number for each row.
void answer(BatchCall& call, int64_t number) {
  BatchField field;
  field.name = "number";
  field.values = Tensor::allocate(DType::kInt64, Shape{call.batch().size()});
  std::fill_n(field.values.data<int64_t>(), call.batch().size(), number);
  call.finish({std::move(field)}, call.batch().size());
}

int64_t number_of(const Batch& batch) { return *batch.find("number")->values.data<int64_t>(); }

TEST(BatchCalls, begin_in_the_order_of_batches_and_answers_come_in_any_order) {
  Rig rig;
  const auto runner = with_stages(rig, {batch_stage(3)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  std::vector<std::shared_ptr<BatchCall>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(take_call_of_batch(*runner));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(calls[i]->step(), 3u);
    EXPECT_EQ(calls[i]->batch().step, i);
    EXPECT_EQ(calls[i]->key().seed, 9u);
    EXPECT_EQ(calls[i]->key().id, 8 * i) << "the position of the first row";
    EXPECT_EQ(calls[i]->sample(), calls[i]->batch().ids[0]);
    EXPECT_EQ(calls[i]->batch().find("label")->values.data<int64_t>()[0], 10 * calls[i]->sample());
  }
  for (const int i : {2, 1}) answer(*calls[i], i);
  EXPECT_TRUE(runner->next_for(1ms)->timed_out) << "the first batch is delivered first";
  answer(*calls[0], 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(number_of(*runner->next_for(kLong)->batch), i);
}

TEST(BatchCalls, functions_follow_each_other_and_may_change_the_number_of_rows) {
  Rig rig;
  const auto runner = with_stages(rig, {batch_stage(3), batch_stage(4)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  const auto first = take_call_of_batch(*runner);
  answer(*first, 7);
  const auto second = take_call_of_batch(*runner);
  ASSERT_EQ(second->step(), 4u) << "it is of an older batch than all other calls";
  EXPECT_EQ(number_of(second->batch()), 7);
  BatchField longer;
  longer.name = "longer";
  longer.values = Tensor::allocate(DType::kUint8, Shape{20});
  second->finish({std::move(longer)}, 20);
  const auto delivery = runner->next_for(kLong);
  EXPECT_EQ(delivery->batch->size(), 20);
  EXPECT_EQ(delivery->batch->ids.size(), 8u);
  EXPECT_EQ(runner->stats().samples, 8);
}

TEST(BatchCalls, a_failing_function_passes_its_batch_and_names_the_first_sample) {
  Rig rig;
  rig.shuffled = false;
  rig.options.bad_sample = BadSample::kSkip;
  const auto runner = with_stages(rig, {batch_stage(3)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  take_call_of_batch(*runner)->fail(Status(Code::kUser, "ValueError: no"));
  answer(*take_call_of_batch(*runner), 1);
  const auto failed = runner->next_for(kLong);
  EXPECT_EQ(failed.status().to_string(), "User: object 0: map_batch(<function>): ValueError: no (sample 0)");
  EXPECT_EQ(number_of(*runner->next_for(kLong)->batch), 1);
}

TEST(BatchCalls, after_an_error_of_the_machine_the_batch_is_made_again) {
  Rig rig;
  const auto runner = with_stages(rig, {batch_stage(3)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  take_call_of_batch(*runner)->fail(Status(Code::kUnavailable, "the worker ended"));
  EXPECT_EQ(runner->next_for(kLong).status().code(), Code::kUnavailable);
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  const auto again = take_call_of_batch(*runner);
  EXPECT_EQ(again->batch().step, 0);
  answer(*again, 5);
  EXPECT_EQ(number_of(*runner->next_for(kLong)->batch), 5);
}

TEST(BatchCalls, answers_after_seek_and_after_close_are_ignored) {
  Rig rig;
  rig.epochs = std::nullopt;
  const auto runner = with_stages(rig, {batch_stage(3)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  const auto late = take_call_of_batch(*runner);
  runner->seek({1, 8, 1});
  answer(*late, 1);
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  const auto wanted = take_call_of_batch(*runner);
  EXPECT_EQ(wanted->batch().epoch, 1);
  answer(*wanted, 2);
  EXPECT_EQ(number_of(*runner->next_for(kLong)->batch), 2);
  const auto left = take_call_of_batch(*runner);
  runner->close();
  answer(*left, 3);
  EXPECT_EQ(runner->take_call(1ms), nullptr);
}

TEST(BatchCalls, samples_stay_apart_for_a_function_that_makes_an_object_of_them) {
  Rig rig;
  rig.shuffled = false;
  rig.change_plan = [](BranchPlan& plan) {
    plan.stacks_rows = false;
    for (OutputField& output : plan.outputs) output.row_bytes.reset();
  };
  const auto runner = with_stages(rig, {batch_stage(3, BatchInput::kSamples)});
  EXPECT_TRUE(runner->next_for(1ms)->timed_out);
  const auto call = take_call_of_batch(*runner);
  ASSERT_NE(call->samples(), nullptr);
  ASSERT_EQ(call->samples()->size(), 8u);
  for (int64_t i = 0; i < 8; ++i) {
    const NamedValues& sample = (*call->samples())[static_cast<size_t>(i)];
    EXPECT_EQ(sample[0].first, "bytes");
    EXPECT_EQ(sample[1].first, "label");
    EXPECT_EQ(*sample[1].second.tensor.data<int64_t>(), 10 * i);
  }
  EXPECT_GE(runner->stats().memory.of(Use::kBatches), 8u * 24) << "samples count until they are delivered";
  const auto object = std::make_shared<int>(3);
  call->finish(std::shared_ptr<void>(object));
  const auto delivery = runner->next_for(kLong);
  EXPECT_EQ(delivery->batch->object, object);
  EXPECT_TRUE(delivery->batch->fields.empty());
  EXPECT_EQ(delivery->batch->ids.size(), 8u);
}

}  // namespace
}  // namespace forebay
