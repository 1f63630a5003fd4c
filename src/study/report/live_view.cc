#include "study/report/live_view.h"

#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "study/report/pages.h"
#include "telemetry/ledger_since.h"

namespace forebay {

namespace {

constexpr double kWindowSeconds = 10;          // the time that "now" is about
constexpr double kLeastIntervalSeconds = 0.5;  // snapshots come from requests, which may be many

double ratio(double part, double all) { return all > 0 ? part / all : 0; }

std::string figure(double value, PlotUnit unit) { return format_figure(value, unit); }

Fact speed_fact(const Ledger& now, const Ledger& whole) {
  const auto rate = [](const Ledger& ledger) {
    return ratio(static_cast<double>(ledger.samples), ledger.elapsed_seconds);
  };
  return {"speed", fmt::format("{:.0f} samples/s", rate(now)),
          fmt::format("since the beginning {:.0f}, {} samples", rate(whole), whole.samples)};
}

Fact wait_fact(const Ledger& now, const Ledger& whole) {
  const auto share = [](const Ledger& ledger) {
    return figure(ratio(ledger.consumer_wait_seconds, ledger.elapsed_seconds), PlotUnit::kShare);
  };
  return {"waited for batches", share(now), "since the beginning " + share(whole)};
}

Fact threads_fact(const Ledger& now) {
  const ThreadStats& time = now.thread_time;
  const double busy = time.rows + time.row_groups + time.assembly + time.plan + time.engine;
  return {"compute threads", fmt::format("{}", now.threads),
          "at work " + figure(ratio(busy, busy + time.idle), PlotUnit::kShare)};
}

Fact requests_fact(const Ledger& now) {
  if (now.stores.empty()) return {"requests in flight", "-", ""};
  const StoreStats& store = now.stores.front();
  const std::string latency =
      store.waited > 0 ? ", " + figure(store.seconds / static_cast<double>(store.waited), PlotUnit::kSeconds) + " each"
                       : "";
  return {"requests in flight", fmt::format("{} of {}", store.in_flight, now.requests),
          figure(ratio(static_cast<double>(store.bytes), now.elapsed_seconds), PlotUnit::kBytesPerSecond) + latency};
}

Fact memory_fact(const Ledger& now) {
  return {"memory", figure(static_cast<double>(now.memory_used), PlotUnit::kBytes),
          "of " + figure(static_cast<double>(now.memory_budget), PlotUnit::kBytes)};
}

}  // namespace

LiveView::LiveView(std::string subject) : subject_(std::move(subject)) {}

void LiveView::record(double now_seconds, const Ledger& ledger) {
  if (history_.due(now_seconds)) history_.record(now_seconds, ledger);
  if (!snapshots_.empty() && now_seconds - snapshots_.back().at < kLeastIntervalSeconds) return;
  snapshots_.push_back({now_seconds, std::make_shared<const Ledger>(ledger)});
  // One snapshot stays that is at least as old as the window.
  while (snapshots_.size() > 2 && now_seconds - snapshots_[1].at >= kWindowSeconds) snapshots_.pop_front();
}

Page LiveView::page(double now_seconds, const Ledger& ledger) {
  record(now_seconds, ledger);
  // The first snapshot has none to compare it with, so it shows the time since the beginning.
  const bool first = snapshots_.size() == 1;
  const Ledger now = first ? ledger : ledger_since(*snapshots_.front().ledger, ledger);
  Page page = run_page(now, history_, subject_);
  page.title = first || now.elapsed_seconds <= 0
                   ? "Forebay, live"
                   : fmt::format("Forebay, live: the last {}", figure(now.elapsed_seconds, PlotUnit::kSeconds));
  page.facts = {speed_fact(now, ledger), wait_fact(now, ledger), threads_fact(now), requests_fact(now),
                memory_fact(now)};
  if (ledger.errors > 0)
    page.facts.push_back({"errors", fmt::format("{}", ledger.errors), "bad samples; errors() names them"});
  return page;
}

}  // namespace forebay
