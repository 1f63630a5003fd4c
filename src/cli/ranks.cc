#include "cli/ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "runtime/host.h"
#include "telemetry/step_counters.h"

namespace forebay {

Result<std::unique_ptr<Ranks>> Ranks::open(const Pipeline& pipeline, LoaderOptions options, int count,
                                           std::stop_token stop) {
  // Each loader would otherwise take all cores and its share of all memory.
  if (!options.resources.threads && count > 1) options.resources.threads = std::max(1, usable_cores() / count);
  options.job.world_size = count;
  options.stop = stop;
  std::unique_ptr<Ranks> ranks(new Ranks);
  for (int rank = 0; rank < count; ++rank) {
    if (stop.stop_requested()) return cancelled("interrupted");
    options.job.rank = rank;
    options.log_warnings = rank == 0;  // every rank finds the same warnings
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, options));
    ranks->loaders_.push_back(std::move(loader));
  }
  ranks->stop_ = stop;
  // next() has no stop token. close() ends its wait.
  ranks->on_stop_.emplace(stop, [all = ranks.get()] { all->close(); });
  return ranks;
}

void Ranks::close() {
  for (auto& loader : loaders_) loader->close();
}

struct Ranks::Running {
  EpochResult result;
  EpochDigest digest;
};

Result<bool> Ranks::step(const Observer& observer, Running& running) {
  bool more = false;
  std::vector<Batch> batches;
  for (size_t rank = 0; rank < loaders_.size(); ++rank) {
    // One thread calls the ranks in turn, because the digest needs the batches of a step in order.
    auto next = loaders_[rank]->next();
    // The stop closes the loader, whose own error is less clear than this one.
    if (stop_.stop_requested()) return cancelled("interrupted");
    FOREBAY_ASSIGN(const std::optional<Batch> batch, std::move(next));
    if (rank == 0) more = batch.has_value();
    // A trainer of several processes would hang here in a collective operation.
    if (batch.has_value() != more) {
      return internal_error(fmt::format("rank {} has another number of steps than rank 0", rank));
    }
    if (!more) continue;
    ++running.result.batches;
    observer.batch(*batch);
    batches.push_back(*batch);
  }
  std::vector<const Batch*> step;
  for (const Batch& batch : batches) step.push_back(&batch);
  running.digest.add(step);
  return more;
}

Result<EpochResult> Ranks::run_epoch(const Observer& observer) {
  Running running;
  running.result.epoch = first().epoch();
  const int64_t begin_ns = monotonic_ns();
  while (true) {
    FOREBAY_ASSIGN(const bool more, step(observer, running));
    if (!more) break;
    FOREBAY_RETURN_IF_ERROR(observer.step());
  }
  EpochResult result = running.result;
  result.seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  result.samples = running.digest.samples();
  result.digest = running.digest.to_string();
  return result;
}

Status Ranks::load_state(const std::string& json) {
  for (auto& loader : loaders_) FOREBAY_RETURN_IF_ERROR(loader->load_state(json));
  return {};
}

uint64_t Ranks::memory_budget() const {
  uint64_t bytes = 0;
  for (const auto& loader : loaders_) bytes += loader->stats().memory_budget;
  return bytes;
}

uint64_t Ranks::memory_peak() const {
  uint64_t bytes = 0;
  for (const auto& loader : loaders_) bytes += loader->stats().memory_peak;
  return bytes;
}

std::vector<Ledger> Ranks::stats() const {
  std::vector<Ledger> ledgers;
  for (const auto& loader : loaders_) ledgers.push_back(loader->stats());
  return ledgers;
}

std::vector<ErrorEntry> Ranks::errors() const {
  std::map<std::pair<int64_t, std::string>, ErrorEntry> all;
  for (const auto& loader : loaders_) {
    for (ErrorEntry& entry : loader->errors()) {
      const auto [known, is_new] = all.try_emplace({entry.sample, entry.op}, entry);
      // A sample may fail on several ranks, for example as padding or under another shard
      // assignment. It is listed once, with the sum of the counts.
      if (!is_new) known->second.count += entry.count;
    }
  }
  std::vector<ErrorEntry> list;
  for (auto& [key, entry] : all) list.push_back(std::move(entry));
  return list;
}

}  // namespace forebay
