#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/order.h"
#include "plan/test_statistics.h"

namespace forebay {
namespace {

struct Data {
  BlockwiseOptions options;
  std::unique_ptr<Order> order;
  std::vector<int64_t> chunk_of;  // by id

  explicit Data(BlockwiseOptions given) : options(std::move(given)), order(blockwise_order(options).value()) {
    for (size_t chunk = 0; chunk < options.chunk_rows.size(); ++chunk) {
      chunk_of.insert(chunk_of.end(), static_cast<size_t>(options.chunk_rows[chunk]), static_cast<int64_t>(chunk));
    }
  }
  int64_t chunk_at(int64_t epoch, int64_t position) const {
    return chunk_of[static_cast<size_t>(order->id_at(epoch, position))];
  }
  // The chunks of a lane's rows, in the order of the lane.
  std::vector<int64_t> lane(int64_t epoch, int64_t lane) const {
    std::vector<int64_t> out;
    for (int64_t p = lane; p < order->size(); p += options.lanes) out.push_back(chunk_at(epoch, p));
    return out;
  }
};

std::vector<int64_t> uneven_chunks() {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 60; ++i) rows.push_back(1 + i * i * 7 % 53);
  return rows;
}

TEST(BlockwiseOrderTest, lanes_are_spans_whose_lengths_differ_by_one_row) {
  for (int64_t lanes : {1, 2, 3, 7, 16}) {
    const Data data({uneven_chunks(), 4, lanes, 7});
    std::map<int64_t, int64_t> lanes_of_chunk;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const std::vector<int64_t> rows = data.lane(1, lane);
      const int64_t share = data.order->size() / lanes;
      EXPECT_EQ(static_cast<int64_t>(rows.size()), share + (lane < data.order->size() % lanes ? 1 : 0));
      for (int64_t chunk : std::set<int64_t>(rows.begin(), rows.end())) ++lanes_of_chunk[chunk];
    }
    // Each of the lanes - 1 edges cuts at most one chunk; no other chunk is in two lanes.
    int64_t cuts = 0;
    for (const auto& [chunk, count] : lanes_of_chunk) cuts += count - 1;
    EXPECT_LE(cuts, lanes - 1) << lanes;
  }
}

// Number of chunks that each block of a lane mixes, in order.
std::vector<size_t> mixed_chunks(const Data& data, int64_t epoch, int64_t lane) {
  std::vector<size_t> counts;
  for (int64_t position = lane; position < data.order->size();) {
    const Order::Range block = data.order->read_together(epoch, position);
    EXPECT_EQ(block.first, position);
    counts.push_back(data.order->chunks_together(epoch, position).size());
    position += block.step * block.count;
  }
  return counts;
}

TEST(BlockwiseOrderTest, a_ramp_begins_with_one_chunk_and_grows_to_whole_blocks_in_epoch_0_alone) {
  const std::vector<int64_t> chunks(40, 10);
  const Data plain({chunks, 8, 1, 5}), ramp({chunks, 8, 1, 5, true}), pairs({chunks, 8, 2, 5, true});
  EXPECT_EQ(mixed_chunks(ramp, 0, 0), (std::vector<size_t>{1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 6}));
  EXPECT_EQ(mixed_chunks(pairs, 0, 1), (std::vector<size_t>{1, 1, 1, 2, 2, 3, 4, 5, 1}));
  EXPECT_EQ(mixed_chunks(ramp, 1, 0), (std::vector<size_t>{8, 8, 8, 8, 8}));
  EXPECT_EQ(mixed_chunks(plain, 0, 0), mixed_chunks(ramp, 1, 0));
  for (int64_t position = 0; position < 400; ++position)
    EXPECT_EQ(plain.order->id_at(1, position), ramp.order->id_at(1, position));
}

// If chunks are made a third faster than they are used, each block is ready in time.
TEST(BlockwiseOrderTest, no_block_of_a_ramp_is_waited_for_where_chunks_are_made_a_third_faster_than_they_are_used) {
  const Data data({std::vector<int64_t>(400, 3), 64, 1, 5, true});
  size_t before = 0;
  for (const size_t mixed : mixed_chunks(data, 0, 0)) {
    EXPECT_LE(3 * (before + mixed), 3 + 4 * before);
    before += mixed;
  }
}

