#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/part_search.h"
#include "plan/order.h"
#include "plan/permutation.h"

// A row has three numbers: its id (chunks in the given order), its place on the epoch's line
// (chunks permuted, rows end to end), and its position (lanes taken in turn, rows of a block
// mixed).

namespace forebay {
namespace {

constexpr int64_t kMaxRows = int64_t{1} << 62;

using Starts = std::vector<int64_t>;  // beginning of each chunk; then the end of the last one

// The chunk that holds `row`. No chunk is empty.
int64_t chunk_holding(const Starts& starts, int64_t row) {
  const std::span<const int64_t> begins(starts.data(), starts.size() - 1);
  return static_cast<int64_t>(part_holding(begins, row, [](int64_t begin) { return begin; }));
}

// The line of an epoch. A chunk's turn is its index on the line.
struct Line {
  // `begin` is the place of the chunk's first row; adding to_id to a place gives the row's id.
  struct Turn {
    int64_t begin = 0, to_id = 0;
  };
  int64_t epoch = -1;
  Permutation chunks;       // turn -> chunk
  std::vector<Turn> turns;  // one more at the end: the end of the line

  int64_t size() const { return static_cast<int64_t>(turns.size()) - 1; }
  const Turn& operator[](int64_t turn) const { return turns[static_cast<size_t>(turn)]; }
  int64_t turn_holding(int64_t row) const {
    const std::span<const Turn> real(turns.data(), turns.size() - 1);
    return static_cast<int64_t>(part_holding(real, row, [](const Turn& turn) { return turn.begin; }));
  }
};

// Up to `block` turns of one lane. `begin` and `end` are places.
struct Block {
  int64_t first_turn = 0, last_turn = 0;
  int64_t begin = 0, end = 0;
  Permutation rows;

  int64_t size() const { return end - begin; }
  int64_t id_at(const Line& line, int64_t row) const {
    int64_t id = 0;
    ids_at(line, row, {&id, 1});
    return id;
  }
  // Computes the ids at consecutive places from `row` on. One loop applies the permutation, and
  // the next maps to ids, so that neither loop waits for its own results.
  void ids_at(const Line& line, int64_t row, std::span<int64_t> ids) const {
    const Permutation mixed = rows;  // a copy, so that it stays in registers
    const int64_t from = begin;
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = from + mixed.at(row - from + static_cast<int64_t>(i));
    const std::span<const Line::Turn> turns(&line[first_turn], static_cast<size_t>(last_turn - first_turn));
    for (int64_t& id : ids)
      id += turns[part_holding(turns, id, [](const Line::Turn& turn) { return turn.begin; })].to_id;
  }
};

// The beginnings of the blocks that are smaller than `block`, in chunks of the lane; then that of
// the first full block.
std::vector<int64_t> ramp_begins(int64_t block) {
  std::vector<int64_t> begins = {0};
  for (int64_t size = 1; size < block; size = 1 + begins.back() / 3) begins.push_back(begins.back() + size);
  return begins;
}

class BlockwiseOrder final : public Order {
 public:
  // `chunks` holds the caller's index of each chunk with rows.
  BlockwiseOrder(Starts starts, std::vector<int64_t> chunks, const BlockwiseOptions& options)
      : starts_(std::move(starts)), chunks_(std::move(chunks)), block_(options.block), lanes_(options.lanes),
        ramp_(ramp_begins(options.ramp ? options.block : 1)),
        chunks_root_(PermutationKey::root(options.seed, PermutationKey::Use::kChunks)),
        blocks_root_(PermutationKey::root(options.seed, PermutationKey::Use::kBlock)) {}

  int64_t size() const override { return starts_.back(); }

  int64_t id_at(int64_t epoch, int64_t position) const override {
    assert(position >= 0 && position < size());
    const auto line = line_of(epoch);
    const int64_t lane = position % lanes_, row = lane_begin(lane) + position / lanes_;
    const Block block = block_holding(*line, lane, row);
    return block.id_at(*line, row);
  }

