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

// A row has three numbers: its id (chunks in the given order), its index in the chunk sequence of
// the epoch (chunks permuted, rows end to end), and its position (lanes alternate, rows of a block
// are mixed).

namespace forebay {
namespace {

constexpr int64_t kMaxRows = int64_t{1} << 62;

using Starts = std::vector<int64_t>;  // beginning of each chunk; then the end of the last one

// The chunk that holds `row`. No chunk is empty.
int64_t chunk_holding(const Starts& starts, int64_t row) {
  const std::span<const int64_t> begins(starts.data(), starts.size() - 1);
  return static_cast<int64_t>(part_holding(begins, row, [](int64_t begin) { return begin; }));
}

// The chunks of an epoch in permuted order, with their rows end to end. The ordinal of a chunk is
// its index in the sequence; the index of a row counts the rows of all chunks before it, too.
struct ChunkSequence {
  // `begin` is the index of the first row of the chunk; index + to_id is the id of a row.
  struct ChunkSpan {
    int64_t begin = 0, to_id = 0;
  };
  int64_t epoch = -1;
  Permutation chunks;            // ordinal -> chunk
  std::vector<ChunkSpan> spans;  // by ordinal; then one more, at the end of the sequence

  int64_t size() const { return static_cast<int64_t>(spans.size()) - 1; }
  const ChunkSpan& operator[](int64_t ordinal) const { return spans[static_cast<size_t>(ordinal)]; }
  int64_t ordinal_holding(int64_t row) const {
    const std::span<const ChunkSpan> real(spans.data(), spans.size() - 1);
    return static_cast<int64_t>(part_holding(real, row, [](const ChunkSpan& span) { return span.begin; }));
  }
};

// Up to `block` consecutive chunks of one lane, whose rows are mixed: ordinals [first_ordinal,
// end_ordinal), and rows [begin, end) of the sequence.
struct Block {
  int64_t first_ordinal = 0, end_ordinal = 0;
  int64_t begin = 0, end = 0;
  Permutation rows;

  int64_t size() const { return end - begin; }
  int64_t id_at(const ChunkSequence& sequence, int64_t row) const {
    int64_t id = 0;
    ids_at(sequence, row, {&id, 1});
    return id;
  }
  // Computes the ids of consecutive rows from `row` on. One loop applies the permutation, and
  // the next maps to ids, so that neither loop waits for its own results.
  void ids_at(const ChunkSequence& sequence, int64_t row, std::span<int64_t> ids) const {
    const Permutation mixed = rows;  // a copy, so that it stays in registers
    const int64_t from = begin;
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = from + mixed.at(row - from + static_cast<int64_t>(i));
    const std::span<const ChunkSequence::ChunkSpan> spans(&sequence[first_ordinal],
                                                          static_cast<size_t>(end_ordinal - first_ordinal));
    for (int64_t& id : ids)
      id += spans[part_holding(spans, id, [](const ChunkSequence::ChunkSpan& span) { return span.begin; })].to_id;
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
    const auto sequence = sequence_of(epoch);
    const int64_t lane = position % lanes_, row = lane_begin(lane) + position / lanes_;
    const Block block = block_holding(*sequence, lane, row);
    return block.id_at(*sequence, row);
  }

  int64_t position_of(int64_t epoch, int64_t id) const override {
    assert(id >= 0 && id < size());
    const auto sequence = sequence_of(epoch);
    const int64_t chunk = chunk_holding(starts_, id);
    // Inverts the two steps of ids_at(): first the map to ids, then the permutation of the block.
    const int64_t mixed = id - (*sequence)[sequence->chunks.position_of(chunk)].to_id;
    const int64_t lane = lane_holding(mixed);
    const Block block = block_holding(*sequence, lane, mixed);
    const int64_t row = block.begin + block.rows.position_of(mixed - block.begin);
    return (row - lane_begin(lane)) * lanes_ + lane;
  }

  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    const auto sequence = sequence_of(epoch);
    const int64_t count = static_cast<int64_t>(ids.size());
    // Lane by lane instead of in order, so that each block is found once.
    for (int64_t first = 0; first < std::min(lanes_, count); ++first) lane_ids(*sequence, begin, first, ids);
  }

  Range read_together(int64_t epoch, int64_t position) const override {
    const auto sequence = sequence_of(epoch);
    const int64_t lane = position % lanes_, begin = lane_begin(lane);
    const Block block = block_holding(*sequence, lane, begin + position / lanes_);
    return {(block.begin - begin) * lanes_ + lane, lanes_, block.size()};
  }

  std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const override {
    const auto sequence = sequence_of(epoch);
    const int64_t lane = position % lanes_;
    const Block block = block_holding(*sequence, lane, lane_begin(lane) + position / lanes_);
    std::vector<int64_t> chunks;
    for (int64_t ordinal = block.first_ordinal; ordinal < block.end_ordinal && (*sequence)[ordinal].begin < block.end;
         ++ordinal)
      chunks.push_back(chunks_[static_cast<size_t>(sequence->chunks.at(ordinal))]);
    return chunks;
  }

