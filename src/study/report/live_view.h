#pragma once

#include <deque>
#include <memory>
#include <string>

#include "page/page.h"
#include "study/report/run_history.h"

namespace forebay {

struct Ledger;

/// The page of a running loader: figures of the last seconds, and curves of the last minutes. It is
/// the page of a report over that time, with both speeds at its top. It holds a bounded number of
/// snapshots. Not thread-safe.
class LiveView {
 public:
  /// `subject` names the loader.
  explicit LiveView(std::string subject);

  /// Returns the page for a snapshot of the loader's counters. Calls come in the order of
  /// `now_seconds`, which is from any monotonic clock.
  Page page(double now_seconds, const Ledger& ledger);

 private:
  struct Snapshot {
    double at = 0;
    std::shared_ptr<const Ledger> ledger;
  };
  void record(double now_seconds, const Ledger& ledger);

  std::string subject_;
  std::deque<Snapshot> snapshots_;  // the oldest first
  RunHistory history_{RunHistory::Span::kLastMinutes};
};

}  // namespace forebay
