#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "forebay/materialize.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Counts what a materialization has written. Reports it after each shard, and in between at most
/// every 0.2 seconds. The time begins with the object. One thread.
class ProgressReporter {
 public:
  using Report = std::function<void(const MaterializeProgress&)>;

  /// Without `report` it only counts.
  explicit ProgressReporter(Report report) : report_(std::move(report)) {}

  /// Sets the numbers of samples and shards in all, and of shards that exist already.
  void set_job(const MaterializeProgress& job) { progress_ = job; }
  void add_samples(int64_t samples) {
    progress_.samples_done += samples;
    if (seconds() - reported_at_ >= kMinInterval) report();
  }
  void add_shard(const StoredShard& shard) {
    ++progress_.shards_done;
    progress_.bytes += shard.bytes;
    report();
  }

  int64_t samples_done() const { return progress_.samples_done; }
  double seconds() const { return static_cast<double>(monotonic_ns() - start_ns_) * 1e-9; }

 private:
  static constexpr double kMinInterval = 0.2;  ///< seconds

  void report() {
    reported_at_ = progress_.seconds = seconds();
    if (report_) report_(progress_);
  }

  const Report report_;
  const int64_t start_ns_ = monotonic_ns();
  MaterializeProgress progress_;
  double reported_at_ = 0;  ///< seconds since the start
};

}  // namespace forebay
