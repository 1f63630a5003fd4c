#include <algorithm>
#include <array>
#include <cassert>
#include <queue>
#include <span>
#include <utility>

#include "plan/equal_part.h"
#include "plan/node.h"
#include "plan/order.h"
#include "plan/placement.h"
#include "plan/sample_home.h"
#include "plan/shard_assignment.h"

// Rows come from *origins*: first the hosts that cache rows, then (with lanes) the hosts that own
// lanes with uncached rows, then one origin for all other rows. A *grant* lets a rank take a number
// of rows of an origin. All grants are computed from counts alone. One pass over the batch then
// assigns rows by them.

namespace forebay {
namespace {

constexpr size_t kRowsAtOnce = 1024;

struct Grant {
  int32_t origin = 0, rank = 0;
  int64_t rows = 0;
};

class RowGranter {
 public:
  // `counts` holds the rows of each origin, and `hosts` the hosts with ranks. `owners` tells
  // whether origins of the second kind exist.
  RowGranter(std::vector<int64_t> counts, const GlobalBatch& batch, const Hosts& hosts, bool owners)
      : left_(std::move(counts)), hosts_(hosts), owners_(owners), world_(batch.world_size),
        lacks_(static_cast<size_t>(batch.world_size)) {
    // As many rows as by count: steps must have the same length on all ranks, whatever hosts cache.
    for (int64_t rank = 0; rank < world_; ++rank) lack(rank) = equal_part(batch.slots, world_, rank).length;
    // A rank has about one grant for each kind of origin.
    grants_.reserve(3 * lacks_.size());
  }

  std::vector<Grant> decide() {
    for (int64_t host = 0; host < hosts_.count(); ++host) grant_own_rows(host, host);
    if (owners_) {
      for (int64_t host = 0; host < hosts_.count(); ++host) grant_own_rows(hosts_.count() + host, host);
    }
    grant_uncached_rows();
    balance();
    return std::move(grants_);
  }

 private:
  int64_t& left(int64_t origin) { return left_[static_cast<size_t>(origin)]; }
  int64_t& lack(int64_t rank) { return lacks_[static_cast<size_t>(rank)]; }

  void grant(int64_t origin, int64_t rank, int64_t rows) {
    if (rows == 0) return;
    grants_.push_back({static_cast<int32_t>(origin), static_cast<int32_t>(rank), rows});
    left(origin) -= rows;
    lack(rank) -= rows;
  }

  // Grants a host's rows to its ranks, divided evenly as far as they lack rows.
  void grant_own_rows(int64_t origin, int64_t host) {
    const int64_t first = hosts_.first_rank(host), ranks = hosts_.ranks(host), rows = left(origin);
    for (int64_t i = 0; i < ranks && rows > 0; ++i)
      grant(origin, first + i, std::min(equal_part(rows, ranks, i).length, lack(first + i)));
    for (int64_t i = 0; i < ranks && left(origin) > 0; ++i)
      // The remainder of the even division, in the order of ranks, so that the result depends on
      // counts alone.
      grant(origin, first + i, std::min(left(origin), lack(first + i)));
  }

  // The largest number that every lacking rank may get, up to its lack, without exceeding `rows` in
  // total.
  int64_t level(int64_t rows) const {
    const int64_t most = *std::max_element(lacks_.begin(), lacks_.end());
    // Counts instead of sorting: lacks are smaller than the batch.
    std::vector<int64_t> lacking(static_cast<size_t>(most) + 1);
    for (const int64_t lack : lacks_) ++lacking[static_cast<size_t>(lack)];
    int64_t above = world_, given = 0;  // ranks that lack more than the level
    for (int64_t level = 0; level < most; ++level) {
      above -= lacking[static_cast<size_t>(level)];
      if (given + above > rows) return level;
      given += above;
    }
    return most;
  }

  // Grants the rows that no host caches, evenly.
  void grant_uncached_rows() {
    const int64_t first = hosts_.count(), end = static_cast<int64_t>(left_.size());
    int64_t rows = 0;
    for (int64_t origin = first; origin < end; ++origin) rows += left(origin);
    if (rows == 0) return;
    const int64_t level = this->level(rows);
    int64_t more = rows;  // beyond the level, one each
    for (const int64_t lack : lacks_) more -= std::min(lack, level);
    int64_t origin = first;
    for (int64_t rank = 0; rank < world_; ++rank) {
      int64_t share = std::min(lack(rank), level);
      if (lack(rank) > share && more > 0) ++share, --more;
      while (share > 0) {
        // Terminates: the shares were cut from exactly these rows.
        while (left(origin) == 0) ++origin;
        const int64_t some = std::min(share, left(origin));
        grant(origin, rank, some);
        share -= some;
      }
    }
  }

