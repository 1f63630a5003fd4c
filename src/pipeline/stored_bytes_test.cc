#include "pipeline/stored_bytes.h"

#include <gtest/gtest.h>

#include "pipeline/run/runner_test_support.h"

namespace forebay::runner_test {
namespace {

TEST(StoredBytes, are_as_many_as_those_of_the_ranges_or_else_of_the_whole_objects) {
  ReadRequest part, whole, unknown;
  part.range = ByteRange{100, 7};
  part.expected_size = 5000;
  whole.expected_size = 30;
  StoredBytes bytes;
  EXPECT_EQ(bytes.size(), 0u);
  EXPECT_FALSE(bytes.needs_read());
  for (const ReadRequest& request : {part, whole, unknown}) bytes.pieces.push_back({request});
  EXPECT_EQ(bytes.size(), 37u);
}

TEST(StoredBytes, are_read_on_this_thread_only_if_no_read_has_to_wait) {
  const std::vector<uint64_t> sizes = {10, 20};
  for (const bool waits : {false, true}) {
    std::shared_ptr<Store> store = Objects::store_of(sizes);
    if (waits) store = slow_store(store, {.latency_ms = 1});
    StoredBytes bytes;
    bytes.store = store.get();
    for (int64_t id : {0, 1})
      bytes.pieces.push_back(
          {{.key = Objects::key_of(id), .range = {}, .expected_size = sizes[static_cast<size_t>(id)]}});
    EXPECT_TRUE(bytes.needs_read());
    StepCounters counters;
    const std::optional<Status> read = bytes.read_now(counters, 1);
    EXPECT_EQ(read.has_value(), !waits);
    EXPECT_EQ(bytes.needs_read(), waits);
    EXPECT_EQ(bytes.size(), 30u);
    EXPECT_EQ(counters.samples, waits ? 0 : 2);
    for (size_t i = 0; i < 2 && !waits; ++i) EXPECT_EQ(bytes.pieces[i].bytes.size(), sizes[i]);
  }
}

TEST(StoredBytes, of_a_sample_in_several_objects_come_from_the_store_of_each) {
  const std::vector<uint64_t> sizes = {10}, others = {20, 30};
  const std::shared_ptr<Store> first = Objects::store_of(sizes), second = Objects::store_of(others);
  SampleSource::Fetch fetch{first.get(), {.key = Objects::key_of(0), .range = {}, .expected_size = 10}, 10};
  fetch.others.push_back({second.get(), {.key = Objects::key_of(1), .range = {}, .expected_size = {}}, 25});
  EXPECT_EQ(fetch.total_size(), 35u);
  StoredBytes bytes;
  bytes.set(std::move(fetch));
  EXPECT_EQ(bytes.size(), 35u) << "a guess of the second";
  bytes.set_aside(std::vector<uint64_t>{30});
  EXPECT_EQ(bytes.size(), 35u) << "not of other pieces";
  bytes.set_aside(std::vector<uint64_t>{30, 30, 30});
  EXPECT_EQ(bytes.size(), 40u) << "only of sizes that are guesses";
  StepCounters counters;
  const std::optional<Status> read = bytes.read_now(counters, 1);
  ASSERT_TRUE(read && read->ok());
  const std::vector<Buffer> all = bytes.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].size(), 10u);
  EXPECT_EQ(all[1].size(), 30u);
}

}  // namespace
}  // namespace forebay::runner_test