  int64_t position_of(int64_t epoch, int64_t id) const override {
    assert(id >= 0 && id < size());
    const auto line = line_of(epoch);
    const int64_t chunk = chunk_holding(starts_, id);
    // Inverts the two steps of ids_at(): first to the line, then out of the block.
    const int64_t mixed = id - (*line)[line->chunks.position_of(chunk)].to_id;
    const int64_t lane = lane_holding(mixed);
    const Block block = block_holding(*line, lane, mixed);
    const int64_t row = block.begin + block.rows.position_of(mixed - block.begin);
    return (row - lane_begin(lane)) * lanes_ + lane;
  }

  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    const auto line = line_of(epoch);
    const int64_t count = static_cast<int64_t>(ids.size());
    // Lane by lane instead of in order, so that each block is found once.
    for (int64_t first = 0; first < std::min(lanes_, count); ++first) lane_ids(*line, begin, first, ids);
  }

  Range read_together(int64_t epoch, int64_t position) const override {
    const auto line = line_of(epoch);
    const int64_t lane = position % lanes_, begin = lane_begin(lane);
    const Block block = block_holding(*line, lane, begin + position / lanes_);
    return {(block.begin - begin) * lanes_ + lane, lanes_, block.size()};
  }

  std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const override {
    const auto line = line_of(epoch);
    const int64_t lane = position % lanes_;
    const Block block = block_holding(*line, lane, lane_begin(lane) + position / lanes_);
    std::vector<int64_t> chunks;
    for (int64_t turn = block.first_turn; turn < block.last_turn && (*line)[turn].begin < block.end; ++turn)
      chunks.push_back(chunks_[static_cast<size_t>(line->chunks.at(turn))]);
    return chunks;
  }

 private:
  // Computes the ids of one lane, and looks up each block once.
  void lane_ids(const Line& line, int64_t begin, int64_t first, std::span<int64_t> ids) const {
    const int64_t lane = (begin + first) % lanes_;
    const auto step = static_cast<size_t>(lanes_);
    int64_t row = lane_begin(lane) + (begin + first) / lanes_;
    Block block = block_holding(line, lane, row);
    std::array<int64_t, 256> some;
    for (auto i = static_cast<size_t>(first); i < ids.size();) {
      if (row == block.end) block = block_holding(line, lane, row);
      const size_t left = (ids.size() - i + step - 1) / step;
      const size_t count = std::min({some.size(), left, static_cast<size_t>(block.end - row)});
      block.ids_at(line, row, {some.data(), count});
      for (size_t j = 0; j < count; ++j, i += step) ids[i] = some[j];
      row += static_cast<int64_t>(count);
    }
  }

  // The first size() % lanes_ lanes are one row longer than the others.
  int64_t lane_begin(int64_t lane) const { return lane * (size() / lanes_) + std::min(lane, size() % lanes_); }
  int64_t lane_holding(int64_t row) const {
    const int64_t shorter = size() / lanes_, longer_lanes = size() % lanes_;
    const int64_t in_longer = longer_lanes * (shorter + 1);
    return row < in_longer ? row / (shorter + 1) : longer_lanes + (row - in_longer) / shorter;
  }

  // A block within its lane: its number, and its turns relative to the lane's first one.
  struct Turns {
    int64_t number = 0, first = 0, count = 0;
  };
  Turns turns_holding(int64_t epoch, int64_t turn) const {
    const int64_t ramped = epoch == 0 ? ramp_.back() : 0;  // in turns
    if (turn < ramped) {
      const auto after = std::upper_bound(ramp_.begin(), ramp_.end(), turn);
      return {after - ramp_.begin() - 1, after[-1], *after - after[-1]};
    }
    const int64_t whole = (turn - ramped) / block_;
    const int64_t small = ramped > 0 ? static_cast<int64_t>(ramp_.size()) - 1 : 0;
    return {small + whole, ramped + whole * block_, block_};
  }

