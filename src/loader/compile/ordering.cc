#include "loader/compile/ordering.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/hash_share.h"
#include "pipeline/catalog.h"
#include "pipeline/selection.h"
#include "plan/balanced_order.h"
#include "plan/class_line.h"
#include "plan/class_members.h"
#include "plan/drawn_order.h"
#include "plan/permutation.h"
#include "telemetry/log.h"

namespace forebay {

std::vector<int64_t> selected_rows(const ChunkSource& source, const Selection& selection) {
  std::vector<int64_t> rows;
  int64_t before = 0;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    // A binary search per chunk, since a scan of 10^9 selected rows at each opening takes too long.
    const int64_t end = selected_before(selection, source.chunk_begin(chunk + 1));
    rows.push_back(end - before);
    before = end;
  }
  return rows;
}

std::shared_ptr<const Selection> select_all(const Source& source) {
  std::shared_ptr<const Selection> all = first_samples(source.size());
  // Leaves out the rows that a table's filter= dropped. The filter is part of the description, and
  // so of its fingerprint.
  const auto* const chunks = source.as_chunks();
  if (chunks == nullptr || chunks->kept_rows() == nullptr) return all;
  return std::make_shared<const MarkedSamples>(std::move(all), *chunks->kept_rows());
}

std::shared_ptr<const Selection> records_of_stream() {
  class Records final : public Selection {
   public:
    // Not 0: the size of a batch is estimated from one sample.
    int64_t size() const override { return 1; }
    int64_t id_at(int64_t index) const override { return index; }
  };
  return std::make_shared<Records>();
}

namespace {

// The samples of `from` that a `.take()` chooses.
std::shared_ptr<const Selection> apply_take(const OpSpec& take, const Source* source,
                                            std::shared_ptr<const Selection> from) {
  const int64_t size = std::max<int64_t>(int_arg(&take, "n", 0), 0);
  if (!bool_arg(take, "spread")) return first_of(std::move(from), size);
  const auto* const chunks = source != nullptr ? source->as_chunks() : nullptr;
  if (chunks == nullptr) return spread_over(std::move(from), size);
  const std::vector<int64_t> rows = selected_rows(*chunks, *from);
  return spread_over_chunks(std::move(from), rows, size);
}

// The samples of `from` whose keys a `.keep_keys()` chooses.
std::shared_ptr<const Selection> apply_keys(const OpSpec& keep, const Source* source,
                                            std::shared_ptr<const Selection> from) {
  if (source == nullptr) return from;
  const HashShare share(Args(keep.args, catalog().find(keep.name)->args));
  std::vector<uint64_t> bits(static_cast<size_t>((from->size() + 63) / 64));
  for (int64_t i = 0; i < from->size(); ++i) {
    const auto at = static_cast<uint64_t>(i);
    if (share.has(source->lasting_key(from->id_at(i)))) bits[at / 64] |= uint64_t{1} << (at % 64);
  }
  return std::make_shared<const MarkedSamples>(std::move(from), std::move(bits));
}

}  // namespace

std::shared_ptr<const Selection> choose_unread(const OpSpec& step, const Source* source,
                                               std::shared_ptr<const Selection> from) {
  if (catalog().has_effect(step, OpEffect::kTaking)) return apply_take(step, source, std::move(from));
  if (catalog().has_effect(step, OpEffect::kKeys)) return apply_keys(step, source, std::move(from));
  return from;
}

std::shared_ptr<const Selection> select_unread(const Description& description, const Source* source, int64_t size) {
  std::shared_ptr<const Selection> chosen = source != nullptr ? select_all(*source) : first_samples(size);
  for (const OpSpec& step : description.steps()) chosen = choose_unread(step, source, std::move(chosen));
  return chosen;
}

namespace {

// The rows of each chunk that is read as a whole, or nothing if samples are read one by one.
using ChunkRows = std::optional<std::vector<int64_t>>;

ChunkRows rows_of(const ChunkSource* chunks, const Selection& selection) {
  return chunks != nullptr ? ChunkRows(selected_rows(*chunks, selection)) : std::nullopt;
}

// An ordering that has no order yet.
Ordering settings_of(const OpSpec* shuffle, bool in_groups) {
  Ordering ordering;
  ordering.assignment = assignment_by_count();
  ordering.in_groups = in_groups;
  if (!in_groups || shuffle == nullptr) return ordering;
  ordering.block = int_arg(shuffle, "block", kDefaultBlock);
  ordering.lanes = int_arg(shuffle, "lanes", 1);
  if (ordering.lanes > 1) {
    ordering.assignment = assignment_by_lane(ordering.lanes);
    ordering.assignment_name = "lane";
  }
  return ordering;
}

// Makes orders with the settings of a `.shuffle()`, if there is one.
MakeOrder order_maker(const OpSpec* shuffle, const Ordering& ordering, uint64_t seed) {
  const bool shuffled = shuffle != nullptr, ramp = shuffled && bool_arg(*shuffle, "ramp");
  return [shuffled, ramp, block = ordering.block, lanes = ordering.lanes, seed](
             const ChunkRows& rows, int64_t size) -> Result<std::unique_ptr<Order>> {
    if (!rows) return shuffled ? shuffled_order(size, seed) : sequential_order(size);
    if (!shuffled) return sequential_chunks_order(*rows);
    return blockwise_order({.chunk_rows = *rows, .block = block, .lanes = lanes, .seed = seed, .ramp = ramp});
  };
}

Result<Ordering> order_of(const OpSpec* shuffle, int64_t size, const ChunkRows& rows, uint64_t seed) {
  Ordering ordering = settings_of(shuffle, rows.has_value());
  FOREBAY_ASSIGN(ordering.order, order_maker(shuffle, ordering, seed)(rows, size));
  return ordering;
}

}  // namespace

