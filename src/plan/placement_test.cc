#include "plan/placement.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "plan/equal_batches.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// The rows that each host's ranks get in epoch 0, in that order, taken from the schedule itself.
std::vector<std::vector<int64_t>> dealt_in_epoch_0(const Order& order, const Hosts& hosts, int64_t batch,
                                                   std::shared_ptr<const ShardAssignment> assignment,
                                                   bool pads = false) {
  const EqualBatches schedule({.epoch_size = order.size(),
                               .batch_size = batch,
                               .world_size = hosts.world_size,
                               .last = pads ? LastPolicy::kPad : LastPolicy::kPartial},
                              assignment);
  std::vector<std::vector<int64_t>> ids(static_cast<size_t>(hosts.count()));
  std::vector<Row> rows;
  for (int64_t at = 0; at < order.size(); at = schedule.next_position(at)) {
    for (int64_t rank = 0; rank < hosts.world_size; ++rank) {
      schedule.rows({0, at}, rank, &rows);
      for (const Row& row : rows)
        if (!row.padding) ids[static_cast<size_t>(hosts.of_rank(rank))].push_back(order.id_at(0, row.position));
    }
  }
  return ids;
}

TEST(PlacementTest, a_host_keeps_the_first_rows_that_it_gets_in_epoch_0) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int64_t size = 1 + static_cast<int64_t>(seed) * 37 % 900, batch = 1 + static_cast<int64_t>(seed) % 5;
    const Hosts hosts{1 + static_cast<int64_t>(seed) % 11, 1 + static_cast<int64_t>(seed) % 4};
    std::vector<int64_t> budgets;
    for (int64_t host = 0; host < hosts.count(); ++host) budgets.push_back((host * 31 + 7) % 100);
    const std::shared_ptr<const Order> order = shuffled_order(size, seed);
    const bool pads = seed % 7 > 3;
    const Placement placement(order, {.hosts = hosts, .batch_size = batch, .pads = pads, .budgets = budgets});
    const auto assigned = dealt_in_epoch_0(*order, hosts, batch, assignment_by_count(), pads);
    for (int64_t host = 0; host < hosts.count(); ++host) {
      const auto& ids = assigned[static_cast<size_t>(host)];
      ASSERT_EQ(placement.rows_assigned(host), static_cast<int64_t>(ids.size())) << seed;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool kept = static_cast<int64_t>(i) < budgets[static_cast<size_t>(host)];
        EXPECT_EQ(placement.owner(ids[i]), kept ? host : Placement::kNoOwner) << seed;
        EXPECT_EQ(placement.id_assigned(host, static_cast<int64_t>(i)), ids[i]);
        EXPECT_EQ(placement.ownership(ids[i]).position, order->position_of(0, ids[i]));
      }
    }
  }
}

TEST(PlacementTest, without_budgets_every_sample_has_a_home_and_one_budget_is_for_all) {
  const std::shared_ptr<const Order> order = shuffled_order(1000, 3);
  const Placement all(order, {.hosts = {8, 2}, .batch_size = 4});
  for (int64_t id = 0; id < 1000; ++id) EXPECT_NE(all.owner(id), Placement::kNoOwner);
  EXPECT_EQ(all.share(), 1.0);
  const Placement some(order, {.hosts = {8, 2}, .batch_size = 4, .budgets = {100}});
  int64_t kept = 0;
  for (int64_t id = 0; id < 1000; ++id) kept += some.owner(id) != Placement::kNoOwner;
  EXPECT_EQ(kept, 400);
  EXPECT_DOUBLE_EQ(some.share(), 0.4);
}

TEST(PlacementTest, many_at_once_are_those_one_by_one) {
  const std::shared_ptr<const Order> order = shuffled_order(5000, 3);
  const Placement placement(order, {.hosts = {6, 2}, .batch_size = 7, .budgets = {900}});
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 1000; ++id) ids.push_back(id * 7919 % 5000);
  std::vector<int32_t> owners(ids.size());
  placement.owners(ids, owners);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(owners[i], placement.owner(ids[i]));
}