TEST(BlockwiseOrderTest, with_a_ramp_an_epoch_is_still_every_row_once_and_can_be_looked_up_both_ways) {
  for (int64_t block : {1, 2, 8, 64}) {
    for (int64_t lanes : {1, 3}) {
      const Data data({uneven_chunks(), block, lanes, 11, true});
      std::vector<int64_t> ids(static_cast<size_t>(data.order->size()));
      data.order->ids_at(0, 0, ids);
      for (int64_t position = 0; position < data.order->size(); ++position) {
        const int64_t id = ids[static_cast<size_t>(position)];
        EXPECT_EQ(data.order->id_at(0, position), id);
        EXPECT_EQ(data.order->position_of(0, id), position);
      }
      EXPECT_EQ(std::set<int64_t>(ids.begin(), ids.end()).size(), ids.size());
    }
  }
}

// A lane reads its chunks `block` at a time: no more are open at once, and none is opened again.
TEST(BlockwiseOrderTest, a_lane_reads_each_chunk_once_and_few_at_a_time) {
  for (int64_t block : {1, 2, 5, 8}) {
    const Data data({uneven_chunks(), block, 3, 9});
    for (int64_t lane = 0; lane < 3; ++lane) {
      const std::vector<int64_t> rows = data.lane(2, lane);
      std::set<int64_t> done, open;
      for (size_t i = 0; i < rows.size();) {
        const Order::Range range = data.order->read_together(2, lane + static_cast<int64_t>(i) * 3);
        EXPECT_EQ(range.first, lane + static_cast<int64_t>(i) * 3);
        EXPECT_EQ(range.step, 3);
        open.clear();
        for (int64_t row = 0; row < range.count; ++row) open.insert(rows[i++]);
        EXPECT_LE(static_cast<int64_t>(open.size()), block);
        for (int64_t chunk : open) EXPECT_TRUE(done.insert(chunk).second) << "chunk " << chunk << " read twice";
      }
    }
  }
}

TEST(BlockwiseOrderTest, ids_are_rows_in_the_order_of_the_chunks) {
  // One chunk at a time, so each run holds the ids of one chunk.
  const Data data({{3, 4, 5}, 1, 1, 7});
  std::vector<int64_t> ids(12);
  data.order->ids_at(0, 0, ids);
  for (size_t i = 0; i < ids.size();) {
    const int64_t chunk = data.chunk_of[static_cast<size_t>(ids[i])];
    std::set<int64_t> stretch;
    for (int64_t row = 0; row < data.options.chunk_rows[static_cast<size_t>(chunk)]; ++row) stretch.insert(ids[i++]);
    EXPECT_EQ(*stretch.rbegin() - *stretch.begin() + 1, data.options.chunk_rows[static_cast<size_t>(chunk)]);
  }
}

TEST(BlockwiseOrderTest, empty_chunks_change_nothing) {
  const Data with({{10, 0, 20, 0, 0, 30}, 2, 2, 7}), without({{10, 20, 30}, 2, 2, 7});
  for (int64_t p = 0; p < 60; ++p) EXPECT_EQ(with.order->id_at(3, p), without.order->id_at(3, p));
}

// Each epoch draws the order of the chunks and of the rows anew.
TEST(BlockwiseOrderTest, chunks_and_rows_change_with_epoch_and_seed) {
  const Data data({std::vector<int64_t>(40, 10), 1, 1, 7}), other({std::vector<int64_t>(40, 10), 1, 1, 8});
  int64_t same_turn = 0, same_seed = 0;
  for (int64_t p = 0; p < 400; p += 10) {
    same_turn += data.chunk_at(0, p) == data.chunk_at(1, p);
    same_seed += data.chunk_at(0, p) == other.chunk_at(0, p);
  }
  EXPECT_LT(same_turn, 6);
  EXPECT_LT(same_seed, 6);
  std::set<std::vector<int64_t>> orders_inside;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t p = 0; p < 400; p += 10) {
      std::vector<int64_t> ids(10);
      data.order->ids_at(epoch, p, ids);
      for (int64_t& id : ids) id %= 10;
      orders_inside.insert(ids);
    }
  }
  EXPECT_GT(orders_inside.size(), 195u);  // of 200
}

