#include "plan/order.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "plan/permutation.h"

namespace forebay {
namespace {

class SequentialOrder final : public Order {
 public:
  explicit SequentialOrder(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t id_at(int64_t, int64_t position) const override { return position; }
  int64_t position_of(int64_t, int64_t id) const override { return id; }
  void ids_at(int64_t, int64_t begin, std::span<int64_t> ids) const override {
    std::iota(ids.begin(), ids.end(), begin);
  }

 private:
  int64_t size_;
};

class SequentialChunksOrder final : public Order {
 public:
  explicit SequentialChunksOrder(const std::vector<int64_t>& chunk_rows) {
    int64_t end = 0;
    for (size_t chunk = 0; chunk < chunk_rows.size(); ++chunk) {
      // Two chunks that begin at the same row could not be distinguished.
      if (chunk_rows[chunk] == 0) continue;
      chunks_.push_back({end, static_cast<int64_t>(chunk)});
      end += chunk_rows[chunk];
    }
    chunks_.push_back({end, 0});
  }
  int64_t size() const override { return chunks_.back().begin; }
  int64_t id_at(int64_t, int64_t position) const override { return position; }
  int64_t position_of(int64_t, int64_t id) const override { return id; }
  void ids_at(int64_t, int64_t begin, std::span<int64_t> ids) const override {
    std::iota(ids.begin(), ids.end(), begin);
  }
  Range read_together(int64_t, int64_t position) const override {
    const auto chunk = holding(position);
    return {chunk->begin, 1, chunk[1].begin - chunk->begin};
  }
  std::vector<int64_t> chunks_together(int64_t, int64_t position) const override { return {holding(position)->chunk}; }

 private:
  struct Chunk {
    int64_t begin = 0, chunk = 0;
  };
  std::vector<Chunk>::const_iterator holding(int64_t position) const {
    return std::upper_bound(chunks_.begin(), chunks_.end(), position,
                            [](int64_t row, const Chunk& chunk) { return row < chunk.begin; }) -
           1;
  }
  std::vector<Chunk> chunks_;  // chunks with rows; then the end of the last one
};

class ShuffledOrder final : public Order {
 public:
  ShuffledOrder(int64_t size, uint64_t seed)
      : shape_(PermutationShape::of(size)), root_(PermutationKey::root(seed, PermutationKey::Use::kOrder)) {}
  int64_t size() const override { return shape_.size; }
  int64_t id_at(int64_t epoch, int64_t position) const override { return permutation(epoch).at(position); }
  int64_t position_of(int64_t epoch, int64_t id) const override { return permutation(epoch).position_of(id); }
  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    std::iota(ids.begin(), ids.end(), begin);
    permutation(epoch).at_each(ids);
  }
  void positions_of(int64_t epoch, std::span<const int64_t> ids, std::span<int64_t> positions) const override {
    std::copy(ids.begin(), ids.end(), positions.begin());
    permutation(epoch).position_of_each(positions);
  }

 private:
  Permutation permutation(int64_t epoch) const { return {shape_, root_.child(epoch)}; }

  PermutationShape shape_;
  PermutationKey root_;
};

}  // namespace

Order::Range Order::read_together(int64_t, int64_t) const { return {0, 1, size()}; }

void Order::positions_of(int64_t epoch, std::span<const int64_t> ids, std::span<int64_t> positions) const {
  for (size_t i = 0; i < ids.size(); ++i) positions[i] = position_of(epoch, ids[i]);
}

void Order::uses_at(int64_t epoch, int64_t begin, std::span<int64_t> ids, std::span<int32_t> occurrences) const {
  ids_at(epoch, begin, ids);
  std::ranges::fill(occurrences, 0);
}

std::vector<int64_t> Order::chunks_together(int64_t, int64_t) const { return {}; }

Order::Use Order::next_use(int64_t id, int64_t epoch, int64_t position) const {
  const int64_t here = position_of(epoch, id);
  // Each id comes once in an epoch of a permutation, so its next use is in this epoch or the next.
  if (here >= position) return {epoch, here};
  return {epoch + 1, position_of(epoch + 1, id)};
}

std::unique_ptr<Order> sequential_order(int64_t size) {
  assert(size >= 0);
  return std::make_unique<SequentialOrder>(size);
}

std::unique_ptr<Order> sequential_chunks_order(const std::vector<int64_t>& chunk_rows) {
  return std::make_unique<SequentialChunksOrder>(chunk_rows);
}

std::unique_ptr<Order> shuffled_order(int64_t size, uint64_t seed) {
  assert(size >= 0);
  return std::make_unique<ShuffledOrder>(size, seed);
}

}  // namespace forebay
