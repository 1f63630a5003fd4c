#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "forebay/simulation.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/samples/unread_plan.h"
#include "pipeline/op_spec.h"
#include "pipeline/selection.h"
#include "plan/equal_batches.h"
#include "study/simulated_policy.h"

namespace forebay {

namespace {

constexpr int64_t kMostSlowRows = 200'000;  // whose owners take microseconds each

Status unknown_sizes() {
  return invalid_argument(
      "the sizes of this data set's samples are not known without reading them; give sample_bytes= (their mean, as "
      "stored; --sample-bytes)");
}

// Estimates mean and spread of the sizes from some thousands of samples all over the data set.
Result<SampleSizes> measured_sizes(const SampleSource& source, const Selection& selection) {
  double sum = 0, logs = 0, squares = 0;
  // An empty selection has no sizes.
  if (selection.size() == 0) return unknown_sizes();
  const int64_t looked = std::min<int64_t>(selection.size(), 4096);
  for (int64_t i = 0; i < looked; ++i) {
    // Evenly spread, since neighbours are often alike. Uses doubles, whose product does not
    // overflow.
    const int64_t index = static_cast<int64_t>(static_cast<double>(i) * static_cast<double>(selection.size()) /
                                               static_cast<double>(looked));
    const auto size = static_cast<double>(source.fetch(selection.id_at(index)).total_size());
    // The logarithm of 0 is undefined, and would make every figure NaN.
    if (size <= 0) return unknown_sizes();
    sum += size;
    logs += std::log(size);
    squares += std::log(size) * std::log(size);
  }
  const auto n = static_cast<double>(looked);
  // Spread of the logarithms, as a log-normal distribution needs it. Rounding may give less than 0.
  return SampleSizes{sum / n, std::sqrt(std::max(0.0, squares / n - logs / n * (logs / n)))};
}

// The rows of a chunk have one size, since it does not show those of each.
SampleSizes sizes_of_rows(const ChunkSource& source) {
  double bytes = 0;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk)
    bytes += static_cast<double>(source.chunk_cost(chunk).fetched_bytes);
  return {bytes / static_cast<double>(std::max<int64_t>(source.size(), 1)), 0};
}

Result<SampleSizes> sizes_of(const BranchData& data, const SimulationOptions& options) {
  if (options.sample_bytes) return SampleSizes{*options.sample_bytes, options.spread};
  const std::string name = data.branch.name();
  if (const ChunkSource* const chunks = data.source->as_chunks()) {
    // One data set alone is asked for the size of a row.
    if (const SampleSizes rows = sizes_of_rows(*chunks); rows.mean > 0 && !name.empty()) return rows;
    return unknown_sizes();
  }
  Result<SampleSizes> sizes = measured_sizes(*data.source->as_samples(), *data.chosen.selection);
  if (sizes.ok() || name.empty()) return sizes;
  return invalid_argument(fmt::format("the part '{}': {}", name, sizes.status().message()));
}

// Fills in what the data sets tell. Returns those of a pipeline over several, or over one that is
// repeated; nothing for a single data set.
Result<std::optional<SimulatedParts>> complete(const std::optional<Pipeline>& pipeline, SimulationOptions& options) {
  std::optional<SimulatedParts> parts;
  if (pipeline && !options.batch_size) options.batch_size = batch_size(pipeline->description());
  if (!options.batch_size)
    return invalid_argument("simulate: without a pipeline, give batch_size= (rows a rank and step; --batch)");
  if (options.samples > 0 && options.sample_bytes) return parts;
  if (!pipeline) return invalid_argument("simulate: without a pipeline, give samples= and sample_bytes=");
  const Description& description = pipeline->description();
  if (std::vector<Problem> problems = check(description); !problems.empty()) return problems_as_status(problems);
  if (is_unbounded(description.steps().front()))
    return invalid_argument(
        "simulate: a stream has no epochs to go through; give samples= and sample_bytes= of as much of it as one is to "
        "have");
  FOREBAY_ASSIGN(const std::shared_ptr<const Source> source, open_source(description.steps().front(), {}));
  FOREBAY_ASSIGN(const DataPlan data, unread_plan(description, source, {}, options.seed, "simulate()"));
  const bool is_one = data.branches.size() == 1 && data.size() == data.branches.front().chosen.size();
  if (!is_one && options.samples > 0)
    return invalid_argument(
        "simulate: samples= is the number of one data set, and this pipeline's epoch follows from those of its parts; "
        "leave it out");
  if (options.samples == 0) options.samples = data.size();
  if (!is_one) parts = SimulatedParts{std::make_shared<const PlanOrder>(data.plan), {}};
  const bool slow = parts && std::max(parts->order->ids(), parts->order->size()) > PlanOrder::kMostRemembered;
  if (slow) options.most_rows = std::min(options.most_rows, kMostSlowRows);
  const std::vector<double> shares = shares_of_branches(*data.plan);
  SampleSizes mean;
  for (size_t i = 0; i < data.branches.size(); ++i) {
    FOREBAY_ASSIGN(const SampleSizes sizes, sizes_of(data.branches[i], options));
    mean.mean += shares[i] * sizes.mean;
    mean.spread += shares[i] * sizes.spread;
    if (parts) parts->sizes.push_back(sizes);
  }
  options.sample_bytes = mean.mean;
  options.spread = mean.spread;
  return parts;
}

Status check_figures(const SimulationOptions& o) {
  const auto refuse = [](const char* what, const auto& value, const char* range) {
    return invalid_argument(fmt::format("simulate: {} is {}; it must be {}", what, value, range));
  };
  constexpr int64_t kManyRanks = 1 << 20;
  if (o.hosts < 1 || o.hosts > kManyRanks) return refuse("hosts", o.hosts, "1 to 2^20");
  // Divides instead of multiplying, since a product of such numbers may overflow.
  if (o.ranks_per_host < 1 || o.ranks_per_host > kManyRanks / o.hosts)
    return refuse("ranks_per_host", o.ranks_per_host, "1 or larger, and 2^20 ranks at most in all");
  if (o.samples < 1 || o.samples > int64_t{1} << 50) return refuse("samples", o.samples, "1 to 2^50");
  if (o.epochs < 2 || o.epochs > 1000) return refuse("epochs", o.epochs, "2 to 1000");
  if (o.requests < 1) return refuse("requests", o.requests, "1 or larger");
  if (o.ahead < 1 || o.ahead > 1 << 20) return refuse("ahead", o.ahead, "1 to 2^20");
  if (o.most_rows < 1) return refuse("most_rows", o.most_rows, "1 or larger");
  // Written so that NaN is refused, too.
  if (!(*o.sample_bytes > 0) || !std::isfinite(*o.sample_bytes))
    return refuse("sample_bytes", *o.sample_bytes, "above 0");
  const std::pair<const char*, double> rates[] = {{"storage rate", o.storage.bytes_per_second},
                                                  {"storage latency", o.storage.latency_seconds},
                                                  {"storage requests a second", o.storage.requests_per_second},
                                                  {"link rate", o.link_bytes_per_second},
                                                  {"link latency", o.link_latency_seconds},
                                                  {"disk rate", o.disk_bytes_per_second},
                                                  {"prepare rate", o.prepare_per_second},
                                                  {"train rate", o.train_per_second},
                                                  {"spread", o.spread}};
  for (const auto& [name, value] : rates)
    if (!(value >= 0) || !std::isfinite(value)) return refuse(name, value, "0 or larger");
  if (o.spread > 3) return refuse("spread", o.spread, "0 to 3");
  return ScheduleOptions{o.samples, *o.batch_size, o.hosts * o.ranks_per_host}.check();
}

AnalyticalModel model_of(const SimulationOptions& o) {
  const auto over = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
  const auto samples = static_cast<double>(o.samples), hosts = static_cast<double>(o.hosts);
  const double bytes = samples * *o.sample_bytes;
  AnalyticalModel model;
  model.kept = std::min(1.0, static_cast<double>(rows_that_fit(o).in_all) * hosts / samples);
  const auto rows = static_cast<double>(*o.batch_size * o.ranks_per_host);
  // The number of rows of a step that a host has in its cache is binomial. Half the mean deviation
  // from the host's equal share has to move: sqrt((1 - 1/h) / (2 pi rows)) by the normal
  // distribution, as a share of a host's rows.
  model.moved = hosts > 1 ? std::sqrt((1 - 1 / hosts) / (2 * std::numbers::pi * rows)) : 0;
  model.train = over(samples, o.train_per_second * hosts * static_cast<double>(o.ranks_per_host));
  // A store has two limits, and the slower one applies.
  model.storage = std::max(over((1 - model.kept) * bytes, o.storage.bytes_per_second),
                           over((1 - model.kept) * samples, o.storage.requests_per_second));
  model.peers = over(model.kept * bytes * model.moved, o.link_bytes_per_second * hosts);
  model.prepare = over(samples, o.prepare_per_second * hosts);
  return model;
}

std::vector<std::pair<const char*, SimulationOptions>> others(const SimulationOptions& options) {
  std::vector<std::pair<const char*, SimulationOptions>> list;
  const auto with = [&](const char* change, auto edit) {
    SimulationOptions other = options;
    edit(other);
    list.push_back({change, std::move(other)});
  };
  if (options.ram_bytes > 0) with("twice the memory a host", [](auto& o) { o.ram_bytes *= 2; });
  if (options.disk_bytes > 0) with("twice the disk a host", [](auto& o) { o.disk_bytes *= 2; });
  if (options.disk_bytes > 0 && options.disk_bytes_per_second > 0)
    with("disks twice as fast", [](auto& o) { o.disk_bytes_per_second *= 2; });
  if (options.link_bytes_per_second > 0) with("links twice as fast", [](auto& o) { o.link_bytes_per_second *= 2; });
  if (options.storage.bytes_per_second > 0)
    with("storage twice as fast", [](auto& o) { o.storage.bytes_per_second *= 2; });
  if (options.prepare_per_second > 0) with("twice the cores a host", [](auto& o) { o.prepare_per_second *= 2; });
  with("batches twice as large", [](auto& o) { *o.batch_size *= 2; });
  return list;
}

}  // namespace

