// Tests that several ranks in one process deliver one stream in global order.
#include "cli/ranks.h"

#include <gtest/gtest.h>

#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

Pipeline numbers(int64_t rows, int64_t batch, const std::string& last = "partial") {
  return arrays({{"x", loader_test::counting(rows)}}).shuffle().batch(batch, {.last = last});
}

LoaderOptions for_epochs(int64_t epochs) {
  LoaderOptions options;
  options.epochs = epochs;
  options.resources.threads = 1;
  return options;
}

std::unique_ptr<Ranks> opened_ranks(const Pipeline& pipeline, int count, int64_t epochs = 1) {
  auto ranks = Ranks::open(pipeline, for_epochs(epochs), count, {});
  EXPECT_TRUE(ranks.ok()) << ranks.status().to_string();
  return std::move(*ranks);
}

/// Returns the ids of the rest of an epoch in the order of delivery, without padding.
struct Seen {
  std::vector<int64_t> ids;
  int64_t steps = 0;
  EpochResult result;
};

Seen seen_of(Ranks& ranks) {
  Seen seen;
  Ranks::Observer observer;
  observer.batch = [&](const Batch& batch) {
    seen.ids.insert(seen.ids.end(), batch.ids.begin(), batch.ids.end() - batch.padding);
  };
  observer.step = [&] { return ++seen.steps, Status(); };
  const auto result = ranks.run_epoch(observer);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  seen.result = *result;
  return seen;
}

TEST(Ranks, TogetherGiveTheOrderAndTheDigestOfOne) {
  for (const std::string last : {"partial", "pad"}) {
    const Seen one = seen_of(*opened_ranks(numbers(50, 6, last), 1));
    EXPECT_EQ(one.ids.size(), 50u);
    for (const int count : {2, 3, 7}) {
      const Seen many = seen_of(*opened_ranks(numbers(50, 6, last), count));
      EXPECT_EQ(many.ids, one.ids) << count << last;
      EXPECT_EQ(many.result.digest, one.result.digest) << count << last;
      EXPECT_EQ(many.result.samples, 50) << "padding is not counted";
      EXPECT_EQ(many.result.batches, many.steps * count) << "every rank takes part in every step";
    }
  }
}

TEST(Ranks, TellWhichEpochItWasAndThatItIsOver) {
  const auto ranks = opened_ranks(numbers(8, 4), 2, 2);
  EXPECT_FALSE(ranks->finished());
  const Seen first = seen_of(*ranks), second = seen_of(*ranks);
  EXPECT_EQ(first.result.epoch, 0);
  EXPECT_EQ(second.result.epoch, 1);
  EXPECT_NE(first.ids, second.ids);
  EXPECT_TRUE(ranks->finished());
}

TEST(Ranks, AnErrorOfTheObserverEndsTheEpochAtThatStep) {
  const auto ranks = opened_ranks(numbers(40, 4), 2);
  int steps = 0;
  Ranks::Observer observer;
  observer.step = [&] { return ++steps == 3 ? unavailable("the disk is full") : Status(); };
  const auto result = ranks->run_epoch(observer);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "the disk is full");
  EXPECT_EQ(steps, 3);
}

TEST(Ranks, GoOnFromAStateThatAnotherNumberOfRanksSaved) {
  const auto all = seen_of(*opened_ranks(numbers(48, 4), 1)).ids;
  const auto four = opened_ranks(numbers(48, 4), 4);
  Ranks::Observer observer;
  std::string state;
  observer.step = [&] { return state = four->first().state(), cancelled("enough"); };
  EXPECT_EQ(four->run_epoch(observer).status().code(), Code::kCancelled);
  for (const int count : {1, 2, 3}) {
    const auto rest = opened_ranks(numbers(48, 4), count);
    ASSERT_TRUE(rest->load_state(state).ok());
    EXPECT_EQ(seen_of(*rest).ids, std::vector<int64_t>(all.begin() + 16, all.end())) << count;
  }
}

TEST(Ranks, AStateOfOtherDataIsRefusedByAll) {
  const std::string state = opened_ranks(numbers(48, 4), 1)->first().state();
  EXPECT_EQ(opened_ranks(numbers(47, 4), 3)->load_state(state).code(), Code::kStateMismatch);
}

TEST(Ranks, AStopEndsTheEpochWithCancelled) {
  std::stop_source stop;
  auto ranks = Ranks::open(numbers(1000, 2), for_epochs(1), 2, stop.get_token());
  ASSERT_TRUE(ranks.ok());
  int steps = 0;
  Ranks::Observer observer;
  observer.step = [&] {
    if (++steps == 2) stop.request_stop();
    return Status();
  };
  EXPECT_EQ((*ranks)->run_epoch(observer).status().code(), Code::kCancelled);
  EXPECT_EQ(steps, 2);
  EXPECT_TRUE((*ranks)->first().closed());
}

TEST(Ranks, AStopBeforeTheBeginningOpensNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Ranks::open(numbers(10, 2), for_epochs(1), 3, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(Ranks, WhatCannotBeOpenedIsTheErrorOfTheLoader) {
  EXPECT_EQ(Ranks::open(images("/no/such/folder").decode_image().center_crop(8).batch(2), for_epochs(1), 2, {})
                .status()
                .code(),
            Code::kNotFound);
}

TEST(Ranks, MemoryIsThatOfAllOfThem) {
  LoaderOptions options = for_epochs(1);
  options.resources.memory = 8 << 20;
  const auto ranks = Ranks::open(numbers(40, 4), options, 3, {});
  ASSERT_TRUE(ranks.ok());
  seen_of(**ranks);
  EXPECT_EQ((*ranks)->memory_budget(), 3u * (8 << 20));
  EXPECT_GT((*ranks)->memory_peak(), 0u);
  EXPECT_LE((*ranks)->memory_peak(), (*ranks)->memory_budget());
}

TEST(Ranks, ErrorsOfAllRanksAreAddedUpBySample) {
  const ScratchFolder folder;
  for (const std::string name : {"a", "b", "c", "d", "e", "f"}) folder.write("class/" + name + ".png", "no picture");
  const Pipeline pipeline = images(folder.path()).shuffle().decode_image().center_crop(4).batch(1);
  LoaderOptions options = for_epochs(4);  // samples change their rank from epoch to epoch
  options.errors.on_error = OnError::kSkip;
  const auto ranks = Ranks::open(pipeline, options, 2, {});
  ASSERT_TRUE(ranks.ok()) << ranks.status().to_string();
  while (!(*ranks)->finished()) EXPECT_TRUE((*ranks)->run_epoch({}).ok());
  const auto errors = (*ranks)->errors();
  ASSERT_EQ(errors.size(), 6u);
  for (size_t i = 0; i < errors.size(); ++i) {
    EXPECT_EQ(errors[i].sample, static_cast<int64_t>(i)) << "by sample, whichever rank had it";
    EXPECT_EQ(errors[i].count, 4) << "once an epoch";
  }
}

}  // namespace
}  // namespace forebay
