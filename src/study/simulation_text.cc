#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "forebay/simulation.h"
#include "page/page.h"

namespace forebay {

namespace {

using SimulationJson = nlohmann::ordered_json;

std::string bytes_words(double bytes) { return format_byte_size(static_cast<uint64_t>(bytes)); }

SimulationJson json_of(const SimulatedEpoch& epoch) {
  return {{"seconds", epoch.seconds},
          {"wait_seconds", epoch.wait_seconds},
          {"bytes",
           {{"ram", epoch.ram_bytes},
            {"disk", epoch.disk_bytes},
            {"peers", epoch.peer_bytes},
            {"storage", epoch.storage_bytes}}},
          {"moved", epoch.moved},
          {"transfers", epoch.transfers},
          {"imbalance", epoch.imbalance},
          {"imbalance_high", epoch.imbalance_high}};
}

SimulationJson json_of(const SimulationOptions& o) {
  return {{"hosts", o.hosts},
          {"ranks_per_host", o.ranks_per_host},
          {"storage",
           {{"rate", o.storage.bytes_per_second},
            {"latency", o.storage.latency_seconds},
            {"requests_per_second", o.storage.requests_per_second},
            {"knee", o.storage.knee}}},
          {"link", {{"rate", o.link_bytes_per_second}, {"latency", o.link_latency_seconds}}},
          {"ram", o.ram_bytes},
          {"disk", o.disk_bytes},
          {"disk_rate", o.disk_bytes_per_second},
          {"prepare", o.prepare_per_second},
          {"train", o.train_per_second},
          {"requests", o.requests},
          {"ahead", o.ahead},
          {"samples", o.samples},
          {"sample_bytes", *o.sample_bytes},
          {"spread", o.spread},
          {"batch_size", *o.batch_size},
          {"seed", o.seed},
          {"epochs", o.epochs}};
}

std::string time_words(double seconds) { return format_figure(seconds, PlotUnit::kSeconds); }

std::string row_of(const std::string& name, const SimulatedEpoch& epoch) {
  return fmt::format("  {:<22}{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}{:>8.1f}{:>7.2f}\n", name, time_words(epoch.seconds),
                     time_words(epoch.wait_seconds), bytes_words(epoch.storage_bytes), bytes_words(epoch.peer_bytes),
                     bytes_words(epoch.disk_bytes), bytes_words(epoch.ram_bytes), 100 * epoch.moved, epoch.imbalance);
}

}  // namespace

std::string to_json(const Simulation& found) {
  SimulationJson runs = SimulationJson::array(), changes = SimulationJson::array();
  for (const SimulatedRun& run : found.runs) {
    SimulationJson epochs = SimulationJson::array();
    for (const SimulatedEpoch& epoch : run.epochs) epochs.push_back(json_of(epoch));
    runs.push_back({{"policy", run.policy}, {"epochs", epochs}});
  }
  for (const SimulatedChange& change : found.changes)
    changes.push_back({{"change", change.change}, {"gain", change.gain}});
  const AnalyticalModel& model = found.model;
  return SimulationJson({{"options", json_of(found.options)},
                         {"share_gone_through", found.share_gone_through},
                         {"gain", found.gain()},
                         {"runs", runs},
                         {"model",
                          {{"seconds", model.seconds()},
                           {"train", model.train},
                           {"storage", model.storage},
                           {"peers", model.peers},
                           {"prepare", model.prepare},
                           {"kept", model.kept},
                           {"moved", model.moved}}},
                         {"changes", changes}})
      .dump();
}

std::string to_text(const Simulation& found) {
  const SimulationOptions& o = found.options;
  std::string text =
      fmt::format("{} samples of {} ({}), {} ranks on {} host{}, {} rows a rank and step\n", o.samples,
                  bytes_words(*o.sample_bytes), bytes_words(*o.sample_bytes * static_cast<double>(o.samples)),
                  o.hosts * o.ranks_per_host, o.hosts, o.hosts == 1 ? "" : "s", *o.batch_size);
  if (found.share_gone_through < 1)
    text += fmt::format("{:.2g} % of each epoch were gone through; times and bytes are scaled up\n",
                        100 * found.share_gone_through);
  text += fmt::format("\n  {:<22}{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}{:>8}{:>7}\n", "", "epoch", "waited", "storage",
                      "peers", "disk", "memory", "moved %", "uneven");
  text += row_of("local, first epoch", found.local().epochs.front());
  for (const SimulatedRun& run : found.runs) text += row_of(run.policy + ", later ones", run.steady());
  const AnalyticalModel& model = found.model;
  const std::string gain =
      found.local().steady().seconds > 0
          ? fmt::format("{:.1f} times as fast as reading all from storage", found.gain())
          : "no wait at all; how fast ranks and their preparing are was not said (--train, --prepare)";
  text += fmt::format(
      "\nA later epoch, local: {}; {} transfers in a step at most\n"
      "By arithmetic {}: training {}; storage {} + peers {} + preparing {} ({:.1f} % kept, {:.1f} % of it moved)\n",
      gain, found.local().steady().transfers, time_words(model.seconds()), time_words(model.train),
      time_words(model.storage), time_words(model.peers), time_words(model.prepare), 100 * model.kept,
      100 * model.moved);
  text += "\nWhat would change a later epoch:\n";
  for (const SimulatedChange& change : found.changes)
    text += fmt::format("  {:.2f} x  {}\n", change.gain, change.change);
  return text;
}

}  // namespace forebay
