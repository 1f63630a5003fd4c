#include "plan/packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plan/block_layout.h"

namespace forebay {

namespace {

Status check_options(const PackingOptions& options) {
  // Offsets within a block are int32 in batches. The limit also keeps a piece's index times the
  // length within 63 bits.
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (options.length < 1 || options.length > kMost)
    return invalid_argument(fmt::format("blocks of {} elements cannot be packed; give 1 to {}", options.length, kMost));
  if (options.open_blocks < 1)
    return invalid_argument(fmt::format("open_blocks={}: give at least 1", options.open_blocks));
  if (options.window < 1) return invalid_argument(fmt::format("window={}: give at least 1", options.window));
  if (options.max_segments < 0)
    return invalid_argument(fmt::format("max_segments={}: give at least 1", options.max_segments));
  if (options.max_segments > 0 && options.rule == PackingRule::kCut)
    return invalid_argument("max_segments= is not for blocks that are cut, which take sequences as they come");
  return {};
}

Status check_limits(std::span<const BlockLimit> limits, size_t sequences, const PackingOptions& options) {
  if (limits.empty()) return {};
  if (options.rule == PackingRule::kCut || options.too_long == LongSequence::kSplit)
    return invalid_argument("limits= is not for sequences that are split");
  for (const BlockLimit& limit : limits) {
    if (limit.costs.size() != sequences) return internal_error("a limit without the costs of all sequences");
    if (std::ranges::any_of(limit.costs, [&](uint32_t cost) { return cost > limit.most; }))
      return invalid_argument("a sequence costs more than a block may");
  }
  return {};
}

// Sequences and pieces have numbers of 32 bits.
Status check_counts(const KeptLengths& kept, const PackingOptions& options) {
  constexpr int64_t kMost = UINT32_MAX;
  int64_t count = static_cast<int64_t>(kept.size());
  if (count <= kMost && options.rule != PackingRule::kCut) {
    int64_t pieces = 0;
    for (size_t i = 0; i < kept.size(); ++i) pieces += (kept.count(i) + options.length - 1) / options.length;
    count = std::max(count, pieces);
  }
  if (count <= kMost) return {};
  return unsupported(
      fmt::format("{} sequences or parts of them are to be packed, and 2^32 - 1 is the most; pack parts "
                  "of the data set",
                  count));
}

}  // namespace

Packing::Packing(KeptLengths kept, int64_t length) : kept_(std::move(kept)), length_(length) {}
Packing::~Packing() = default;
Packing::Packing(Packing&&) noexcept = default;
Packing& Packing::operator=(Packing&&) noexcept = default;

Result<Packing> Packing::make(std::vector<uint32_t> lengths, std::span<const int64_t> groups,
                              const PackingOptions& options, std::span<const BlockLimit> limits) {
  FOREBAY_RETURN_IF_ERROR(check_options(options));
  FOREBAY_RETURN_IF_ERROR(check_limits(limits, lengths.size(), options));
  Packing packing(KeptLengths(std::move(lengths), options.length, options.too_long), options.length);
  const KeptLengths& kept = packing.kept_;
  FOREBAY_RETURN_IF_ERROR(check_counts(kept, options));
  const auto all = static_cast<int64_t>(kept.size());
  if (groups.empty()) groups = std::span<const int64_t>(&all, 1);
  packing.layout_ = options.rule == PackingRule::kCut ? cut_layout(kept, groups, options.length)
                                                      : placed_layout(kept, groups, options, limits);
  const std::vector<int64_t>& blocks = packing.layout_->blocks_per_group();
  packing.size_ = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
  for (size_t i = 0; i < kept.size(); ++i) packing.elements_ += kept.count(i);
  return packing;
}

int64_t Packing::piece_count() const { return layout_->piece_count(); }
const std::vector<int64_t>& Packing::blocks_per_group() const { return layout_->blocks_per_group(); }
void Packing::pieces(int64_t block, std::vector<PackedPiece>* out) const { layout_->pieces(kept_, block, out); }
uint64_t Packing::bytes() const { return kept_.bytes() + layout_->bytes(); }

}  // namespace forebay