TEST(PlacementTest, a_thousand_million_samples_on_ten_thousand_hosts_are_arithmetic) {
  const int64_t size = 1'000'000'007, batch = 32;
  const Hosts hosts{40'000, 4};
  const std::shared_ptr<const Order> order = shuffled_order(size, 11);
  const Placement placement(order, {.hosts = hosts, .batch_size = batch, .budgets = {60'000}});
  EXPECT_NEAR(placement.share(), 0.6, 1e-6);
  int64_t all = 0;
  for (int64_t host = 0; host < hosts.count(); ++host) all += placement.rows_assigned(host);
  EXPECT_EQ(all, size);
  int64_t kept = 0;
  constexpr int64_t kLooked = 100'000;
  for (int64_t i = 0; i < kLooked; ++i) {
    const int64_t id = i * 9973 + 5;
    const int64_t position = order->position_of(0, id), step = position / (batch * hosts.world_size);
    const int64_t host = position % (batch * hosts.world_size) / batch / 4;
    const bool kept_here = step * batch * 4 + position % (batch * 4) < 60'000;
    if (step < size / (batch * hosts.world_size)) {
      ASSERT_EQ(placement.owner(id), kept_here ? host : Placement::kNoOwner);
    }
    kept += placement.owner(id) != Placement::kNoOwner;
  }
  EXPECT_NEAR(static_cast<double>(kept) / kLooked, 0.6, 0.01);
  for (const int64_t host : {int64_t{0}, int64_t{4711}, int64_t{9999}}) {
    EXPECT_EQ(placement.owner(placement.id_assigned(host, 0)), host);
    EXPECT_EQ(placement.owner(placement.id_assigned(host, 59'999)), host);
    EXPECT_EQ(placement.owner(placement.id_assigned(host, 60'000)), Placement::kNoOwner);
    EXPECT_LE(placement.rows_assigned(host) - placement.rows_assigned(9999), 4 * batch);
  }
}

TEST(PlacementTest, a_cut_is_where_the_bytes_end) {
  const std::shared_ptr<const Order> order = shuffled_order(400, 5);
  const Placement placement(order, {.hosts = {4, 1}, .batch_size = 5});
  const auto size_of = [](int64_t id) { return static_cast<uint64_t>(id % 10 + 1); };
  const int64_t cut = placement.rows_that_fit(2, 100, size_of);
  uint64_t sum = 0;
  for (int64_t i = 0; i < cut; ++i) sum += size_of(placement.id_assigned(2, i));
  EXPECT_LE(sum, 100u);
  EXPECT_GT(sum + size_of(placement.id_assigned(2, cut)), 100u);
  EXPECT_EQ(placement.rows_that_fit(2, 1'000'000, size_of), placement.rows_assigned(2));
}

TEST(PlacementTest, lanes_of_epoch_0_are_kept_by_their_owners_and_row_groups_stay_whole) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    BlockwiseOptions options{.chunk_rows = {}, .block = 3, .lanes = 4 + static_cast<int64_t>(seed % 5), .seed = seed};
    for (int64_t chunk = 0; chunk < 50; ++chunk) options.chunk_rows.push_back(5 + chunk * 7 % 11);
    const std::shared_ptr<const Order> order = std::move(blockwise_order(options)).value();
    const Hosts hosts{4, 2};
    const Placement placement(order, {.hosts = hosts, .batch_size = 8, .lanes = options.lanes, .budgets = {150}});
    int64_t assigned = 0;
    for (int64_t host = 0; host < 2; ++host) {
      int64_t kept = 0;
      assigned += placement.rows_assigned(host);
      for (int64_t i = 0; i < placement.rows_assigned(host); ++i) {
        const int64_t id = placement.id_assigned(host, i), position = order->position_of(0, id);
        EXPECT_EQ(hosts.of_rank(owner_of_lane(position % options.lanes, options.lanes, 4)), host);
        kept += placement.owner(id) == host;
        const Order::Range together = order->read_together(0, position);
        EXPECT_EQ(placement.owner(id), placement.owner(order->id_at(0, together.first)));
      }
      EXPECT_LE(kept, 150);
      EXPECT_GT(kept, 0) << "seed " << seed;
    }
    EXPECT_EQ(assigned, order->size());
  }
}

TEST(PlacementTest, what_cannot_be_is_refused) {
  EXPECT_TRUE((PlacementOptions{}.check().ok()));
  EXPECT_FALSE((PlacementOptions{.hosts = {0, 1}}.check().ok()));
  EXPECT_FALSE((PlacementOptions{.hosts = {4, 0}}.check().ok()));
  EXPECT_FALSE((PlacementOptions{.lanes = 0}.check().ok()));
  EXPECT_FALSE((PlacementOptions{.hosts = {4, 1}, .budgets = {1, 2}}.check().ok()));
  EXPECT_FALSE((PlacementOptions{.hosts = {4, 1}, .budgets = {-1}}.check().ok()));
}

TEST(DivisorTest, gives_what_division_gives) {
  for (const int64_t divisor :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{32768}, int64_t{1'000'003}, INT64_MAX}) {
    const Divisor by(divisor);
    for (const int64_t value :
         {int64_t{0}, int64_t{1}, divisor - 1, divisor, divisor / 2 * 2 + 1, int64_t{999'999'999'999}, INT64_MAX}) {
      EXPECT_EQ(by.divide(value).quotient, value / divisor);
      EXPECT_EQ(by.divide(value).remainder, value % divisor);
    }
  }
}

}  // namespace
}  // namespace forebay
