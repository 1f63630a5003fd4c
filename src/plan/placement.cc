#include "plan/placement.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "plan/equal_part.h"
#include "plan/shard_assignment.h"

namespace forebay {

Status PlacementOptions::check() const {
  if (hosts.world_size < 1 || hosts.ranks_per_host < 1 || batch_size < 1 || lanes < 1) {
    return invalid_argument("placement: world_size " + std::to_string(hosts.world_size) + ", ranks_per_host " +
                            std::to_string(hosts.ranks_per_host) + ", batch size " + std::to_string(batch_size) +
                            " and lanes " + std::to_string(lanes) + " must each be 1 or larger");
  }
  if (budgets.size() > 1 && static_cast<int64_t>(budgets.size()) != hosts.count()) {
    return invalid_argument("placement: " + std::to_string(budgets.size()) + " budgets for " +
                            std::to_string(hosts.count()) + " hosts; give one for each, or one for all");
  }
  for (size_t host = 0; host < budgets.size(); ++host) {
    if (budgets[host] < 0)
      return invalid_argument("placement: the budget of host " + std::to_string(host) + " is " +
                              std::to_string(budgets[host]) + " rows; it cannot be negative");
  }
  return {};
}

Placement::Placement(std::shared_ptr<const Order> order, PlacementOptions options)
    : order_(std::move(order)), options_(std::move(options)),
      global_batch_(options_.batch_size * options_.hosts.world_size),
      whole_(order_->size() / global_batch_ * global_batch_), by_batch_(global_batch_), by_host_rows_(host_rows()),
      by_lanes_(options_.lanes) {
  assert(options_.check().ok());
  if (options_.lanes == 1) return;
  first_lane_.assign(static_cast<size_t>(options_.hosts.count()) + 1, 0);
  for (int64_t lane = 0; lane < options_.lanes; ++lane) {
    const int64_t owner = owner_of_lane(lane, options_.lanes, options_.hosts.world_size);
    host_of_lane_.push_back(static_cast<int32_t>(options_.hosts.of_rank(owner)));
    ++first_lane_[static_cast<size_t>(host_of_lane_.back()) + 1];
  }
  for (size_t host = 1; host < first_lane_.size(); ++host) first_lane_[host] += first_lane_[host - 1];
}

Placement::Ownership Placement::assigned_by_count(int64_t position) const {
  if (position < whole_) {
    const auto [step, slot] = by_batch_.divide(position);
    const auto [host, row] = by_host_rows_.divide(slot);
    return {static_cast<int32_t>(host), step * rows_per_step(host) + row};
  }
  const int64_t tail = order_->size() - whole_, world = options_.hosts.world_size;
  // The tail is assigned as in Schedule: as a whole batch if repeats fill it up, otherwise evenly.
  const int64_t rank =
      options_.pads ? (position - whole_) / options_.batch_size : part_with(position - whole_, tail, world);
  const int64_t host = options_.hosts.of_rank(rank);
  return {static_cast<int32_t>(host),
          whole_ / global_batch_ * rows_per_step(host) + position - whole_ - tail_begin(host)};
}

int64_t Placement::tail_begin(int64_t host) const {
  const int64_t tail = order_->size() - whole_, rank = options_.hosts.first_rank(host);
  return options_.pads ? std::min(rank * options_.batch_size, tail)
                       : equal_part(tail, options_.hosts.world_size, rank).begin;
}

Placement::Ownership Placement::assigned_by_lane(int64_t position) const {
  const auto [row, lane] = by_lanes_.divide(position);
  const auto host = static_cast<size_t>(host_of_lane_[static_cast<size_t>(lane)]);
  const int64_t lanes = first_lane_[host + 1] - first_lane_[host];
  return {static_cast<int32_t>(host), row * lanes + lane - first_lane_[host]};
}

Placement::Ownership Placement::ownership_at(int64_t position) const {
  // The order may be draws, and the first epoch without this sample.
  if (position == order_->size()) return {.position = position};
  if (options_.lanes > 1 && !options_.budgets.empty()) {
    const Order::Range together = order_->read_together(0, position);
    // The last row of a group decides for all of its rows: a group is cached as a whole or not at
    // all.
    position = together.first + together.step * (together.count - 1);
  }
  Ownership ownership = assigned_at(position);
  ownership.position = position;
  if (ownership.index >= budget(ownership.host)) ownership.host = kNoOwner;
  return ownership;
}

Placement::Ownership Placement::ownership(int64_t id) const { return ownership_at(order_->position_of(0, id)); }
int32_t Placement::owner(int64_t id) const { return ownership(id).host; }

void Placement::owners(std::span<const int64_t> ids, std::span<int32_t> owners) const {
  assert(ids.size() == owners.size());
  std::array<int64_t, 256> positions;
  for (size_t begin = 0; begin < ids.size(); begin += positions.size()) {
    const size_t count = std::min(positions.size(), ids.size() - begin);
    order_->positions_of(0, ids.subspan(begin, count), {positions.data(), count});
    for (size_t i = 0; i < count; ++i) owners[begin + i] = ownership_at(positions[i]).host;
  }
}

int64_t Placement::rows_assigned(int64_t host) const {
  if (options_.lanes > 1) {
    const auto h = static_cast<size_t>(host);
    const int64_t longer = order_->size() % options_.lanes;  // lanes with one more row
    const int64_t with_more = std::clamp<int64_t>(longer - first_lane_[h], 0, first_lane_[h + 1] - first_lane_[h]);
    return order_->size() / options_.lanes * (first_lane_[h + 1] - first_lane_[h]) + with_more;
  }
  return whole_ / global_batch_ * rows_per_step(host) + tail_begin(host + 1) - tail_begin(host);
}

int64_t Placement::position_assigned(int64_t host, int64_t index) const {
  if (options_.lanes > 1) {
    const int64_t first = first_lane_[static_cast<size_t>(host)];
    const int64_t lanes = first_lane_[static_cast<size_t>(host) + 1] - first;
    // The inverse of assigned_by_lane(); the code below is the inverse of assigned_by_count().
    return index / lanes * options_.lanes + first + index % lanes;
  }
  const int64_t in_whole = whole_ / global_batch_ * rows_per_step(host);
  if (index < in_whole)
    return index / rows_per_step(host) * global_batch_ + host * host_rows() + index % rows_per_step(host);
  return whole_ + tail_begin(host) + index - in_whole;
}

int64_t Placement::id_assigned(int64_t host, int64_t index) const {
  assert(index >= 0 && index < rows_assigned(host));
  return order_->id_at(0, position_assigned(host, index));
}

int64_t Placement::rows_that_fit(int64_t host, uint64_t bytes,
                                 const std::function<uint64_t(int64_t id)>& size_of) const {
  const int64_t rows = rows_assigned(host);
  // Stops at the first row that does not fit and skips none, because budgets count the first rows.
  for (int64_t index = 0; index < rows; ++index) {
    const uint64_t size = size_of(id_assigned(host, index));
    if (size > bytes) return index;
    bytes -= size;
  }
  return rows;
}

double Placement::share() const {
  if (order_->size() == 0) return 1.0;
  int64_t cached = 0;
  for (int64_t host = 0; host < options_.hosts.count(); ++host) cached += std::min(budget(host), rows_assigned(host));
  return static_cast<double>(cached) / static_cast<double>(order_->size());
}

}  // namespace forebay