double AnalyticalModel::seconds() const { return std::max(train, storage + peers + prepare); }

double Simulation::gain() const {
  for (const SimulatedRun& run : runs)
    if (run.policy == "regular" && local().steady().seconds > 0) return run.steady().seconds / local().steady().seconds;
  return 1;
}

Result<Simulation> simulate(const std::optional<Pipeline>& pipeline, SimulationOptions options) {
  FOREBAY_ASSIGN(const std::optional<SimulatedParts> parts, complete(pipeline, options));
  const SimulatedParts* const of = parts ? &*parts : nullptr;
  FOREBAY_RETURN_IF_ERROR(check_figures(options));
  Simulation found;
  found.options = options;
  found.share_gone_through = share_gone_through(options);
  found.model = model_of(options);
  for (const SimulatedPolicy policy :
       {SimulatedPolicy::kLocal, SimulatedPolicy::kCount, SimulatedPolicy::kRegular, SimulatedPolicy::kClairvoyant})
    found.runs.push_back(run_virtually(policy, options, of));
  for (const auto& [change, other] : others(options)) {
    // A change may leave the allowed range, such as twice the largest batch; then it is not
    // proposed.
    if (!check_figures(other).ok()) continue;
    const double seconds = run_virtually(SimulatedPolicy::kLocal, other, of).steady().seconds;
    found.changes.push_back({change, seconds > 0 ? found.local().steady().seconds / seconds : 1});
  }
  std::stable_sort(found.changes.begin(), found.changes.end(),
                   [](const SimulatedChange& a, const SimulatedChange& b) { return a.gain > b.gain; });
  return found;
}

}  // namespace forebay