  // Moves surplus rows to lacking ranks. Each transfer ends a surplus or a lack, and the last one
  // ends both. A host with a surplus has no rank that lacks rows. So there are at most world_size -
  // 1 transfers.
  void balance() {
    // Rows, and the negated number of the host or rank, so that the lowest number comes first.
    using Entry = std::pair<int64_t, int64_t>;
    std::vector<Entry> surpluses, lacks;
    for (int64_t host = 0; host < hosts_.count(); ++host)
      if (left(host) > 0) surpluses.push_back({left(host), -host});
    if (surpluses.empty()) return;
    for (int64_t rank = 0; rank < world_; ++rank)
      if (lack(rank) > 0) lacks.push_back({lack(rank), -rank});
    std::priority_queue<Entry> most({}, std::move(surpluses)), least({}, std::move(lacks));
    while (!most.empty()) {
      const auto [surplus, host] = most.top();
      const auto [lacking, rank] = least.top();
      most.pop();
      least.pop();
      const int64_t rows = std::min(surplus, lacking);
      grant(-host, -rank, rows);
      if (surplus > rows) most.push({surplus - rows, host});
      if (lacking > rows) least.push({lacking - rows, rank});
    }
  }

  std::vector<int64_t> left_;  // rows of each origin that are not granted
  const Hosts hosts_;
  const bool owners_;
  const int64_t world_;
  std::vector<int64_t> lacks_;  // rows that each rank lacks
  std::vector<Grant> grants_;
};

// Which host caches the sample of each row.
class CachingHosts {
 public:
  virtual ~CachingHosts() = default;
  virtual int64_t ranks_per_host() const = 0;
  virtual int64_t lanes() const { return 1; }
  // The hosts of the rows at begin, begin + 1, …, counted in the batch. Any other number than that
  // of a host means that no host caches the row.
  virtual void hosts(const GlobalBatch& batch, int64_t begin, std::span<int32_t> out) const = 0;
};

class PlacedSamples final : public CachingHosts {
 public:
  PlacedSamples(std::shared_ptr<const Order> order, std::shared_ptr<const Placement> placement)
      : order_(std::move(order)), placement_(std::move(placement)) {}

  int64_t ranks_per_host() const override { return placement_->hosts().ranks_per_host; }
  int64_t lanes() const override { return placement_->lanes(); }
  void hosts(const GlobalBatch& batch, int64_t begin, std::span<int32_t> out) const override {
    std::array<int64_t, kRowsAtOnce> buffer;
    const std::span<int64_t> ids(buffer.data(), out.size());
    order_->ids_at(batch.epoch, batch.position + begin, ids);
    placement_->owners(ids, out);
  }

 private:
  const std::shared_ptr<const Order> order_;
  const std::shared_ptr<const Placement> placement_;
};

class SamplesAtHome final : public CachingHosts {
 public:
  SamplesAtHome(std::shared_ptr<const PlanNode> plan, int64_t ranks_per_host)
      : plan_(std::move(plan)), ranks_per_host_(ranks_per_host) {}

  int64_t ranks_per_host() const override { return ranks_per_host_; }
  void hosts(const GlobalBatch& batch, int64_t begin, std::span<int32_t> out) const override {
    std::array<Draw, kRowsAtOnce> buffer;
    const std::span<Draw> draws(buffer.data(), out.size());
    plan_->draws(batch.epoch, batch.position + begin, draws);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int32_t>(home_of(draws[i].index, batch.world_size) / ranks_per_host_);
  }

 private:
  const std::shared_ptr<const PlanNode> plan_;
  const int64_t ranks_per_host_;
};

class AssignmentByLocality final : public ShardAssignment {
 public:
  explicit AssignmentByLocality(std::unique_ptr<const CachingHosts> caching) : caching_(std::move(caching)) {}

  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    AssignedBatch assigned;
    all(batch, &assigned);
    const auto mine = assigned.of(rank);
    out->assign(mine.begin(), mine.end());
  }

