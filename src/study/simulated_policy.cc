#include "study/simulated_policy.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "plan/hosts.h"
#include "plan/order.h"
#include "plan/permutation.h"
#include "study/simulated_steps.h"
#include "study/virtual_cluster.h"

namespace forebay {

namespace {

constexpr int64_t kClairvoyantEpochs = 90;  // epochs of a training run with a known future

// Returns a number in [0, 1).
double unit_uniform(uint64_t number) { return static_cast<double>(PermutationKey::mix(number) >> 11) * 0x1p-53; }

// Inverts the normal distribution by bisection, which is fast enough for a few thousand values.
double normal_quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

const char* name_of(SimulatedPolicy policy) {
  switch (policy) {
    case SimulatedPolicy::kLocal: return "local";
    case SimulatedPolicy::kCount: return "count";
    case SimulatedPolicy::kRegular: return "regular";
    case SimulatedPolicy::kClairvoyant: break;
  }
  return "clairvoyant";
}

// The rows after which no further step is gone through: those of whole steps, at least of one.
int64_t rows_gone_through(const SimulationOptions& options) {
  const int64_t a_step = *options.batch_size * options.hosts * options.ranks_per_host;
  return std::min(std::max<int64_t>(options.most_rows / a_step, 1) * a_step, options.samples);
}

// One run of a policy: takes the steps of the plan through a VirtualCluster.
class VirtualRun {
 public:
  VirtualRun(SimulatedPolicy policy, const SimulationOptions& options, const SimulatedParts* parts)
      : policy_(policy), options_(options), hosts_{options.hosts * options.ranks_per_host, options.ranks_per_host},
        fits_(rows_that_fit(options)), parts_(parts), order_(order_of(options, parts)),
        steps_(steps_of(policy, options, parts)), cluster_(options) {
    if (parts == nullptr) sizes_.emplace_back(*options.sample_bytes, options.spread, options.seed);
    for (size_t i = 0; parts != nullptr && i < parts->sizes.size(); ++i)
      sizes_.emplace_back(parts->sizes[i].mean, parts->sizes[i].spread, options.seed);
    const auto samples = static_cast<double>(options.samples);
    const double a_host = std::min(1.0, static_cast<double>(fits_.in_all) / samples);
    own_cache_share_ = clairvoyant_hits(a_host, options.hosts, kClairvoyantEpochs);
    uncached_share_ = std::max(0.0, 1 - a_host * static_cast<double>(options.hosts));
    ram_share_ = fits_.in_all > 0 ? static_cast<double>(fits_.in_ram) / static_cast<double>(fits_.in_all) : 0;
    const auto own = static_cast<double>(steps_->rows_of_host(0));
    spare_rows_ = std::max(0.0, static_cast<double>(fits_.in_ram) - own);
    remote_rows_ = samples - own;
  }

  SimulatedRun run() {
    SimulatedRun run{name_of(policy_), {}};
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) run.epochs.push_back(run_epoch(epoch));
    return run;
  }

 private:
  static std::shared_ptr<const Order> order_of(const SimulationOptions& options, const SimulatedParts* parts) {
    if (parts != nullptr) return parts->order;
    return shuffled_order(options.samples, options.seed);
  }

  std::unique_ptr<SimulatedSteps> steps_of(SimulatedPolicy policy, const SimulationOptions& options,
                                           const SimulatedParts* parts) const {
    if (parts != nullptr && parts->like_lengths)
      return like_length_steps(options, order_, fits_.in_all, parts->like_lengths);
    return equal_steps(options, order_, fits_.in_all,
                       policy == SimulatedPolicy::kLocal ? Dividing::kByLocality : Dividing::kByCount);
  }

  SimulatedEpoch run_epoch(int64_t epoch) {
    int64_t position = 0, transfers = 0;
    // Rows that came from peers stay in free memory.
    const double received = from_peers_ / share_gone_through(options_) / static_cast<double>(options_.hosts);
    copied_share_ = remote_rows_ > 0 ? std::min(spare_rows_, received) / remote_rows_ : 0;
    while (position < rows_gone_through(options_)) {
      options_.poll();
      const Order::Use at{epoch, std::exchange(position, steps_->next_position({epoch, position}))};
      transfers = std::max(transfers, take_step(at, position - at.position));
    }
    SimulatedEpoch done = cluster_.finish_epoch();
    done.transfers = transfers;
    const double scale = static_cast<double>(options_.samples) / static_cast<double>(position);
    for (double* figure :
         {&done.seconds, &done.wait_seconds, &done.ram_bytes, &done.disk_bytes, &done.peer_bytes, &done.storage_bytes})
      *figure *= scale;
    return done;
  }

  // Returns the number of pairs of host and rank between which rows moved.
  int64_t take_step(const Order::Use& at, int64_t samples) {
    steps_->divide(at, &assigned_);
    ids_.resize(static_cast<size_t>(samples));
    order_->ids_at(at.epoch, at.position, ids_);
    int64_t transfers = 0;
    for (int64_t rank = 0; rank < hosts_.world_size; ++rank) {
      peers_.clear();
      for (const int64_t slot : assigned_.of(rank))
        if (slot < samples) place_row(at.epoch, ids_[static_cast<size_t>(slot)], hosts_.of_rank(rank));
      std::sort(peers_.begin(), peers_.end());
      transfers += std::unique(peers_.begin(), peers_.end()) - peers_.begin();
    }
    cluster_.take_step(static_cast<double>(assigned_.slots.size()) / static_cast<double>(hosts_.world_size));
    return transfers;
  }

