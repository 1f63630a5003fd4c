#include "loader/compile/ordering.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/selection.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Number of selected ids below `id`, by binary search: ids of a selection ascend.
int64_t selected_before(const Selection& selection, int64_t id) {
  int64_t begin = 0, end = selection.size();
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (selection.id_at(middle) < id) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace

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

std::shared_ptr<const Selection> apply_take(const OpSpec& take, const Source* source,
                                            std::shared_ptr<const Selection> from) {
  const int64_t size = std::max<int64_t>(int_arg(&take, "n", 0), 0);
  if (!bool_arg(take, "spread")) return first_of(std::move(from), size);
  const auto* const chunks = source != nullptr ? source->as_chunks() : nullptr;
  if (chunks == nullptr) return spread_over(std::move(from), size);
  const std::vector<int64_t> rows = selected_rows(*chunks, *from);
  return spread_over_chunks(std::move(from), rows, size);
}

std::shared_ptr<const Selection> select_unread(const Description& description, const Source* source, int64_t size) {
  std::shared_ptr<const Selection> chosen = source != nullptr ? select_all(*source) : first_samples(size);
  for (const OpSpec& step : description.steps())
    if (catalog().has_effect(step, OpEffect::kTaking)) chosen = apply_take(step, source, std::move(chosen));
  return chosen;
}

namespace {

// `chunks` has the rows of each chunk that is read as a whole, or is empty if samples are read one
// by one.
Result<Ordering> order_of(const OpSpec* shuffle, int64_t size, std::optional<std::vector<int64_t>> chunks,
                          uint64_t seed) {
  Ordering ordering;
  ordering.assignment = assignment_by_count();
  ordering.in_groups = chunks.has_value();
  if (!chunks) {
    ordering.order = shuffle != nullptr ? shuffled_order(size, seed) : sequential_order(size);
    return ordering;
  }
  if (shuffle == nullptr) {
    ordering.order = sequential_chunks_order(*chunks);
    return ordering;
  }
  ordering.block = int_arg(shuffle, "block", kDefaultBlock);
  ordering.lanes = int_arg(shuffle, "lanes", 1);
  if (ordering.lanes > 1) {
    ordering.assignment = assignment_by_lane(ordering.lanes);
    ordering.assignment_name = "lane";
  }
  FOREBAY_ASSIGN(ordering.order, blockwise_order({.chunk_rows = std::move(*chunks),
                                                  .block = ordering.block,
                                                  .lanes = ordering.lanes,
                                                  .seed = seed,
                                                  .ramp = bool_arg(*shuffle, "ramp")}));
  return ordering;
}

}  // namespace

Result<Ordering> choose_order(const OpSpec* shuffle, const Source& source, const Selection& selection, uint64_t seed) {
  return choose_order(shuffle, source.as_chunks(), selection, seed);
}

Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                              uint64_t seed) {
  std::optional<std::vector<int64_t>> chunk_rows;
  if (chunks != nullptr) chunk_rows = selected_rows(*chunks, selection);
  return order_of(shuffle, selection.size(), std::move(chunk_rows), seed);
}

Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Packing& packing, uint64_t seed) {
  std::optional<std::vector<int64_t>> chunk_rows;
  if (chunks != nullptr) chunk_rows = packing.blocks_per_group();
  return order_of(shuffle, packing.size(), std::move(chunk_rows), seed);
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