  void all(const GlobalBatch& batch, AssignedBatch* out) const override {
    const Hosts hosts{batch.world_size, caching_->ranks_per_host()};
    const bool owners = caching_->lanes() > 1;
    const int64_t origins = hosts.count() * (owners ? 2 : 1) + 1;
    const std::vector<int32_t> origin_of = origins_of(batch, hosts);
    std::vector<int64_t> counts(static_cast<size_t>(origins));
    for (const int32_t origin : origin_of) ++counts[static_cast<size_t>(origin)];
    counts.back() += batch.slots - batch.samples;  // no host caches a repeat
    hand_out(batch, origin_of, by_origin(RowGranter(std::move(counts), batch, hosts, owners).decide(), origins), out);
  }

 private:
  std::vector<int32_t> origins_of(const GlobalBatch& batch, const Hosts& hosts) const {
    const auto samples = static_cast<size_t>(batch.samples);
    std::vector<int32_t> origins(samples);
    for (size_t i = 0; i < samples; i += kRowsAtOnce) {
      const size_t some = std::min(kRowsAtOnce, samples - i);
      caching_->hosts(batch, static_cast<int64_t>(i), std::span(origins).subspan(i, some));
    }
    const auto count = static_cast<int32_t>(hosts.count());
    const int64_t lanes = caching_->lanes();
    if (lanes == 1) {
      for (int32_t& origin : origins) origin = origin < 0 || origin >= count ? count : origin;
      return origins;
    }
    std::vector<int32_t> owner;
    for (int64_t lane = 0; lane < lanes; ++lane)
      owner.push_back(static_cast<int32_t>(hosts.of_rank(owner_of_lane(lane, lanes, batch.world_size))));
    for (size_t i = 0; i < samples; ++i) {
      const int64_t lane = (batch.position + static_cast<int64_t>(i)) % lanes;
      if (origins[i] < 0 || origins[i] >= count) origins[i] = count + owner[static_cast<size_t>(lane)];
    }
    return origins;
  }

  // Sorts grants by origin. An origin without grants begins where the next one does.
  static std::pair<std::vector<Grant>, std::vector<size_t>> by_origin(const std::vector<Grant>& grants,
                                                                      int64_t origins) {
    std::vector<size_t> begins(static_cast<size_t>(origins) + 1);
    for (const Grant& grant : grants) ++begins[static_cast<size_t>(grant.origin) + 1];
    for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    std::vector<Grant> sorted(grants.size());
    std::vector<size_t> next(begins.begin(), begins.end() - 1);
    for (const Grant& grant : grants) sorted[next[static_cast<size_t>(grant.origin)]++] = grant;
    return {std::move(sorted), std::move(begins)};
  }

  static void hand_out(const GlobalBatch& batch, const std::vector<int32_t>& origin_of,
                       std::pair<std::vector<Grant>, std::vector<size_t>> granted, AssignedBatch* out) {
    auto& [grants, current] = granted;
    out->begins.clear();
    for (int64_t rank = 0; rank < batch.world_size; ++rank)
      out->begins.push_back(equal_part(batch.slots, batch.world_size, rank).begin);
    out->begins.push_back(batch.slots);
    std::vector<int64_t> next(out->begins.begin(), out->begins.end() - 1);
    out->slots.resize(static_cast<size_t>(batch.slots));
    // The current grant of each origin; a copy, which saves one look-up per row.
    std::vector<Grant> open(current.size());
    const auto give = [&](size_t origin, int64_t slot) {
      Grant& grant = open[origin];
      // Stays within the origin's grants: their rows add up to the rows of the origin.
      if (grant.rows == 0) grant = grants[current[origin]++];
      --grant.rows;
      out->slots[static_cast<size_t>(next[static_cast<size_t>(grant.rank)]++)] = slot;
    };
    for (size_t slot = 0; slot < origin_of.size(); ++slot)
      give(static_cast<size_t>(origin_of[slot]), static_cast<int64_t>(slot));
    for (int64_t slot = batch.samples; slot < batch.slots; ++slot) give(current.size() - 2, slot);
  }

  const std::unique_ptr<const CachingHosts> caching_;
};

}  // namespace

std::shared_ptr<const ShardAssignment> assignment_by_locality(std::shared_ptr<const Order> order,
                                                              std::shared_ptr<const Placement> placement) {
  return std::make_shared<const AssignmentByLocality>(
      std::make_unique<PlacedSamples>(std::move(order), std::move(placement)));
}

std::shared_ptr<const ShardAssignment> assignment_by_home(std::shared_ptr<const PlanNode> plan,
                                                          int64_t ranks_per_host) {
  return std::make_shared<const AssignmentByLocality>(std::make_unique<SamplesAtHome>(std::move(plan), ranks_per_host));
}

}  // namespace forebay
