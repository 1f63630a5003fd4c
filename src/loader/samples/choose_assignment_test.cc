#include "loader/samples/choose_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "forebay/pipeline.h"
#include "loader/describe/step_arguments.h"
#include "loader/loader_test_support.h"
#include "plan/sample_home.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

using loader_test::counting;

Pipeline kept(int64_t size, const char* ram, const char* disk) {
  return arrays({{"x", counting(size)}}).shuffle().cache({.ram = ram, .disk = disk}).batch(4);
}

// Returns whether a pipeline gets an assignment by locality, or the error.
Result<bool> is_local(const Pipeline& pipeline, int64_t world, const AssignmentRequest& request,
                      bool in_groups = false) {
  Ordering ordering;
  ordering.order = shuffled_order(400, 3);
  ordering.assignment = assignment_by_count();
  ordering.in_groups = in_groups;
  const ScheduleOptions schedule = schedule_of(pipeline.description(), 400, world);
  FOREBAY_RETURN_IF_ERROR(choose_assignment(pipeline.description(), schedule, request, &ordering));
  return ordering.assignment != assignment_by_count();
}

TEST(ChooseAssignment, RunsWithoutACacheAreAssignedByCount) {
  const Pipeline plain = arrays({{"x", counting(400)}}).shuffle().batch(4);
  EXPECT_FALSE(*is_local(plain, 8, {.known_hosts = 4}));
  EXPECT_TRUE(*is_local(plain, 8, {.shard_by = ShardBy::kLocality, .known_hosts = 4}));
}

TEST(ChooseAssignment, ADiskCacheBelongsToAHostAndAMemoryCacheToAProcess) {
  EXPECT_TRUE(*is_local(kept(400, "1MiB", "1MiB"), 8, {.known_hosts = 4}));
  EXPECT_FALSE(*is_local(kept(400, "1MiB", "1MiB"), 8, {.known_hosts = 1}));
  EXPECT_TRUE(*is_local(kept(400, "1MiB", "0"), 8, {}));
  EXPECT_FALSE(*is_local(kept(400, "1MiB", "0"), 8, {.hosts = 1}));
  EXPECT_FALSE(*is_local(kept(400, "1MiB", "0"), 1, {}));
}

TEST(ChooseAssignment, AnUnknownNumberOfHostsMeansCountOrAnError) {
  EXPECT_FALSE(*is_local(kept(400, "1MiB", "1MiB"), 8, {}));
  const auto asked = is_local(kept(400, "1MiB", "1MiB"), 8, {.shard_by = ShardBy::kLocality});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.status().code(), Code::kInvalidArgument);
  EXPECT_NE(asked.status().to_string().find("hosts="), std::string::npos);
}

TEST(ChooseAssignment, ImpossibleHostsAreRefused) {
  for (const int hosts : {0, -1, 9})
    EXPECT_EQ(is_local(kept(400, "1MiB", "1MiB"), 8, {.hosts = hosts}).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(*is_local(kept(400, "1MiB", "1MiB"), 8, {.hosts = 3}));
}

TEST(ChooseAssignment, RowGroupsAreAlwaysAssignedByLane) {
  EXPECT_FALSE(*is_local(kept(400, "1MiB", "0"), 8, {.shard_by = ShardBy::kLocality}, /*in_groups=*/true));
}

// How many rows of an epoch come to the home of their sample, and how many there are.
std::pair<int64_t, int64_t> rows_at_home(const Pipeline& pipeline, const JobOptions& job) {
  const auto loader = Loader::open(pipeline, {.seed = 5, .job = job});
  EXPECT_TRUE(loader.ok()) << loader.status().to_string();
  EXPECT_TRUE((*loader)->prepare().ok());
  int64_t at_home = 0, rows = 0;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const auto plan = (*loader)->plan(/*epoch=*/1, rank, 4, INT64_MAX);
    EXPECT_TRUE(plan.ok()) << plan.status().to_string();
    for (const PlannedStep& step : plan->first) {
      EXPECT_EQ(step.ids.size(), 10U) << "equal counts";
      rows += std::ssize(step.ids);
      at_home += std::ranges::count(step.ids, rank, [](int64_t id) { return home_of(id, 4); });
    }
  }
  return {at_home, rows};
}

TEST(ChooseAssignment, SamplesThatMayComeSeveralTimesHaveHomes) {
  const auto part = [](const char* ram, const char* disk) {
    return arrays({{"x", counting(400)}}).shuffle().cache({.ram = ram, .disk = disk});
  };
  const auto mixed = [&](const char* ram, const char* disk) {
    return mix({{"a", part(ram, disk)}, {"b", part(ram, "0")}}, {.weights = {{"a", 1}, {"b", 2}}, .samples = 800});
  };
  const JobOptions job{.rank = 0, .world_size = 4}, on_hosts{.rank = 0, .world_size = 4, .hosts = 4};
  JobOptions by_count = on_hosts;
  by_count.shard_by = ShardBy::kCount;
  for (const Pipeline& pipeline :
       {mixed("1MiB", "0"), mixed("1MiB", "1MiB"), part("1MiB", "0").sample({.n = 800}), part("1MiB", "0").repeat(2)}) {
    const auto [at_home, rows] = rows_at_home(pipeline.batch(10), job);
    EXPECT_EQ(rows, 800);
    EXPECT_GT(at_home, 600) << "a cache in memory alone belongs to a process";
    EXPECT_LT(rows_at_home(pipeline.batch(10), by_count).first, 300);
  }
  const Pipeline on_disk = part("1MiB", "1MiB").repeat(2).batch(10);
  EXPECT_LT(rows_at_home(on_disk, job).first, 300) << "the number of hosts is unknown";
  EXPECT_GT(rows_at_home(on_disk, on_hosts).first, 600);
}

TEST(ChooseAssignment, ThePlanMatchesTheLoaderAndReusesCachesFromTheSecondEpochOn) {
  const Pipeline pipeline = kept(4000, "1MiB", "0");
  int64_t again = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto loader = Loader::open(pipeline, {.seed = 5, .epochs = 2, .job = {.rank = rank, .world_size = 4}});
    ASSERT_TRUE(loader.ok()) << loader.status().to_string();
    std::vector<int64_t> seen[2];
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto plan = (*loader)->plan(epoch, rank, 4, INT64_MAX);
      ASSERT_TRUE(plan.ok());
      for (const PlannedStep& step : plan->first) {
        const auto batch = (*loader)->next();
        ASSERT_TRUE(batch.ok() && batch->has_value());
        EXPECT_TRUE(std::ranges::equal((*batch)->ids, step.ids));
        seen[epoch].insert(seen[epoch].end(), step.ids.begin(), step.ids.end());
      }
      ASSERT_FALSE((*loader)->next()->has_value());
    }
    std::sort(seen[0].begin(), seen[0].end());
    again += std::ranges::count_if(seen[1], [&](int64_t id) { return std::ranges::binary_search(seen[0], id); });
  }
  EXPECT_GT(again, 4000 * 3 / 4);  // by count a quarter; 1 / sqrt(2 pi 4) of the rows move
  EXPECT_LT(again, 4000);
}

}  // namespace
}  // namespace forebay