// In a block of 4 chunks, neighbouring rows come from any two chunks.
TEST(BlockwiseOrderTest, rows_of_a_block_are_mixed) {
  const Data data({std::vector<int64_t>(4, 100), 4, 1, 7});
  std::vector<int64_t> pairs(16);
  for (int64_t epoch = 0; epoch < 300; ++epoch) {
    for (int64_t p = 0; p + 1 < 400; p += 2) {
      ++pairs[static_cast<size_t>(data.chunk_at(epoch, p) * 4 + data.chunk_at(epoch, p + 1))];
    }
  }
  std::vector<double> expected;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) expected.push_back(60'000.0 * 100 * (a == b ? 99 : 100) / (400 * 399));
  }
  // Each epoch draws each chunk 100 times, which fixes four sums.
  EXPECT_LT(std::abs(chi_square_sigmas(pairs, expected, 12)), 5);
}

TEST(BlockwiseOrderTest, golden_values_never_change) {
  const Data data({{100, 3, 50, 7, 90, 64, 65}, 3, 2, 7});
  std::vector<int64_t> ids(8);
  data.order->ids_at(5, 0, ids);
  EXPECT_EQ(ids, (std::vector<int64_t>{285, 317, 130, 377, 138, 371, 127, 323}));
}

TEST(BlockwiseOrderTest, huge_chunks_cost_no_more_than_small_ones) {
  const auto order = blockwise_order({std::vector<int64_t>(1000, int64_t{1} << 40), 8, 4, 7}).value();
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t position = i * 0x3fd'12345677 % order->size();
    EXPECT_EQ(order->position_of(6, order->id_at(6, position)), position);
  }
}

TEST(BlockwiseOrderTest, nonsense_is_refused_by_name) {
  const auto message = [](BlockwiseOptions options) { return blockwise_order(options).status().message(); };
  EXPECT_NE(message({{1}, 0, 1, 0}).find("block is 0"), std::string::npos);
  EXPECT_NE(message({{1}, 8, -2, 0}).find("lanes is -2"), std::string::npos);
  EXPECT_NE(message({{1, -5}, 8, 1, 0}).find("chunk 1 has -5 rows"), std::string::npos);
  EXPECT_NE(message({{INT64_MAX, INT64_MAX}, 8, 1, 0}).find("2^62"), std::string::npos);
  EXPECT_EQ(blockwise_order({{1}, 0, 1, 0}).status().code(), Code::kInvalidArgument);
}

TEST(BlockwiseOrderTest, chunks_together_are_those_whose_rows_stand_in_the_block) {
  for (int64_t lanes : {1, 3}) {
    const Data data({uneven_chunks(), 4, lanes, 7});
    for (int64_t position = 0; position < data.order->size(); position += 11) {
      const Order::Range range = data.order->read_together(2, position);
      std::set<int64_t> seen;
      for (int64_t i = 0; i < range.count; ++i) seen.insert(data.chunk_at(2, range.first + i * range.step));
      const std::vector<int64_t> chunks = data.order->chunks_together(2, position);
      EXPECT_EQ(std::set<int64_t>(chunks.begin(), chunks.end()), seen);
      EXPECT_EQ(chunks.size(), seen.size());
    }
  }
}

TEST(SequentialChunksOrderTest, a_chunk_is_read_together_and_empty_ones_are_none) {
  const auto order = sequential_chunks_order({3, 0, 2});
  EXPECT_EQ(order->size(), 5);
  EXPECT_EQ(order->id_at(0, 4), 4);
  EXPECT_EQ(order->read_together(0, 2).count, 3);
  EXPECT_EQ(order->read_together(0, 3).first, 3);
  EXPECT_EQ(order->chunks_together(0, 2), std::vector<int64_t>{0});
  EXPECT_EQ(order->chunks_together(0, 3), std::vector<int64_t>{2});
}

}  // namespace
}  // namespace forebay