  void from_peer(int64_t peer, int64_t host, double bytes) {
    peers_.push_back(peer);
    ++from_peers_;
    cluster_.from_peer(peer, host, bytes);
  }

  void place_row(int64_t epoch, int64_t id, int64_t host) {
    const double bytes = sizes_[parts_ != nullptr ? parts_->leaf_of(id) : 0].of(id);
    // In the first epoch all caches are empty; the regular policy has no caches.
    if (epoch == 0 || policy_ == SimulatedPolicy::kRegular) return cluster_.from_storage(host, bytes);
    if (policy_ == SimulatedPolicy::kClairvoyant) return place_clairvoyant_row(epoch, id, host, bytes);
    const Placement::Ownership kept = steps_->owner(id);
    if (kept.host == Placement::kNoOwner) return cluster_.from_storage(host, bytes);
    if (kept.host != host) {
      const double drawn = unit_uniform(static_cast<uint64_t>(id * options_.hosts + host));
      return drawn < copied_share_ ? cluster_.from_ram(host, bytes) : from_peer(kept.host, host, bytes);
    }
    // The placement numbers the rows of a host: the first ones are in memory, the others on disk.
    kept.index < fits_.in_ram ? cluster_.from_ram(host, bytes) : cluster_.from_disk(host, bytes);
  }

  // Draws by shares, since the most needed samples differ from host to host.
  void place_clairvoyant_row(int64_t epoch, int64_t id, int64_t host, double bytes) {
    // The golden ratio in 64 bits, an odd number, spreads neighbouring ids and epochs.
    const uint64_t number = static_cast<uint64_t>(id) * 0x9E3779B97F4A7C15 + static_cast<uint64_t>(epoch);
    const double drawn = unit_uniform(number);
    if (drawn < uncached_share_) return cluster_.from_storage(host, bytes);
    if (drawn >= uncached_share_ + own_cache_share_ && options_.hosts > 1) {
      const auto other = static_cast<int64_t>(unit_uniform(number + 1) * static_cast<double>(options_.hosts - 1));
      // Drawn from all hosts but this one: numbers from its own on move up by one.
      return from_peer(other < host ? other : other + 1, host, bytes);
    }
    unit_uniform(number + 2) < ram_share_ ? cluster_.from_ram(host, bytes) : cluster_.from_disk(host, bytes);
  }

  const SimulatedPolicy policy_;
  const SimulationOptions& options_;
  const Hosts hosts_;
  const RowsThatFit fits_;
  const SimulatedParts* const parts_;
  const std::shared_ptr<const Order> order_;
  const std::unique_ptr<SimulatedSteps> steps_;
  std::vector<DrawnSizes> sizes_;  // by data set
  double own_cache_share_ = 0, uncached_share_ = 0, ram_share_ = 0;
  double spare_rows_ = 0, remote_rows_ = 0;  // rows that fit in addition to own ones; rows of other hosts
  double from_peers_ = 0;                    // rows, over all hosts
  double copied_share_ = 0;                  // share of other hosts' rows of which a host has a copy
  VirtualCluster cluster_;
  AssignedBatch assigned_;
  std::vector<int64_t> ids_, peers_;
};

}  // namespace

size_t SimulatedParts::leaf_of(int64_t id) const {
  // Empty leaves have the id of the next one as their begin.
  return static_cast<size_t>(std::ranges::upper_bound(begins, id) - begins.begin()) - 1;
}

DrawnSizes::DrawnSizes(double mean, double spread, uint64_t seed) : quantiles_(4096), seed_(seed) {
  double sum = 0;
  for (size_t i = 0; i < quantiles_.size(); ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles_.size());
    // A table of the middles of strata of equal weight, since erfc for each row would take too
    // long.
    sum += quantiles_[i] = std::exp(spread * normal_quantile(p));
  }
  // Scaled to the exact mean, since the mean of finitely many strata is slightly too low.
  for (double& size : quantiles_) size *= mean * static_cast<double>(quantiles_.size()) / sum;
}

double DrawnSizes::of(int64_t id) const {
  return quantiles_[PermutationKey::mix(static_cast<uint64_t>(id) + seed_ * 0x9E3779B97F4A7C15) % quantiles_.size()];
}

RowsThatFit rows_that_fit(const SimulationOptions& options) {
  const auto rows = [&](double bytes) { return static_cast<int64_t>(std::min(bytes / *options.sample_bytes, 1e15)); };
  const auto ram = static_cast<double>(options.ram_bytes);
  return {rows(ram), rows(ram + static_cast<double>(options.disk_bytes))};
}

double clairvoyant_hits(double share_a_host, int64_t hosts, int64_t epochs) {
  if (share_a_host >= 1) return 1;
  // Number of times that a host needs a sample, on average.
  const double mean = static_cast<double>(epochs) / static_cast<double>(hosts);
  // Goes through the samples by how often they are needed, the most often first.
  double room = share_a_host, hits = 0;
  for (int64_t times = epochs; times > 0 && room > 0; --times) {
    const auto k = static_cast<double>(times);
    // Poisson share of samples that are needed that often, by logarithms so that nothing overflows.
    const double share = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
    const double kept = std::min(share, room);
    hits += kept * k / mean;
    room -= kept;
  }
  return std::min(1.0, hits);
}

SimulatedRun run_virtually(SimulatedPolicy policy, const SimulationOptions& options, const SimulatedParts* parts) {
  return VirtualRun(policy, options, parts).run();
}

double share_gone_through(const SimulationOptions& options) {
  return static_cast<double>(rows_gone_through(options)) / static_cast<double>(options.samples);
}

}  // namespace forebay
