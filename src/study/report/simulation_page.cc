#include <string>
#include <utility>

#include <fmt/format.h>

#include "study/blame.h"
#include "study/report/pages.h"

namespace forebay {

namespace {

Section epochs_section(const Simulation& simulation) {
  Bars chart{"Seconds of a later epoch; the upright line is what arithmetic says of the assignment by locality", {}};
  chart.mark = simulation.model.seconds();
  for (const SimulatedRun& run : simulation.runs)
    chart.bars.push_back({run.policy, run.steady().seconds, format_figure(run.steady().seconds, PlotUnit::kSeconds)});
  Table table{"",
              {"way", "epoch", "time", "waited", "storage", "peers", "disk", "memory", "moved", "uneven", "worst step"},
              {}};
  for (const SimulatedRun& run : simulation.runs) {
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
  return {"Epochs", {std::move(chart), std::move(table)}};
}

Section model_section(const Simulation& simulation) {
  Bars chart{"Seconds that each part needs by itself, by arithmetic", {}};
  const AnalyticalModel& m = simulation.model;
  for (const auto& [name, seconds] :
       {std::pair{"training", m.train}, {"storage", m.storage}, {"peers", m.peers}, {"preparing", m.prepare}})
    chart.bars.push_back({name, seconds, format_figure(seconds, PlotUnit::kSeconds)});
  return {"By arithmetic",
          {Paragraph{"An epoch takes the longer of training, and of storage, peers and preparing together."},
           std::move(chart)}};
}

Section changes_section(const Simulation& simulation) {
  Bars chart{"Times as fast a later epoch would be", {}};
  chart.mark = 1;
  for (const SimulatedChange& change : simulation.changes)
    chart.bars.push_back({change.change, change.gain, fmt::format("{:.2f} x", change.gain)});
  return {"Other machines", {std::move(chart)}};
}

}  // namespace

Page simulation_page(const Simulation& simulation, const std::string& subject) {
  const SimulatedEpoch& later = simulation.local().steady();
  Page page{.title = "forebay simulate", .subject = subject};
  page.finding = later.seconds > 0
                     ? fmt::format("A later epoch takes {}, {:.1f} times as fast as reading all from storage.",
                                   format_figure(later.seconds, PlotUnit::kSeconds), simulation.gain())
                     : "A later epoch waits for nothing; how fast ranks and their preparing are was not said (--train, "
                       "--prepare).";
  if (!simulation.changes.empty() && simulation.changes.front().gain > kWorthIt)
    page.action = fmt::format("What would help most: {} ({:.2f} x).", simulation.changes.front().change,
                              simulation.changes.front().gain);
  page.footnote =
      "Virtual time: the plan's own order, shard assignment and placement over modelled hosts, links and storage.";
  // simulate() has completed the options, so sample_bytes is set.
  page.facts = {{"hosts", fmt::format("{}", simulation.options.hosts),
                 fmt::format("{} ranks each", simulation.options.ranks_per_host)},
                {"samples", fmt::format("{}", simulation.options.samples),
                 format_figure(*simulation.options.sample_bytes, PlotUnit::kBytes) + " each"},
                {"from storage", format_figure(later.storage_bytes, PlotUnit::kBytes), "a later epoch"},
                {"moved", format_figure(later.moved, PlotUnit::kShare), "of the rows"}};
  page.sections = {epochs_section(simulation), changes_section(simulation), model_section(simulation)};
  return page;
}

}  // namespace forebay
