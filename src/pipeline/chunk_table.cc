#include "pipeline/chunk_table.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/part_search.h"

namespace forebay {

uint64_t Chunk::claimed_bytes() const {
  const auto* ready = std::get_if<Ready>(&state);
  return bytes.claim.bytes() + (ready != nullptr ? ready->claim.bytes() : 0);
}

bool ChunkBlock::ready() const {
  return std::all_of(chunks.begin(), chunks.end(), [](const auto& chunk) { return chunk->is_done(); });
}

bool ChunkBlock::has_bad_rows() const {
  return std::any_of(chunks.begin(), chunks.end(),
                     [](const auto& chunk) { return chunk->template is<Chunk::Failed>() || chunk->rows()->bad_rows; });
}

bool ChunkBlock::has_chunk(const Chunk& chunk) const {
  return std::any_of(chunks.begin(), chunks.end(), [&](const auto& own) { return own.get() == &chunk; });
}

RowInBlock ChunkBlock::locate(int64_t id) const {
  const size_t index = part_holding(std::span<const int64_t>(begins), id, [](int64_t begin) { return begin; });
  return {index, id - begins[index]};
}

bool ChunkBlock::has_row(int64_t id) const {
  if (chunks.empty() || id < begins.front()) return false;
  return id < ends[locate(id).chunk];
}

void ChunkBlock::add(std::shared_ptr<Chunk> chunk, int64_t begin, int64_t end) {
  chunks.push_back(std::move(chunk));
  begins.push_back(begin);
  ends.push_back(end);
}

ChunkTable::ChunkTable(size_t branch, std::shared_ptr<const Order> order, std::vector<int64_t> begins)
    : branch_(branch), order_(std::move(order)), begins_(std::move(begins)) {}

ChunkBlockPtr ChunkTable::block_at(int64_t epoch, int64_t position) {
  const Order::Range range = order_->read_together(epoch, position);
  auto& block = blocks_[{epoch, range.first}];
  if (block) return block;
  block = std::make_shared<ChunkBlock>();
  block->branch = branch_;
  block->epoch = epoch;
  block->range = range;
  std::vector<int64_t> numbers = order_->chunks_together(epoch, position);
  std::sort(numbers.begin(), numbers.end());
  for (const int64_t number : numbers) add_chunk(*block, number);
  retain(*block);
  return block;
}

ChunkBlockPtr ChunkTable::block_after(const ChunkBlock& block) {
  const int64_t next = block.range.first + block.range.step * block.range.count;
  if (next < order_->size()) return block_at(block.epoch, next);
  // The positions of a lane are congruent modulo `step`, so the remainder is the lane's first
  // position.
  return block_at(block.epoch + 1, block.range.first % block.range.step);
}

int64_t ChunkTable::chunk_of(int64_t id) const {
  return std::upper_bound(begins_.begin(), begins_.end(), id) - begins_.begin() - 1;
}

void ChunkTable::add_chunk(ChunkBlock& block, int64_t number) {
  auto& chunk = chunks_[number];
  if (!chunk) {
    chunk = std::make_shared<Chunk>();
    chunk->number = number;
  }
  block.add(chunk, begins_[static_cast<size_t>(number)], begins_[static_cast<size_t>(number) + 1]);
}

ChunkBlockPtr ChunkTable::widened(const ChunkBlock& block, const std::vector<int64_t>& ids) {
  auto wider = std::make_shared<ChunkBlock>();
  wider->branch = branch_;
  wider->epoch = block.epoch;
  wider->range = block.range;
  wider->open = false;
  std::set<int64_t> numbers;
  for (const auto& chunk : block.chunks) numbers.insert(chunk->number);
  for (const int64_t id : ids) numbers.insert(chunk_of(id));
  for (const int64_t number : numbers) add_chunk(*wider, number);
  return wider;
}

// The chunk is not in the table yet. retain() adds it, or replaces it by the one that is there.
ChunkBlockPtr ChunkTable::block_of_replayed(int64_t number) const {
  auto block = std::make_shared<ChunkBlock>();
  block->branch = branch_;
  block->range = {.first = -1};
  block->open = false;
  block->replayed = true;
  auto chunk = std::make_shared<Chunk>();
  chunk->number = number;
  block->add(std::move(chunk), begins_[static_cast<size_t>(number)], begins_[static_cast<size_t>(number) + 1]);
  return block;
}

void ChunkTable::retain(ChunkBlock& block) {
  if (std::exchange(block.retained, true)) return;
  for (auto& chunk : block.chunks) {
    auto& known = chunks_[chunk->number];
    // While this block was not held, its chunk may have been created anew for another block. That
    // one is used.
    if (known) {
      chunk = known;
    } else {
      known = chunk;
    }
    ++chunk->holders;
  }
}

void ChunkTable::release(ChunkBlock& block, Freed& freed) {
  if (!std::exchange(block.retained, false)) return;
  for (const auto& chunk : block.chunks) {
    if (--chunk->holders > 0) continue;
    freed.push_back(chunk);
    chunks_.erase(chunk->number);
  }
}

void ChunkTable::close_before(int64_t epoch, int64_t position) {
  for (const auto& [key, block] : blocks_) {
    if (block->epoch < epoch || (block->epoch == epoch && block->last_position() < position)) block->open = false;
  }
}

// A task that starts again may need a block that was released before.
void ChunkTable::add_user(const ChunkBlockPtr& block) {
  ++block->users;
  retain(*block);
}

void ChunkTable::remove_user(const ChunkBlockPtr& block, Freed& freed) {
  if (--block->users > 0 || block->open) return;
  release(*block, freed);
  const auto known = blocks_.find({block->epoch, block->range.first});
  if (known != blocks_.end() && known->second == block) blocks_.erase(known);
}

void ChunkTable::remove_unused(Freed& freed) {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    if (at->second->users > 0 || at->second->open) {
      ++at;
      continue;
    }
    release(*at->second, freed);
    at = blocks_.erase(at);
  }
}

void ChunkTable::clear(Freed& freed) {
  for (const auto& [key, block] : blocks_) block->open = false;
  remove_unused(freed);
}

}  // namespace forebay
