#include "plan/packed_windows.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plan/equal_part.h"
#include "plan/kept_lengths.h"

namespace forebay {

namespace {

// The largest number of pieces that a sample is cut into.
int64_t most_pieces(const SizesOfLeaves& sizes, const PackingOptions& options) {
  if (options.too_long != LongSequence::kSplit) return 1;
  uint32_t longest = 0;
  for (const auto& leaf : sizes)
    for (const uint32_t length : leaf->lengths) longest = std::max(longest, length);
  // Cut anywhere, a sample may begin and end inside a block.
  return longest / options.length + 2;
}

std::vector<BlockLimit> limits_of(const std::vector<int64_t>& most) {
  std::vector<BlockLimit> limits;
  for (const int64_t one : most) limits.push_back({one, {}});
  return limits;
}

// The blocks in the order in which the longest of their pieces come, of equal ones the first.
std::vector<uint32_t> order_of_delivery(const Packing& packing) {
  std::vector<std::pair<int64_t, uint32_t>> placed;  // the longest piece's sequence, the block
  placed.reserve(static_cast<size_t>(packing.size()));
  std::vector<PackedPiece> pieces;
  for (int64_t block = 0; block < packing.size(); ++block) {
    pieces.clear();
    packing.pieces(block, &pieces);
    const auto longest = std::ranges::max_element(pieces, {}, &PackedPiece::count);
    placed.emplace_back(longest->sequence, static_cast<uint32_t>(block));
  }
  std::ranges::sort(placed);
  std::vector<uint32_t> order;
  order.reserve(placed.size());
  for (const auto& [sequence, block] : placed) order.push_back(block);
  return order;
}

}  // namespace

struct PackedWindows::Planned {
  int64_t epoch = 0, number = 0;
  std::vector<Draw> draws;  // by position in the window
  Packing packing;          // sequences are positions in the window
  std::vector<uint32_t> order;
};

Result<std::shared_ptr<const PackedWindows>> PackedWindows::make(std::shared_ptr<const PlanNode> plan,
                                                                 SizesOfLeaves sizes, PackedWindowsOptions options) {
  // The checks of the options, for no sequences.
  FOREBAY_RETURN_IF_ERROR(Packing::make({}, {}, options.packing, limits_of(options.limits)).status());
  for (const auto& leaf : sizes) {
    for (size_t i = 0; i < options.limits.size(); ++i)
      if (std::ranges::any_of(leaf->costs[i], [&](uint32_t cost) { return cost > options.limits[i]; }))
        return invalid_argument("a sequence costs more than a block may");
  }
  const int64_t most = std::numeric_limits<uint32_t>::max() / most_pieces(sizes, options.packing) / 2;
  if (std::min(options.packing.window, plan->size()) > most)
    return unsupported(
        fmt::format("windows of {} samples may have 2^32 parts of samples or more; give window={} or less",
                    options.packing.window, most));
  return std::shared_ptr<const PackedWindows>(new PackedWindows(std::move(plan), std::move(sizes), std::move(options)));
}

PackedWindows::PackedWindows(std::shared_ptr<const PlanNode> plan, SizesOfLeaves sizes, PackedWindowsOptions options)
    : plan_(std::move(plan)), sizes_(std::move(sizes)), options_(std::move(options)),
      windows_(plan_->size() == 0 ? 0 : std::max<int64_t>(plan_->size() / options_.packing.window, 1)) {}

// Windows are planned in order. A caller that only counts leaves those alone that are in use.
int64_t PackedWindows::count_blocks(int64_t epoch, int64_t least) const {
  for (;;) {
    int64_t next = 0;
    {
      const Lock lock(mutex_);
      const std::vector<int64_t>& before = counts_of(epoch).before;
      next = std::ssize(before) - 1;
      if (next == windows_ || before.back() >= least) return before.back();
    }
    const int64_t blocks = (least == INT64_MAX ? plan(epoch, next) : window(epoch, next))->packing.size();
    const Lock lock(mutex_);
    std::vector<int64_t>& before = counts_of(epoch).before;
    if (std::ssize(before) - 1 == next) before.push_back(before.back() + blocks);
  }
}

PackedWindows::Counts& PackedWindows::counts_of(int64_t epoch) const {
  auto found = std::ranges::find(counts_, epoch, &Counts::epoch);
  if (found == counts_.end()) {
    found = counts_.end() - 1;
    *found = {.epoch = epoch};
  }
  std::rotate(counts_.begin(), found, found + 1);
  return counts_.front();
}

PackedWindows::Place PackedWindows::place_of(int64_t epoch, int64_t block) const {
  count_blocks(epoch, block + 1);
  const Lock lock(mutex_);
  const std::vector<int64_t>& before = counts_of(epoch).before;
  const auto next = std::ranges::upper_bound(before, block);
  return {next - before.begin() - 1, block - *(next - 1)};
}

void PackedWindows::pieces(int64_t epoch, int64_t block, std::vector<PackedPiece>* pieces,
                           std::vector<Draw>* draws) const {
  const Place place = place_of(epoch, block);
  const std::shared_ptr<const Planned> planned = window(epoch, place.window);
  const size_t first = pieces->size();
  planned->packing.pieces(planned->order[static_cast<size_t>(place.block)], pieces);
  for (PackedPiece& piece : std::span(*pieces).subspan(first)) {
    draws->push_back(planned->draws[static_cast<size_t>(piece.sequence)]);
    piece.sequence = draws->back().index;
  }
}

int64_t PackedWindows::first_position(int64_t epoch, int64_t block) const {
  const int64_t window = place_of(epoch, block).window;
  return window >= windows_ ? plan_->size() : equal_part(plan_->size(), windows_, window).begin;
}

std::shared_ptr<const PackedWindows::Planned> PackedWindows::find(int64_t epoch, int64_t number) const {
  const Lock lock(mutex_);
  for (const auto& each : recent_)
    if (each && each->epoch == epoch && each->number == number) return each;
  return nullptr;
}

// The lock is not held to plan: two threads may plan the same window.
std::shared_ptr<const PackedWindows::Planned> PackedWindows::window(int64_t epoch, int64_t number) const {
  if (auto known = find(epoch, number)) return known;
  auto planned = plan(epoch, number);
  const Lock lock(mutex_);
  std::rotate(recent_.begin(), recent_.end() - 1, recent_.end());
  recent_.front() = planned;
  return planned;
}

std::shared_ptr<const PackedWindows::Planned> PackedWindows::plan(int64_t epoch, int64_t number) const {
  if (auto known = find(epoch, number)) return known;
  const EqualPart part = equal_part(plan_->size(), windows_, number);
  std::vector<Draw> draws(static_cast<size_t>(part.length));
  plan_->draws(epoch, part.begin, draws);
  std::vector<uint32_t> lengths;
  std::vector<BlockLimit> limits = limits_of(options_.limits);
  lengths.reserve(draws.size());
  for (const Draw& draw : draws) {
    const SequenceSizes& sizes = *sizes_[static_cast<size_t>(draw.leaf)];
    const auto index = static_cast<size_t>(draw.index);
    lengths.push_back(sizes.lengths[index]);
    for (size_t i = 0; i < limits.size(); ++i) limits[i].costs.push_back(sizes.costs[i][index]);
  }
  PackingOptions options = options_.packing;
  options.window = std::max<int64_t>(part.length, 1);
  // make() has checked whatever could be refused.
  Packing packing = std::move(Packing::make(std::move(lengths), {}, options, limits)).value();
  std::vector<uint32_t> order = order_of_delivery(packing);
  return std::make_shared<const Planned>(
      Planned{epoch, number, std::move(draws), std::move(packing), std::move(order)});
}

}  // namespace forebay