 private:
  // Computes the ids of one lane, and looks up each block once.
  void lane_ids(const ChunkSequence& sequence, int64_t begin, int64_t first, std::span<int64_t> ids) const {
    const int64_t lane = (begin + first) % lanes_;
    const auto step = static_cast<size_t>(lanes_);
    int64_t row = lane_begin(lane) + (begin + first) / lanes_;
    Block block = block_holding(sequence, lane, row);
    std::array<int64_t, 256> some;
    for (auto i = static_cast<size_t>(first); i < ids.size();) {
      if (row == block.end) block = block_holding(sequence, lane, row);
      const size_t left = (ids.size() - i + step - 1) / step;
      const size_t count = std::min({some.size(), left, static_cast<size_t>(block.end - row)});
      block.ids_at(sequence, row, {some.data(), count});
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

  // A block within its lane: its number, and its ordinals relative to the first one of the lane.
  struct BlockSpan {
    int64_t number = 0, first = 0, count = 0;
  };
  BlockSpan block_span_holding(int64_t epoch, int64_t ordinal) const {
    const int64_t ramped = epoch == 0 ? ramp_.back() : 0;  // in chunks
    if (ordinal < ramped) {
      const auto after = std::upper_bound(ramp_.begin(), ramp_.end(), ordinal);
      return {after - ramp_.begin() - 1, after[-1], *after - after[-1]};
    }
    const int64_t whole = (ordinal - ramped) / block_;
    const int64_t small = ramped > 0 ? static_cast<int64_t>(ramp_.size()) - 1 : 0;
    return {small + whole, ramped + whole * block_, block_};
  }

  Block block_holding(const ChunkSequence& sequence, int64_t lane, int64_t row) const {
    const int64_t lane_first = lane_begin(lane), lane_end = lane_begin(lane + 1);
    // Blocks are counted from the lane's first chunk, so that no lane depends on the cuts of
    // others.
    const int64_t lane_ordinal = sequence.ordinal_holding(lane_first);
    const BlockSpan block = block_span_holding(sequence.epoch, sequence.ordinal_holding(row) - lane_ordinal);
    const int64_t first_ordinal = lane_ordinal + block.first;
    // Compared in this form because first_ordinal + count overflows for a huge block=.
    const int64_t end_ordinal =
        block.count < sequence.size() - first_ordinal ? first_ordinal + block.count : sequence.size();
    const int64_t begin = std::max(lane_first, sequence[first_ordinal].begin);
    const int64_t end = std::min(lane_end, sequence[end_ordinal].begin);
    // Keyed by lane and number instead of by chunk: a chunk that two lanes share is mixed
    // differently in each.
    const PermutationKey key = blocks_root_.child(sequence.epoch).child(lane).child(block.number);
    return {first_ordinal, end_ordinal, begin, end, Permutation(end - begin, key)};
  }

  // Caches the sequences of the last epochs requested. A sequence is a function of the epoch, so
  // the order stays a pure function. The lock is held to copy a pointer, not to compute.
  std::shared_ptr<const ChunkSequence> sequence_of(int64_t epoch) const {
    {
      const Lock lock(mutex_);
      for (const auto& sequence : recent_sequences_) {
        if (sequence && sequence->epoch == epoch) return sequence;
      }
    }
    // Linear in the number of chunks; runs once an epoch.
    auto sequence = make_sequence(epoch);
    const Lock lock(mutex_);
    // Two threads may both have computed the sequence. That wastes a slot of the cache, and changes
    // no result.
    std::rotate(recent_sequences_.begin(), recent_sequences_.end() - 1, recent_sequences_.end());
    recent_sequences_.front() = sequence;
    return sequence;
  }

  std::shared_ptr<const ChunkSequence> make_sequence(int64_t epoch) const {
    const auto chunks = static_cast<int64_t>(starts_.size()) - 1;
    auto sequence =
        std::make_shared<ChunkSequence>(ChunkSequence{epoch, Permutation(chunks, chunks_root_.child(epoch)), {}});
    sequence->spans.reserve(starts_.size());
    int64_t row = 0;
    for (int64_t ordinal = 0; ordinal < chunks; ++ordinal) {
      const auto chunk = static_cast<size_t>(sequence->chunks.at(ordinal));
      sequence->spans.push_back({row, starts_[chunk] - row});
      row += starts_[chunk + 1] - starts_[chunk];
    }
    sequence->spans.push_back({row, 0});
    return sequence;
  }

  const Starts starts_;
  const std::vector<int64_t> chunks_;
  const int64_t block_, lanes_;
  const std::vector<int64_t> ramp_;  // for epoch 0
  const PermutationKey chunks_root_, blocks_root_;
  mutable Mutex mutex_;
  // For the current epoch, the prefetched one, and one that is looked up ahead.
  mutable std::array<std::shared_ptr<const ChunkSequence>, 3> recent_sequences_ FOREBAY_GUARDED_BY(mutex_);
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
