#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "plan/equal_batches.h"
#include "plan/node.h"
#include "plan/order.h"
#include "plan/permutation.h"
#include "plan/placement.h"
#include "plan/sample_home.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

struct Job {
  std::shared_ptr<const Order> order;
  std::shared_ptr<const Placement> placement;
  std::shared_ptr<const ShardAssignment> assignment;
};

Job job(std::shared_ptr<const Order> order, const PlacementOptions& options) {
  EXPECT_TRUE(options.check().ok());
  Job made;
  made.order = std::move(order);
  made.placement = std::make_shared<const Placement>(made.order, options);
  made.assignment = assignment_by_locality(made.order, made.placement);
  return made;
}

// Origins of the rows of a batch.
struct Traffic {
  int64_t own = 0, moved = 0, nobodys = 0;
  std::set<std::pair<int32_t, int64_t>> transfers;  // from a host to a rank
};

Traffic traffic_of(const Job& job, const GlobalBatch& batch) {
  Traffic traffic;
  AssignedBatch assigned;
  job.assignment->all(batch, &assigned);
  for (int64_t rank = 0; rank < batch.world_size; ++rank) {
    for (const int64_t slot : assigned.of(rank)) {
      if (slot >= batch.samples) continue;
      const int32_t owner = job.placement->owner(job.order->id_at(batch.epoch, batch.position + slot));
      if (owner == Placement::kNoOwner) {
        ++traffic.nobodys;
      } else if (owner == job.placement->hosts().of_rank(rank)) {
        ++traffic.own;
      } else {
        ++traffic.moved;
        traffic.transfers.insert({owner, rank});
      }
    }
  }
  return traffic;
}

// Sizes, hosts, budgets and lanes, drawn from a seed.
struct Drawn {
  PlacementOptions options;
  std::shared_ptr<const Order> order;
};

Drawn draw(uint64_t seed) {
  uint64_t state = seed * 2 + 1;
  const auto below = [&](int64_t n) {
    state = PermutationKey::mix(state + 0x9E3779B97F4A7C15);
    return static_cast<int64_t>(state % static_cast<uint64_t>(n));
  };
  Drawn drawn;
  drawn.options.hosts = {1 + below(12), 1 + below(4)};
  drawn.options.batch_size = 1 + below(9);
  const bool chunked = below(3) == 0;
  if (chunked) {
    BlockwiseOptions blockwise{.chunk_rows = {}, .block = 1 + below(4), .lanes = 1 + below(10), .seed = seed};
    for (int64_t chunk = 0, chunks = 1 + below(30); chunk < chunks; ++chunk)
      blockwise.chunk_rows.push_back(1 + below(20));
    drawn.options.lanes = blockwise.lanes;
    drawn.order = std::move(blockwise_order(blockwise)).value();
  } else {
    drawn.order = shuffled_order(1 + below(600), seed);
  }
  switch (below(3)) {
    case 0: break;
    case 1: drawn.options.budgets = {below(80)}; break;
    default:
      for (int64_t host = 0; host < drawn.options.hosts.count(); ++host) drawn.options.budgets.push_back(below(80));
  }
  return drawn;
}

TEST(AssignmentByPlaceTest, each_row_to_one_rank_in_equal_steps_whatever_the_sizes_hosts_budgets_and_lanes) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Drawn drawn = draw(seed);
    const Job made = job(drawn.order, drawn.options);
    const int64_t world = drawn.options.hosts.world_size;
    for (const LastPolicy last : {LastPolicy::kPartial, LastPolicy::kDrop, LastPolicy::kPad}) {
      const ScheduleOptions options{drawn.order->size(), drawn.options.batch_size, world, last};
      const EqualBatches local(options, made.assignment), count(options);
      const auto epoch = static_cast<int64_t>(seed % 3);
      int64_t at = 0;
      std::vector<Row> rows, by_count;
      for (int64_t step = 0; step < local.steps(); ++step, at = local.next_position(at)) {
        std::vector<std::pair<int64_t, int32_t>> all, all_by_count;
        for (int64_t rank = 0; rank < world; ++rank) {
          local.rows({epoch, at}, rank, &rows);
          count.rows({epoch, at}, rank, &by_count);
          ASSERT_EQ(rows.size(), by_count.size()) << "seed " << seed << " rank " << rank;
          EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            return std::pair(a.padding, a.padding ? 0 : a.position) < std::pair(b.padding, b.padding ? 0 : b.position);
          }));
          for (const Row& row : rows) all.push_back({row.position, row.occurrence});
          for (const Row& row : by_count) all_by_count.push_back({row.position, row.occurrence});
        }
        std::sort(all.begin(), all.end());
        std::sort(all_by_count.begin(), all_by_count.end());
        ASSERT_EQ(all, all_by_count) << "seed " << seed << " step " << step;
        EXPECT_LT(static_cast<int64_t>(traffic_of(made, local.global_batch({epoch, at})).transfers.size()),
                  std::max<int64_t>(world, 1))
            << "seed " << seed;
      }
    }
  }
}

