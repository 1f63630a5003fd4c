#include "forebay/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "forebay/ledger.h"
#include "loader/loader_test_support.h"

namespace forebay {
namespace {

using namespace loader_test;

TEST(Loader, epochs_follow_each_other_and_end) {
  const auto loader = opened(arrays({{"x", counting(10)}}).batch(4), {.epochs = 2});
  EXPECT_EQ(loader->batches_per_epoch(), 3);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(loader->epoch(), epoch);
    const std::vector<Batch> batches = epoch_of(*loader);
    ASSERT_EQ(batches.size(), 3u);
    EXPECT_EQ(batches[2].size(), 2);
    EXPECT_EQ(batches[2].epoch, epoch);
    EXPECT_EQ(batches[2].step, 2);
    std::vector<int64_t> expected(10);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(ids_of(batches), expected) << "without shuffle the order is by id";
  }
  EXPECT_TRUE(loader->finished());
  EXPECT_FALSE(*loader->next());
  EXPECT_FALSE(*loader->next());
}

TEST(Loader, set_epoch_keeps_the_position_in_the_current_one) {
  const auto loader = opened(arrays({{"x", counting(10)}}).shuffle().batch(4));
  const std::vector<int64_t> first = (*loader->next())->ids;
  ASSERT_TRUE(loader->set_epoch(0).ok());
  EXPECT_EQ((*loader->next())->step, 1);
  ASSERT_TRUE(loader->set_epoch(5).ok());
  EXPECT_EQ((*loader->next())->epoch, 5);
  ASSERT_TRUE(loader->set_epoch(0).ok());
  EXPECT_EQ((*loader->next())->ids, first);
  EXPECT_EQ(loader->set_epoch(-1).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_epoch(INT64_MAX).code(), Code::kInvalidArgument);
}

TEST(Loader, take_is_the_first_ids) {
  const auto loader = opened(arrays({{"x", counting(100)}}).shuffle().take(7).batch(4));
  EXPECT_EQ(loader->size(), 7);
  std::vector<int64_t> ids = ids_of(epoch_of(*loader));
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Loader, filter_is_asked_once_for_each_sample_and_lengths_stay_known) {
  std::atomic<int> asked = 0;
  const auto loader =
      opened(arrays({{"x", counting(1000)}, {"y", counting(1000, 3)}})
                 .filter(
                     [&](const Sample& sample) -> Result<bool> {
                       ++asked;
                       EXPECT_EQ(sample.size(), 1u) << "only the named field";
                       return *sample.at("x").data<int64_t>() % 3 == 0;
                     },
                     {.fields = {"x"}})
                 .filter([](const Sample& sample) -> Result<bool> { return *sample.at("x").data<int64_t>() % 2 == 0; })
                 .take(100)
                 .shuffle()
                 .batch(16));
  EXPECT_EQ(loader->size(), 0) << "not known yet";
  ASSERT_TRUE(loader->prepare().ok());
  EXPECT_EQ(loader->size(), 100);
  EXPECT_EQ(loader->batches_per_epoch(), 7);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<int64_t> ids = ids_of(epoch_of(*loader));
    std::sort(ids.begin(), ids.end());
    ASSERT_EQ(ids.size(), 100u);
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], 6 * i);
  }
  EXPECT_EQ(asked, 1000);
}

TEST(Loader, a_filter_that_keeps_nothing_gives_empty_epochs) {
  const auto loader =
      opened(arrays({{"x", counting(10)}}).filter([](const Sample&) -> Result<bool> { return false; }).batch(4));
  EXPECT_FALSE(*loader->next());
  EXPECT_EQ(loader->size(), 0);
  EXPECT_EQ(loader->batches_per_epoch(), 0);
}

TEST(Loader, a_filter_that_fails_says_where) {
  const auto loader = opened(arrays({{"x", counting(10)}})
                                 .filter([](const Sample& sample) -> Result<bool> {
                                   if (*sample.at("x").data<int64_t>() == 4) throw std::runtime_error("four");
                                   return true;
                                 })
                                 .batch(4));
  const Status status = loader->prepare();
  EXPECT_EQ(status.code(), Code::kUser);
  EXPECT_EQ(status.sample(), 4);
  EXPECT_NE(status.message().find("four"), std::string::npos);
}

Pipeline doubled() {
  return arrays({{"x", counting(100)}}).shuffle().map([](Sample& sample) -> Status {
    *sample.at("x").data<int64_t>() *= 2;  // in place, as users do
    return {};
  });
}

TEST(Loader, map_may_change_in_place_and_the_data_set_stays_as_it_was) {
  const auto loader = opened(doubled().batch(8), {.epochs = 3});
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const Batch& batch : epoch_of(*loader)) {
      for (int64_t row = 0; row < batch.size(); ++row) {
        int64_t value;
        std::memcpy(&value, batch.find("x")->row(row).data(), sizeof value);
        ASSERT_EQ(value, 2 * batch.ids[static_cast<size_t>(row)]) << "epoch " << epoch;
      }
    }
  }
}

