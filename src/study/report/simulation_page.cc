#include <string>
#include <utility>

#include <fmt/format.h>

#include "study/report/pages.h"

namespace forebay {

namespace {

Section epochs_section(const Simulation& found) {
  Bars bars{"Seconds of a later epoch; the upright line is what arithmetic says of the local deal", {}};
  bars.mark = found.model.seconds();
  for (const SimulatedRun& run : found.runs)
    bars.bars.push_back({run.policy, run.steady().seconds, format_figure(run.steady().seconds, PlotUnit::kSeconds)});
  Table table{"",
              {"way", "epoch", "time", "waited", "storage", "peers", "disk", "memory", "moved", "uneven", "worst step"},
              {}};
  for (const SimulatedRun& run : found.runs) {
    for (size_t epoch = 0; epoch < run.epochs.size(); ++epoch) {
      const SimulatedEpoch& e = run.epochs[epoch];
      table.rows.push_back(
          {run.policy, fmt::format("{}", epoch), format_figure(e.seconds, PlotUnit::kSeconds),
           format_figure(e.wait_seconds, PlotUnit::kSeconds), format_figure(e.storage_bytes, PlotUnit::kBytes),
           format_figure(e.peer_bytes, PlotUnit::kBytes), format_figure(e.disk_bytes, PlotUnit::kBytes),
           format_figure(e.ram_bytes, PlotUnit::kBytes), format_figure(e.moved, PlotUnit::kShare),
           fmt::format("{:.2f}", e.imbalance), fmt::format("{:.2f}", e.imbalance_high)});
    }
  }
  return {"Epochs", {std::move(bars), std::move(table)}};
}

Section model_section(const Simulation& found) {
  Bars bars{"Seconds that each part needs by itself, by arithmetic", {}};
  const AnalyticalModel& m = found.model;
  for (const auto& [name, seconds] :
       {std::pair{"training", m.train}, {"storage", m.storage}, {"peers", m.peers}, {"preparing", m.prepare}})
    bars.bars.push_back({name, seconds, format_figure(seconds, PlotUnit::kSeconds)});
  return {"By arithmetic",
          {Paragraph{"An epoch takes the longer of training, and of storage, peers and preparing together."},
           std::move(bars)}};
}

Section changes_section(const Simulation& found) {
  Bars bars{"Times as fast a later epoch would be", {}};
  bars.mark = 1;
  for (const SimulatedChange& change : found.changes)
    bars.bars.push_back({change.change, change.gain, fmt::format("{:.2f} x", change.gain)});
  return {"Other machines", {std::move(bars)}};
}

}  // namespace

Page simulation_page(const Simulation& found, const std::string& subject) {
  const SimulatedEpoch& later = found.local().steady();
  Page page{.title = "forebay simulate", .subject = subject};
  page.finding = later.seconds > 0
                     ? fmt::format("A later epoch takes {}, {:.1f} times as fast as reading all from storage.",
                                   format_figure(later.seconds, PlotUnit::kSeconds), found.gain())
                     : "A later epoch waits for nothing; how fast ranks and their preparing are was not said (--train, "
                       "--prepare).";
  if (!found.changes.empty() && found.changes.front().gain > 1.05)
    page.action =
        fmt::format("What would help most: {} ({:.2f} x).", found.changes.front().change, found.changes.front().gain);
  page.footnote = "Virtual time: the plan's own order, deal and placement over modelled hosts, links and storage.";
  page.facts = {
      {"hosts", fmt::format("{}", found.options.hosts), fmt::format("{} ranks each", found.options.ranks_per_host)},
      {"samples", fmt::format("{}", found.options.samples),
       format_figure(*found.options.sample_bytes, PlotUnit::kBytes) + " each"},
      {"from storage", format_figure(later.storage_bytes, PlotUnit::kBytes), "a later epoch"},
      {"moved", format_figure(later.moved, PlotUnit::kShare), "of the rows"}};
  page.sections = {epochs_section(found), changes_section(found), model_section(found)};
  return page;
}

}  // namespace forebay
