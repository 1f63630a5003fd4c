#include "study/filling.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "forebay/ledger.h"

namespace forebay {

namespace {

constexpr auto kArrivalInterval = std::chrono::milliseconds(20);  // for entries still being written
constexpr size_t kGroupsOfALongPass = 8;
constexpr int kQuietChecks = 5, kMaxArrivalChecks = 250;

uint64_t entries_in(const CacheStats& cache) { return cache.ram.entries + cache.disk.entries; }
uint64_t bytes_in(const CacheStats& cache) { return cache.ram.bytes + cache.disk.bytes; }

/// Entries that arrive in a cache, from one look to the next.
class Arrivals {
 public:
  Arrivals(const Loader& loader, std::vector<Group>& bytes) : loader_(loader), bytes_(bytes) {}

  void look() {
    const Ledger ledger = loader_.stats();
    if (ledger.caches.empty()) return;
    const CacheStats& now = ledger.caches.front();
    // Entries arrive later than their batch, several at a time: each arrival is a group.
    if (entries_in(now) > entries_in(seen_))
      bytes_.push_back({static_cast<double>(entries_in(now) - entries_in(seen_)),
                        static_cast<double>(bytes_in(now)) - static_cast<double>(bytes_in(seen_))});
    seen_ = now;
  }
  const CacheStats& seen() const { return seen_; }

 private:
  const Loader& loader_;
  std::vector<Group>& bytes_;
  CacheStats seen_;
};

// Waits until no more entries arrive.
Status wait_for_entries(Arrivals& arrivals, const TrialContext& context) {
  for (int looks = 0, same = 0; looks < kMaxArrivalChecks && same < kQuietChecks; ++looks) {
    const uint64_t before = entries_in(arrivals.seen());
    if (context.stop.stop_requested()) return cancelled("stopped");
    if (context.poll) context.poll();
    std::this_thread::sleep_for(kArrivalInterval);
    arrivals.look();
    same = entries_in(arrivals.seen()) == before ? same + 1 : 0;
  }
  return {};
}

}  // namespace

Estimate seconds_to_make(std::span<const Group> seen, double samples) {
  if (seen.size() < kGroupsOfALongPass) return times(ratio_of(seen), samples);
  Group before;
  for (const Group& group : seen.first(seen.size() / 2)) before.units += group.units, before.sum += group.sum;
  Estimate seconds = times(ratio_of(seen.subspan(seen.size() / 2)), std::max(samples - before.units, 0.0));
  for (std::optional<double>* bound : {&seconds.low, &seconds.high})
    if (*bound) **bound += before.sum;
  seconds.value += before.sum;
  return seconds;
}

Result<Filling> fill_what_fits(Loader& loader, const TrialContext& context) {
  Filling filling;
  int64_t before_ns = monotonic_ns();
  Arrivals arrivals(loader, filling.bytes);
  FOREBAY_RETURN_IF_ERROR(pass_epoch(loader, context, [&](const Batch& batch) {
    const int64_t now_ns = monotonic_ns();
    filling.seconds.push_back(
        {static_cast<double>(batch.size() - batch.padding), static_cast<double>(now_ns - before_ns) * 1e-9});
    before_ns = now_ns;
    arrivals.look();
  }));
  FOREBAY_RETURN_IF_ERROR(wait_for_entries(arrivals, context));
  const CacheStats& seen = arrivals.seen();
  filling.entries = entries_in(seen);
  filling.entry_bytes = bytes_in(seen);
  filling.declined = seen.ram.declined + seen.disk.declined;
  if (filling.entries + filling.declined == 0)
    return invalid_argument("nothing is kept there: what comes before it is in memory already");
  return filling;
}

Result<Filling> fill(Loader& loader, const TrialContext& context, uint64_t most_bytes) {
  FOREBAY_ASSIGN(Filling filling, fill_what_fits(loader, context));
  // A partial cache would be measured as if it were complete, so it is an error.
  if (filling.declined > 0) return out_of_budget("so many samples do not fit into what is tried with", most_bytes);
  return filling;
}

}  // namespace forebay
