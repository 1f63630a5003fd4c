#include "loader/ordering.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/unit_source.h"
#include "loader/step_arguments.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Ids of a selection ascend.
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

std::vector<int64_t> selected_rows(const UnitSource& source, const Selection& selection) {
  std::vector<int64_t> rows;
  int64_t before = 0;
  for (int64_t unit = 0; unit < source.units(); ++unit) {
    const int64_t end = selected_before(selection, source.unit_begin(unit + 1));
    rows.push_back(end - before);
    before = end;
  }
  return rows;
}

}  // namespace

Result<Ordering> choose_order(const OpSpec* shuffle, const Source& source, const Selection& selection, uint64_t seed) {
  return choose_order(shuffle, dynamic_cast<const UnitSource*>(&source), selection, seed);
}

Result<Ordering> choose_order(const OpSpec* shuffle, const UnitSource* units, const Selection& selection,
                              uint64_t seed) {
  Ordering ordering;
  ordering.deal = deal_by_count();
  if (units == nullptr) {
    ordering.order = shuffle != nullptr ? shuffled_order(selection.size(), seed) : sequential_order(selection.size());
    return ordering;
  }
  if (shuffle == nullptr) {
    ordering.order = sequential_chunks_order(selected_rows(*units, selection));
    return ordering;
  }
  ordering.block = int_arg(shuffle, "block", kDefaultBlock);
  ordering.lanes = int_arg(shuffle, "lanes", 1);
  if (ordering.lanes > 1) ordering.deal = deal_by_lane(ordering.lanes);
  FOREBAY_ASSIGN(ordering.order, blockwise_order({.chunk_rows = selected_rows(*units, selection),
                                                  .block = ordering.block,
                                                  .lanes = ordering.lanes,
                                                  .seed = seed,
                                                  .ramp = bool_arg(*shuffle, "ramp")}));
  return ordering;
}

int64_t lanes_of_rank(const Ordering& ordering, int64_t world_size) {
  if (ordering.lanes % world_size == 0) return ordering.lanes / world_size;
  // The cuts on either side may go through a lane.
  return std::min(ordering.lanes, ordering.lanes / world_size + 2);
}

void warn_of_shared_lanes(const Ordering& ordering, int64_t world_size) {
  if (ordering.block <= 1 || ordering.lanes >= world_size) return;
  log_warning(
      fmt::format("{} ranks share {} lane{} of the table, so each of them decodes row groups that others decode, too; "
                  "give .shuffle(lanes={}), or a multiple of that",
                  world_size, ordering.lanes, ordering.lanes == 1 ? "" : "s", world_size));
}

}  // namespace forebay
