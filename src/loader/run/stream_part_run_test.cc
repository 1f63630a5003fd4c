// Tests a loader over a mix with a stream, through the C++ API.
#include "loader/run/stream_part_run.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "forebay/ledger.h"
#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

using namespace loader_test;

constexpr int64_t kFirstRecord = 1000;

std::string json_lines(int64_t records) {
  std::string lines;
  for (int64_t i = 0; i < records; ++i) lines += "{\"x\": " + std::to_string(kFirstRecord + i) + "}\n";
  return lines;
}

// A mix of an array with the lines of a file that is followed, in equal shares.
Pipeline with_stream(const ScratchFolder& folder, double old_weight = 1, int64_t batch = 16) {
  const Pipeline live = jsonl(folder.path("log.jsonl"), {.fields = {{"x", "int64"}}, .follow = true});
  return mix({{"old", arrays({{"x", counting(300)}}).shuffle()}, {"live", live}},
             {.weights = {{"old", old_weight}, {"live", 1}}, .samples = 512})
      .batch(batch);
}

std::vector<Batch> next_batches(Loader& loader, int batches) {
  std::vector<Batch> taken;
  for (int i = 0; i < batches; ++i) taken.push_back(std::move(*loader.next().value()));
  return taken;
}

std::vector<int64_t> record_numbers(const std::vector<Batch>& batches) {
  std::vector<int64_t> numbers;
  for (const Batch& batch : batches)
    for (size_t row = 0; row < batch.ids.size(); ++row)
      if (batch.parts[row] == 1) numbers.push_back(batch.ids[row]);
  return numbers;
}

TEST(StreamPart, records_are_mixed_in_their_order_and_a_state_goes_on) {
  const ScratchFolder folder;
  folder.write("log.jsonl", json_lines(600));
  const auto loader = opened(with_stream(folder), {.seed = 3});
  const std::vector<Batch> first = next_batches(*loader, 10);
  const std::string state = loader->state();
  const std::vector<Batch> rest = epoch_of(*loader);
  std::vector<int64_t> numbers = record_numbers(first), more = record_numbers(rest);
  numbers.insert(numbers.end(), more.begin(), more.end());
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int64_t>(i));
  EXPECT_GT(numbers.size(), 200u);
  EXPECT_TRUE(loader->stats().stream);

  const auto resumed = opened(with_stream(folder, 1, 20), {.seed = 3, .resources = {.threads = 1}});
  ASSERT_TRUE(resumed->load_state(state).ok());
  EXPECT_EQ(ids_of(epoch_of(*resumed)), ids_of(rest));
}

TEST(StreamPart, changes_of_weights_leave_the_stream_at_its_place) {
  const ScratchFolder folder;
  folder.write("log.jsonl", json_lines(600));
  const auto loader = opened(with_stream(folder), {.seed = 3});
  const auto before = static_cast<int64_t>(record_numbers(next_batches(*loader, 10)).size());
  const std::string state = loader->state();
  ASSERT_TRUE(loader->set_weights({{"old", 7}, {"live", 1}}).ok());
  const std::vector<Batch> rest = next_batches(*loader, 5);
  ASSERT_FALSE(record_numbers(rest).empty());
  EXPECT_EQ(record_numbers(rest).front(), before);

  const auto other = opened(with_stream(folder, 7), {.seed = 3});
  EXPECT_EQ(other->load_state(state).code(), Code::kStateMismatch);
  ASSERT_TRUE(other->load_state_of_changed_parts(state).ok());
  EXPECT_EQ(ids_of(next_batches(*other, 5)), ids_of(rest));
}

// Two files that are followed, beside an array. Old samples come of all three.
TEST(StreamPart, two_streams_and_old_samples_go_on_from_a_state) {
  const ScratchFolder folder;
  folder.write("a.jsonl", json_lines(900));
  folder.write("b.jsonl", json_lines(500));
  const auto pipeline = [&](int64_t batch) {
    const auto followed = [&](const char* name) {
      return jsonl(folder.path(name), {.fields = {{"x", "int64"}}, .follow = true});
    };
    return mix({{"old", arrays({{"x", counting(300)}}).shuffle()},
                {"a", followed("a.jsonl")},
                {"b", followed("b.jsonl")}},
               {.weights = {{"old", 1}, {"a", 2}, {"b", 1}}, .samples = 512})
        .rehearse(4, 30, {.by = ""})
        .batch(batch);
  };
  const auto loader = opened(pipeline(12), {.seed = 3});
  const std::vector<Batch> first = next_batches(*loader, 10);
  const std::string state = loader->state();
  const std::vector<Batch> rest = next_batches(*loader, 12);
  std::set<std::pair<int32_t, int64_t>> before;
  std::set<int32_t> parts_of_old;
  for (const std::vector<Batch>* batches : {&first, &rest}) {
    for (const Batch& batch : *batches) {
      const size_t fresh = std::min<size_t>(batch.ids.size(), 12);
      for (size_t row = fresh; row < batch.ids.size(); ++row) {
        EXPECT_TRUE(before.contains({batch.parts[row], batch.ids[row]}));
        parts_of_old.insert(batch.parts[row]);
      }
      for (size_t row = 0; row < fresh; ++row) before.insert({batch.parts[row], batch.ids[row]});
    }
  }
  EXPECT_EQ(parts_of_old, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(loader->stats().stream->partitions.size(), 2u);

  const auto resumed = opened(pipeline(12), {.seed = 3, .resources = {.threads = 1}});
  ASSERT_TRUE(resumed->load_state(state).ok());
  EXPECT_EQ(ids_of(next_batches(*resumed, 12)), ids_of(rest));
}

TEST(StreamPart, options_that_do_not_apply_are_refused) {
  const ScratchFolder folder;
  folder.write("log.jsonl", json_lines(10));
  LoaderOptions steps, ranks;
  steps.stream.steps_per_epoch = 5;
  ranks.job = {.rank = 0, .world_size = 2};
  for (const LoaderOptions& options : {steps, ranks}) {
    const Status refused = Loader::open(with_stream(folder), options).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused.to_string();
  }
}

}  // namespace
}  // namespace forebay