TEST(AssignmentByPlaceTest, all_ranks_at_once_get_what_each_gets_alone) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Drawn drawn = draw(seed);
    const int64_t world = drawn.options.hosts.world_size;
    for (const auto& assignment :
         {job(drawn.order, drawn.options).assignment, assignment_by_count(), assignment_by_lane(3)}) {
      const int64_t samples = std::min<int64_t>(drawn.order->size(), 5 * world + 1);
      const GlobalBatch batch{0, samples, std::max(samples, world), world, 1};
      AssignedBatch assigned;
      assignment->all(batch, &assigned);
      for (int64_t rank = 0; rank < world; ++rank) {
        std::vector<int64_t> alone;
        assignment->slots(batch, rank, &alone);
        EXPECT_TRUE(std::ranges::equal(alone, assigned.of(rank)));
      }
    }
  }
}

TEST(AssignmentByPlaceTest, another_number_of_hosts_goes_on_where_this_one_stopped) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::shared_ptr<const Order> order = shuffled_order(200 + static_cast<int64_t>(seed) * 13 % 400, seed);
    std::vector<int> seen(static_cast<size_t>(order->size()));
    int64_t at = 0;
    for (int64_t part = 0; at < order->size(); ++part) {
      const Hosts hosts{1 + (static_cast<int64_t>(seed) + 3 * part) % 7, 1 + part % 3};
      const int64_t batch = 2 + part % 3;
      const Job made = job(order, {.hosts = hosts, .batch_size = batch, .budgets = {part % 2 == 0 ? 1000 : 20}});
      const EqualBatches schedule({order->size(), batch, hosts.world_size}, made.assignment);
      std::vector<Row> rows;
      for (int step = 0; step < 3 && at < order->size(); ++step, at = schedule.next_position(at)) {
        for (int64_t rank = 0; rank < hosts.world_size; ++rank) {
          schedule.rows({1, at}, rank, &rows);
          for (const Row& row : rows) seen[static_cast<size_t>(order->id_at(1, row.position))] += row.padding ? 0 : 1;
        }
      }
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; })) << "seed " << seed;
  }
}

TEST(AssignmentByPlaceTest, a_placement_of_other_hosts_still_says_what_is_where) {
  const Job made = job(shuffled_order(1000, 4), {.hosts = {8, 2}, .batch_size = 5});
  const GlobalBatch batch{0, 30, 30, 6, 1};  // the fourth host has left
  AssignedBatch assigned;
  made.assignment->all(batch, &assigned);
  std::vector<int64_t> slots = assigned.slots;
  std::sort(slots.begin(), slots.end());
  for (int64_t slot = 0; slot < 30; ++slot) EXPECT_EQ(slots[static_cast<size_t>(slot)], slot);
}

TEST(AssignmentByPlaceTest, the_first_epoch_is_dealt_as_by_count_where_all_is_kept) {
  const Job made = job(shuffled_order(1003, 4), {.hosts = {8, 2}, .batch_size = 5});
  AssignedBatch local, count;
  for (int64_t at = 0; at < 1003; at += 40) {
    const int64_t samples = std::min<int64_t>(40, 1003 - at);
    const GlobalBatch batch{at, samples, std::max<int64_t>(samples, 8), 8};
    made.assignment->all(batch, &local);
    assignment_by_count()->all(batch, &count);
    if (samples == 40) {
      EXPECT_EQ(local.slots, count.slots);
    }
    EXPECT_EQ(traffic_of(made, batch).moved, 0);
  }
}

TEST(AssignmentByPlaceTest, moved_rows_are_one_in_the_root_of_two_pi_times_the_local_batch) {
  for (const int64_t local : {32, 64, 128}) {
    for (const int64_t learners : {16, 64, 256, 1024}) {
      const int64_t global = local * learners, size = 40 * global, steps = std::max<int64_t>(2, 4096 / learners);
      const Job made = job(shuffled_order(size, 17), {.hosts = {learners, 1}, .batch_size = local});
      int64_t moved = 0;
      for (int64_t step = 0; step < steps; ++step) {
        const GlobalBatch batch{step % 40 * global, global, global, learners, 1 + step / 40};
        const Traffic traffic = traffic_of(made, batch);
        moved += traffic.moved;
        EXPECT_LT(static_cast<int64_t>(traffic.transfers.size()), learners);
        EXPECT_EQ(traffic.nobodys, 0);
      }
      const double share = static_cast<double>(moved) / static_cast<double>(steps * global);
      const double said = 1 / std::sqrt(2 * std::numbers::pi * static_cast<double>(local));
      EXPECT_NEAR(share / said, 1.0, 0.1) << local << " rows a rank, " << learners << " learners";
    }
  }
}