TEST(Loader, map_may_change_shapes_and_add_fields) {
  const auto loader = opened(arrays({{"x", counting(10, 6)}})
                                 .map(
                                     [](Sample& sample) -> Status {
                                       sample.at("x").shape = {2, 3};
                                       Tensor sum = Tensor::allocate(DType::kFloat64, {});
                                       *sum.data<double>() = 1.5;
                                       sample["y"] = sum;
                                       return {};
                                     },
                                     {.adds = {"y"}})
                                 .batch(4));
  const Batch batch = std::move(**loader->next());
  EXPECT_EQ(batch.find("x")->values.shape, (Shape{4, 2, 3}));
  EXPECT_EQ(batch.find("y")->values.data<double>()[3], 1.5);
}

TEST(Loader, rows_that_a_map_makes_are_ragged_where_batch_names_them) {
  const auto pipeline = arrays({{"x", counting(4)}})
                            .map(
                                [](Sample& sample) -> Status {
                                  sample["row"] = Tensor::allocate(DType::kFloat32, {2});
                                  return {};
                                },
                                {.adds = {"row"}});
  const auto form = [&](const BatchOptions& options) {
    const auto loader = opened(pipeline.batch(4, options));
    return std::move(**loader->next()).find("row")->kind;
  };
  EXPECT_EQ(form({}), BatchField::Kind::kDense);
  EXPECT_EQ(form({.ragged = {"row"}}), BatchField::Kind::kRagged);
}

TEST(Loader, a_map_that_gives_more_than_it_holds_is_refused) {
  const auto loader = opened(arrays({{"x", counting(10, 2)}})
                                 .map([](Sample& sample) -> Status {
                                   sample.at("x").shape = {1'000'000};
                                   return {};
                                 })
                                 .batch(4));
  EXPECT_EQ(loader->next().status().code(), Code::kInvalidArgument);
}

TEST(Loader, exceptions_of_map_functions_follow_the_policy) {
  const Pipeline pipeline = arrays({{"x", counting(20)}})
                                .map([](Sample& sample) -> Status {
                                  if (*sample.at("x").data<int64_t>() % 5 == 3) throw std::out_of_range("bad one");
                                  return {};
                                })
                                .batch(10);
  const auto raising = opened(pipeline);
  const Status status = raising->next().status();
  EXPECT_EQ(status.code(), Code::kUser);
  EXPECT_EQ(status.sample(), 3);
  EXPECT_EQ(status.op(), "map");
  EXPECT_NE(status.payload(), nullptr);
  EXPECT_EQ(ids_of(epoch_of(*opened(pipeline, {.errors = {.on_error = OnError::kSkip}}))).size(), 16u);
  const auto replacing = opened(pipeline, {.errors = {.on_error = OnError::kReplace}});
  EXPECT_EQ(ids_of(epoch_of(*replacing)).size(), 20u);
  const std::vector<ErrorEntry> errors = replacing->errors();
  ASSERT_GE(errors.size(), 4u);
  EXPECT_EQ(errors[0].code, "User");
}

TEST(Loader, too_many_errors_are_an_error) {
  const Pipeline pipeline =
      arrays({{"x", counting(20)}}).map([](Sample&) -> Status { return corrupt("always"); }).batch(10);
  const auto loader = opened(pipeline, {.errors = {.on_error = OnError::kSkip, .max_errors = 15}});
  EXPECT_TRUE(loader->next().ok());
  EXPECT_EQ(loader->next().status().code(), Code::kCorrupt);
  EXPECT_EQ(loader->stats().errors, 16);
}

TEST(Loader, an_operator_without_randomness_changes_no_random_numbers) {
  const auto image = [] {
    Tensor pixels = Tensor::allocate(DType::kUint8, {30, 16, 16, 3});
    for (size_t i = 0; i < pixels.nbytes(); ++i) pixels.buffer.data()[i] = static_cast<uint8_t>(i * 2654435761u >> 16);
    return arrays({{"image", {pixels, ""}}, {"other", counting(30)}}).shuffle();
  };
  const auto digest = [](const Pipeline& pipeline) {
    const auto loader = opened(pipeline.batch(7), {.seed = 3});
    return digest_of(epoch_of(*loader));
  };
  const std::string plain = digest(image().random_crop(8).random_flip().select({"image"}));
  EXPECT_EQ(digest(image().random_crop(8).cast("uint8").random_flip().select({"image"})), plain);
  EXPECT_EQ(digest(image()
                       .random_crop(8)
                       .map([](Sample&) -> Status { return {}; }, {.fields = {"other"}})
                       .random_flip()
                       .select({"image"})),
            plain);
  EXPECT_NE(digest(image().random_flip().random_crop(8).select({"image"})), plain);
  EXPECT_NE(digest(image().random_crop(8).random_flip({.p = 0}).select({"image"})), plain);
  // An unneeded random operator is left out, but still counts for the random numbers of others.
  EXPECT_EQ(digest(image().random_crop(8).random_flip().select({"other"})), digest(image().select({"other"})));
}