  Block block_holding(const Line& line, int64_t lane, int64_t row) const {
    const int64_t lane_first = lane_begin(lane), lane_end = lane_begin(lane + 1);
    // Blocks are counted from the lane's first chunk, so that no lane depends on the cuts of
    // others.
    const int64_t lane_turn = line.turn_holding(lane_first);
    const Turns turns = turns_holding(line.epoch, line.turn_holding(row) - lane_turn);
    const int64_t first_turn = lane_turn + turns.first;
    // Compared in this form because first_turn + count overflows for a huge block=.
    const int64_t last_turn = turns.count < line.size() - first_turn ? first_turn + turns.count : line.size();
    const int64_t begin = std::max(lane_first, line[first_turn].begin);
    const int64_t end = std::min(lane_end, line[last_turn].begin);
    // Keyed by lane and number instead of by chunk: a chunk that two lanes share is mixed
    // differently in each.
    const PermutationKey key = blocks_root_.child(line.epoch).child(lane).child(turns.number);
    return {first_turn, last_turn, begin, end, Permutation(end - begin, key)};
  }

  // Caches the lines of the last epochs asked for. A line is a function of the epoch, so the order
  // stays a pure function. The lock is held to copy a pointer, not to compute.
  std::shared_ptr<const Line> line_of(int64_t epoch) const {
    {
      const Lock lock(mutex_);
      for (const auto& line : kept_) {
        if (line && line->epoch == epoch) return line;
      }
    }
    // Linear in the number of chunks; runs once an epoch.
    auto line = make_line(epoch);
    const Lock lock(mutex_);
    // Two threads may both have computed the line. That wastes a slot of the cache, and changes no
    // result.
    std::rotate(kept_.begin(), kept_.end() - 1, kept_.end());
    kept_.front() = line;
    return line;
  }

  std::shared_ptr<const Line> make_line(int64_t epoch) const {
    const auto chunks = static_cast<int64_t>(starts_.size()) - 1;
    auto line = std::make_shared<Line>(Line{epoch, Permutation(chunks, chunks_root_.child(epoch)), {}});
    line->turns.reserve(starts_.size());
    int64_t row = 0;
    for (int64_t turn = 0; turn < chunks; ++turn) {
      const auto chunk = static_cast<size_t>(line->chunks.at(turn));
      line->turns.push_back({row, starts_[chunk] - row});
      row += starts_[chunk + 1] - starts_[chunk];
    }
    line->turns.push_back({row, 0});
    return line;
  }

  const Starts starts_;
  const std::vector<int64_t> chunks_;
  const int64_t block_, lanes_;
  const std::vector<int64_t> ramp_;  // for epoch 0
  const PermutationKey chunks_root_, blocks_root_;
  mutable Mutex mutex_;
  // For the current epoch, the prefetched one, and one that is looked up ahead.
  mutable std::array<std::shared_ptr<const Line>, 3> kept_ FOREBAY_GUARDED_BY(mutex_);
};

Status check(const BlockwiseOptions& options) {
  if (options.block < 1)
    return invalid_argument("block is " + std::to_string(options.block) + "; at least 1 chunk is mixed");
  if (options.lanes < 1)
    return invalid_argument("lanes is " + std::to_string(options.lanes) + "; there must be at least 1");
  int64_t rows = 0;
  for (size_t chunk = 0; chunk < options.chunk_rows.size(); ++chunk) {
    const int64_t here = options.chunk_rows[chunk];
    if (here >= 0 && here <= kMaxRows - rows) {
      rows += here;
      continue;
    }
    return invalid_argument("chunk " + std::to_string(chunk) + " has " + std::to_string(here) +
                            " rows; rows cannot be negative, nor more than 2^62 in all");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Order>> blockwise_order(const BlockwiseOptions& options) {
  FOREBAY_RETURN_IF_ERROR(check(options));
  Starts starts{0};
  starts.reserve(options.chunk_rows.size() + 1);
  std::vector<int64_t> chunks;
  for (size_t chunk = 0; chunk < options.chunk_rows.size(); ++chunk) {
    if (options.chunk_rows[chunk] == 0) continue;  // empty chunks hold no id and need no reading
    starts.push_back(starts.back() + options.chunk_rows[chunk]);
    chunks.push_back(static_cast<int64_t>(chunk));
  }
  return std::unique_ptr<Order>(std::make_unique<BlockwiseOrder>(std::move(starts), std::move(chunks), options));
}

}  // namespace forebay