Result<Ordering> choose_order(const OpSpec* shuffle, const Source& source, const Selection& selection, uint64_t seed) {
  return choose_order(shuffle, source.as_chunks(), selection, seed);
}

Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                              uint64_t seed) {
  return order_of(shuffle, selection.size(), rows_of(chunks, selection), seed);
}

Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Packing& packing, uint64_t seed) {
  return order_of(shuffle, packing.size(), chunks != nullptr ? ChunkRows(packing.blocks_per_group()) : std::nullopt,
                  seed);
}

Result<Ordering> choose_drawn_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                                    uint64_t seed, const WeightedDraws& draws) {
  const ChunkRows rows = rows_of(chunks, selection);
  Ordering ordering = settings_of(shuffle, rows.has_value());
  // The line has all chunks one after the other. It is shuffled, too, so that which samples are
  // drawn together does not follow from how they are stored.
  const uint64_t line_seed = PermutationKey::root(seed, PermutationKey::Use::kDrawnLine).a;
  FOREBAY_ASSIGN(std::shared_ptr<const Order> line,
                 order_maker(shuffle, Ordering{}, line_seed)(rows, selection.size()));
  FOREBAY_ASSIGN(ordering.order, drawn_order({.line = std::move(line),
                                              .weights = draws.weights,
                                              .draws = draws.count,
                                              .once = draws.once,
                                              .seed = seed,
                                              .order = order_maker(shuffle, ordering, seed)}));
  return ordering;
}

namespace {

// Balances samples that are read one by one.
std::unique_ptr<Order> balanced_samples(const OpSpec* shuffle, uint64_t seed, const BalancedDraws& draws) {
  const PermutationKey seeds = PermutationKey::root(seed, PermutationKey::Use::kClass);
  return balanced_order({draws.class_of, draws.count, [shuffle, seeds](int64_t size, int64_t number) {
                           return shuffle != nullptr ? shuffled_order(size, seeds.child(number).a)
                                                     : sequential_order(size);
                         }});
}

// Weights with which all classes together weigh alike.
std::vector<double> weights_of(const std::vector<int32_t>& class_of) {
  const ClassMembers members(class_of);
  std::vector<double> weights;
  weights.reserve(class_of.size());
  for (const int32_t number : class_of)
    weights.push_back(number < 0 ? 0 : 1 / static_cast<double>(members.class_size(number)));
  return weights;
}

}  // namespace

Result<Ordering> choose_balanced_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                                       uint64_t seed, const BalancedDraws& draws) {
  const ChunkRows rows = rows_of(chunks, selection);
  Ordering ordering = settings_of(shuffle, rows.has_value());
  if (!rows) {
    ordering.order = balanced_samples(shuffle, seed, draws);
    return ordering;
  }
  FOREBAY_ASSIGN(ordering.order, drawn_order({.line = class_line(draws.class_of, *rows),
                                              .weights = weights_of(draws.class_of),
                                              .draws = draws.count,
                                              .seed = seed,
                                              .order = order_maker(shuffle, ordering, seed)}));
  return ordering;
}

Result<Ordering> choose_order_of_first(const OpSpec* shuffle, const ChunkSource* chunks,
                                       std::shared_ptr<const Selection> selection, int64_t count, uint64_t seed) {
  std::optional<std::vector<int64_t>> chunk_rows;
  if (chunks != nullptr) {
    chunk_rows = selected_rows(*chunks, *first_of(std::move(selection), count));
    while (!chunk_rows->empty() && chunk_rows->back() == 0) chunk_rows->pop_back();
  }
  return order_of(shuffle, count, std::move(chunk_rows), seed);
}

int64_t lanes_of_rank(const Ordering& ordering, int64_t world_size) {
  if (ordering.lanes % world_size == 0) return ordering.lanes / world_size;
  // A rank's range may begin and end within a lane.
  return std::min(ordering.lanes, ordering.lanes / world_size + 2);
}

void warn_of_shared_lanes(const Ordering& ordering, int64_t world_size, const std::string& part) {
  if (ordering.block <= 1 || ordering.lanes >= world_size) return;
  log_warning(fmt::format(
      "{}{} ranks share {} lane{} of the table, so each of them decodes row groups that others decode, too; "
      "give .shuffle(lanes={}), or a multiple of that",
      part.empty() ? "" : part + ": ", world_size, ordering.lanes, ordering.lanes == 1 ? "" : "s", world_size));
}

}  // namespace forebay