TEST(AssignmentByPlaceTest, storage_is_asked_for_what_nobody_keeps_and_no_more) {
  for (const double a : {0.0, 0.25, 0.5, 0.9}) {
    const int64_t size = 64 * 32 * 20, hosts = 16;
    const auto budget = static_cast<int64_t>(a * static_cast<double>(size / hosts));
    const Job made = job(shuffled_order(size, 5), {.hosts = {64, 4}, .batch_size = 32, .budgets = {budget}});
    int64_t nobodys = 0;
    for (int64_t at = 0; at < size; at += 64 * 32) nobodys += traffic_of(made, {at, 64 * 32, 64 * 32, 64, 3}).nobodys;
    EXPECT_NEAR(static_cast<double>(nobodys) / static_cast<double>(size), 1 - a, 0.01);
  }
}

TEST(AssignmentByPlaceTest, ranks_of_a_host_share_alike_what_it_keeps) {
  const Job made = job(shuffled_order(64 * 100, 9), {.hosts = {16, 4}, .batch_size = 16, .budgets = {800}});
  AssignedBatch assigned;
  for (int64_t step = 0; step < 20; ++step) {
    const GlobalBatch batch{step * 256, 256, 256, 16, 2};
    made.assignment->all(batch, &assigned);
    for (int64_t host = 0; host < 4; ++host) {
      int64_t least = INT64_MAX, most = 0;
      for (int64_t rank = 4 * host; rank < 4 * host + 4; ++rank) {
        const int64_t own = std::ranges::count_if(assigned.of(rank), [&](int64_t slot) {
          return made.placement->owner(made.order->id_at(2, batch.position + slot)) == host;
        });
        least = std::min(least, own);
        most = std::max(most, own);
      }
      EXPECT_LE(most - least, 1);
    }
  }
}

// A mix of draws: a sample may come several times in an epoch, and of two leaves.
std::shared_ptr<const PlanNode> mixed_draws() {
  std::vector<std::unique_ptr<PlanNode>> parts;
  parts.push_back(leaf_node(shuffled_order(5000, 1)));
  parts.push_back(repeat_node(leaf_node(shuffled_order(300, 2)), 1.5));
  return std::move(*mix_node(std::move(parts), {.seed = 3, .stages = {{0, {2, 1}}}, .samples = 4000}));
}

TEST(AssignmentByHomeTest, each_row_to_one_rank_in_equal_steps) {
  const auto plan = mixed_draws();
  for (const auto& [world, per_host] : {std::pair(1, 1), std::pair(3, 1), std::pair(8, 3), std::pair(8, 8)}) {
    const auto by_home = assignment_by_home(plan, per_host);
    for (const int64_t samples : {1, 7, 64, 1500}) {
      const GlobalBatch batch{.position = 100,
                              .samples = samples,
                              .slots = std::max<int64_t>(samples, world),
                              .world_size = world,
                              .epoch = 2};
      AssignedBatch assigned;
      by_home->all(batch, &assigned);
      std::vector<int64_t> slots = assigned.slots;
      std::ranges::sort(slots);
      for (int64_t slot = 0; slot < batch.slots; ++slot) ASSERT_EQ(slots[static_cast<size_t>(slot)], slot);
      std::vector<int64_t> alone, by_count;
      for (int64_t rank = 0; rank < world; ++rank) {
        by_home->slots(batch, rank, &alone);
        assignment_by_count()->slots(batch, rank, &by_count);
        EXPECT_TRUE(std::ranges::equal(alone, assigned.of(rank)));
        EXPECT_EQ(alone.size(), by_count.size());
        EXPECT_TRUE(std::ranges::is_sorted(alone));
      }
    }
  }
}

// Of l rows a rank, one in the root of 2 pi l moves, as with a placement.
TEST(AssignmentByHomeTest, rows_come_to_their_home_but_for_a_few) {
  const auto plan = mixed_draws();
  const int64_t world = 4, local = 64, steps = 15;
  const auto by_home = assignment_by_home(plan, 1);
  int64_t moved = 0, rows = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const GlobalBatch batch{.position = step * world * local,
                            .samples = world * local,
                            .slots = world * local,
                            .world_size = world,
                            .epoch = 1};
    std::vector<Draw> draws(static_cast<size_t>(batch.samples));
    plan->draws(batch.epoch, batch.position, draws);
    AssignedBatch assigned;
    by_home->all(batch, &assigned);
    for (int64_t rank = 0; rank < world; ++rank) {
      for (const int64_t slot : assigned.of(rank)) {
        ++rows;
        moved += home_of(draws[static_cast<size_t>(slot)].index, world) != rank ? 1 : 0;
      }
    }
  }
  const double share = static_cast<double>(moved) / static_cast<double>(rows);
  EXPECT_LT(share, 1.5 / std::sqrt(2 * std::numbers::pi * static_cast<double>(local)));
  EXPECT_GT(share, 0) << "homes are drawn, so some rows must move";
}

TEST(AssignmentByHomeTest, homes_are_spread_evenly) {
  std::vector<int64_t> of_rank(7);
  for (int64_t index = 0; index < 70'000; ++index) ++of_rank[static_cast<size_t>(home_of(index, 7))];
  for (const int64_t count : of_rank) EXPECT_NEAR(static_cast<double>(count), 10'000, 400);  // four deviations
}

}  // namespace
}  // namespace forebay