TEST(Loader, states_of_another_pipeline_are_refused_with_the_difference) {
  const Pipeline pipeline = arrays({{"x", counting(100)}}).shuffle().batch(4);
  const auto loader = opened(pipeline);
  ASSERT_TRUE(loader->next().ok());
  const std::string state = loader->state();
  EXPECT_TRUE(opened(arrays({{"x", counting(100)}}).shuffle().batch(7))->load_state(state).ok())
      << "another batch size";
  const Status seed = opened(pipeline, {.seed = 1})->load_state(state);
  EXPECT_EQ(seed.code(), Code::kStateMismatch);
  EXPECT_NE(seed.message().find("the seed"), std::string::npos);
  const Status data = opened(arrays({{"x", counting(100, 2)}}).shuffle().batch(4))->load_state(state);
  EXPECT_EQ(data.code(), Code::kStateMismatch);
  const Status shorter = opened(arrays({{"x", counting(99)}}).shuffle().batch(4))->load_state(state, false);
  EXPECT_EQ(shorter.code(), Code::kStateMismatch);
  EXPECT_TRUE(opened(pipeline, {.seed = 1})->load_state(state, false).ok());
  EXPECT_FALSE(loader->load_state("{}").ok());
  EXPECT_EQ((*loader->next())->step, 1) << "a refused state changes nothing";
}

TEST(Loader, a_loop_left_at_its_last_batch_begins_the_next_epoch) {
  const auto loader = opened(arrays({{"x", counting(8)}}).batch(4));
  ASSERT_TRUE(loader->next().ok());
  ASSERT_TRUE(loader->next().ok());
  EXPECT_EQ(loader->epoch(), 1);
  loader->begin_iteration();
  EXPECT_EQ((*loader->next())->epoch, 1);
}

TEST(Loader, with_restart_an_abandoned_loop_restarts_its_epoch) {
  const Pipeline pipeline = arrays({{"x", counting(12)}}).shuffle().batch(4);
  const auto keeps = opened(pipeline), restarts = opened(pipeline, {.restart = true});
  std::vector<int64_t> first;
  for (const auto& loader : {keeps.get(), restarts.get()}) {
    loader->begin_iteration();
    first = (*loader->next())->ids;
    loader->begin_iteration();
  }
  EXPECT_EQ((*keeps->next())->step, 1);
  EXPECT_EQ((*restarts->next())->ids, first);
  const std::string state = restarts->state();
  ASSERT_TRUE(restarts->next().ok());
  ASSERT_TRUE(restarts->load_state(state).ok());
  restarts->begin_iteration();
  EXPECT_EQ((*restarts->next())->step, 1) << "a state that was just loaded is gone on from";
  restarts->begin_iteration();
  EXPECT_EQ((*restarts->next())->ids, first);
  for (int step = 1; step < 3; ++step) ASSERT_TRUE((*restarts->next()).has_value());
  restarts->begin_iteration();
  EXPECT_EQ((*restarts->next())->epoch, 1) << "behind the last batch begins the next epoch";
}

TEST(Loader, a_closed_loader_says_so) {
  const auto loader = opened(arrays({{"x", counting(8)}}).batch(4));
  ASSERT_TRUE(loader->next().ok());
  loader->close();
  loader->close();
  EXPECT_TRUE(loader->closed());
  EXPECT_EQ(loader->next().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_epoch(1).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->load_state("{}").code(), Code::kInvalidArgument);
  EXPECT_FALSE(loader->state().empty()) << "a state can still be taken";
  bool closed = false;
  EXPECT_EQ(loader->take_call(std::chrono::milliseconds(1), &closed), nullptr);
  EXPECT_TRUE(closed);
}

TEST(Loader, misuse_is_an_error) {
  EXPECT_EQ(Loader::open(Pipeline()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(arrays({{"x", counting(8)}}).batch(4), {.epochs = -1}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(arrays({{"x", counting(8)}}).batch(4), {.resources = {.threads = 0}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(arrays({{"x", counting(8)}}).batch(4), {.resources = {.memory = 1}}).status().code(),
            Code::kOutOfBudget);
  EXPECT_EQ(Loader::open(arrays({{"x", counting(8)}}).batch(INT64_MAX)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(arrays({{"x", counting(8)}}).batch(4), {.errors = {.max_errors = -1}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(images("/does/not/exist").batch(4)).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace forebay
