#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "forebay/loader.h"
#include "forebay/simulation.h"
#include "loader/compile/bucket_step.h"
#include "loader/compile/ordering.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/samples/unread_plan.h"
#include "pipeline/op_spec.h"
#include "pipeline/selection.h"
#include "plan/equal_batches.h"
#include "plan/plan_order.h"
#include "study/planned_epochs.h"
#include "study/simulated_policy.h"

namespace forebay {

namespace {

constexpr int64_t kMostEpochs = 1000;
constexpr int64_t kMostSlowRows = 200'000;
constexpr int64_t kMostRowsPlanned = int64_t{1} << 25;  // over all epochs, of plans that follow from values

Status unknown_sizes() {
  return invalid_argument(
      "the sizes of this data set's samples are not known without reading them; give sample_bytes= (their mean, as "
      "stored; --sample-bytes)");
}

// Samples of a data set, by number.
struct Samples {
  int64_t count = 0;
  std::function<int64_t(int64_t)> id_at;  ///< in the source
};

// Estimates mean and spread of the sizes from some thousands of samples all over the data set.
Result<SampleSizes> measured_sizes(const SampleSource& source, const Samples& samples) {
  double sum = 0, logs = 0, squares = 0;
  // No samples have no sizes.
  if (samples.count == 0) return unknown_sizes();
  const int64_t looked = std::min<int64_t>(samples.count, 4096);
  for (int64_t i = 0; i < looked; ++i) {
    // Evenly spread, since neighbours are often alike. Uses doubles, whose product does not
    // overflow.
    const int64_t number =
        static_cast<int64_t>(static_cast<double>(i) * static_cast<double>(samples.count) / static_cast<double>(looked));
    const auto size = static_cast<double>(source.fetch(samples.id_at(number)).total_size());
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

Result<SampleSizes> sizes_of(const BranchData& data, const Samples& samples, const SimulationOptions& options) {
  if (options.sample_bytes) return SampleSizes{*options.sample_bytes, options.spread};
  const std::string name = data.branch.name();
  if (const ChunkSource* const chunks = data.source->as_chunks()) {
    // One data set alone is asked for the size of a row.
    if (const SampleSizes rows = sizes_of_rows(*chunks); rows.mean > 0 && !name.empty()) return rows;
    return unknown_sizes();
  }
  Result<SampleSizes> sizes = measured_sizes(*data.source->as_samples(), samples);
  if (sizes.ok() || name.empty()) return sizes;
  return invalid_argument(fmt::format("the part '{}': {}", name, sizes.status().message()));
}

// The plan of a pipeline, with the samples of each data set.
struct Planned {
  int64_t size = 0;           ///< rows of an epoch
  SimulatedParts parts = {};  ///< without an order: one data set, of which each sample comes once
  std::vector<BranchData> branches = {};
  std::vector<double> shares = {};           ///< of the rows of an epoch, by branch
  std::vector<Samples> samples = {};         ///< by branch
  bool is_slow = false;                      ///< owners of samples take microseconds to find
  std::optional<int64_t> rows_a_batch = {};  ///< on average, if batches are made by lengths

  bool is_one() const { return parts.order == nullptr; }
};

Samples selected(const BranchData& branch) {
  return {branch.chosen.selection->size(),
          [selection = branch.chosen.selection](int64_t index) { return selection->id_at(index); }};
}

// A plan that is known without reading values.
Result<Planned> plan_unread(const Description& description, const SimulationOptions& options) {
  FOREBAY_ASSIGN(std::shared_ptr<const Source> source, open_source(description.steps().front(), {}));
  FOREBAY_ASSIGN(DataPlan data, unread_plan(description, std::move(source), {}, options.seed, "simulate()"));
  Planned planned{.size = data.size(), .shares = shares_of_branches(*data.plan)};
  for (const BranchData& branch : data.branches) planned.samples.push_back(selected(branch));
  planned.branches = std::move(data.branches);
  if (planned.branches.size() == 1 && planned.size == planned.branches.front().chosen.size()) return planned;
  const auto order = std::make_shared<const PlanOrder>(std::move(data.plan));
  planned.parts = {order, {order->begins().begin(), order->begins().end()}, {}};
  planned.is_slow = std::max(order->ids(), order->size()) > PlanOrder::kMostRemembered;
  return planned;
}

Result<std::shared_ptr<Loader>> open_itself(const Pipeline& pipeline, const SimulationOptions& options) {
  LoaderOptions with;
  with.seed = options.seed;
  with.job.rank = 0;
  with.job.world_size = 1;
  ChangedSteps unchanged;
  for (size_t step = 0; step < pipeline.description().step_count(); ++step) unchanged.places.push_back(step);
  if (options.open) return options.open(pipeline, with, unchanged);
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, with));
  FOREBAY_RETURN_IF_ERROR(loader->prepare());
  return std::shared_ptr<Loader>(std::move(loader));
}

Result<std::vector<EpochPlan>> epochs_of(const Loader& loader, const OpSpec& step, const SimulationOptions& options) {
  const int64_t count = std::clamp<int64_t>(options.epochs, 1, kMostEpochs);  // checked later
  if (loader.size() > kMostRowsPlanned / count)
    return unsupported(
        fmt::format("simulate() of a pipeline with .{}(): {} epochs of {} rows are more than are planned, which is "
                    "{}; give samples= and sample_bytes= of the data set",
                    step.name, count, loader.size(), kMostRowsPlanned));
  std::vector<EpochPlan> epochs;
  for (int64_t epoch = 0; epoch < count; ++epoch) {
    options.poll();
    FOREBAY_ASSIGN(epochs.emplace_back(), loader.plan(epoch, 0, 1, std::numeric_limits<int64_t>::max()));
  }
  return epochs;
}

// A plan that follows from values: a loader reads them, as each rank of the job does before its first
// batch. Steps of a single rank have all rows in their order, and batches of like lengths do not
// depend on the ranks.
Result<Planned> plan_read(const Pipeline& pipeline, const OpSpec& step, const SimulationOptions& options) {
  FOREBAY_ASSIGN(const std::shared_ptr<Loader> loader, open_itself(pipeline, options));
  FOREBAY_ASSIGN(const std::vector<EpochPlan> epochs, epochs_of(*loader, step, options));
  const Description& description = pipeline.description();
  Planned planned;
  planned.branches = begin_branches(description, loader->opened().description().steps().front().opened, options.seed);
  const auto order = std::make_shared<const PlannedEpochs>(epochs, planned.branches.size());
  planned.size = order->size();
  planned.parts = {order, order->begins(), {}};
  for (size_t i = 0; i < planned.branches.size(); ++i) {
    const int64_t begin = order->begins()[i];
    planned.samples.push_back(
        {order->begins()[i + 1] - begin, [order, begin](int64_t number) { return order->id_in_part(begin + number); }});
  }
  planned.shares.resize(planned.branches.size());
  for (int64_t position = 0; position < planned.size; ++position)
    planned.shares[planned.parts.leaf_of(order->id_at(0, position))] += 1 / static_cast<double>(planned.size);
  if (measuring_step(description) == nullptr || planned.size == 0) return planned;
  planned.rows_a_batch = std::max<int64_t>(planned.size / std::ssize(order->batch_ends().front()), 1);
  planned.parts.like_lengths = {order, &order->batch_ends()};
  return planned;
}

// Fills in what the data sets tell. Returns those of a pipeline over several, or over one that is
// repeated; nothing for a single data set.
Result<std::optional<SimulatedParts>> complete(const std::optional<Pipeline>& pipeline, SimulationOptions& options) {
  std::optional<SimulatedParts> parts;
  const bool by_lengths = pipeline && measuring_step(pipeline->description()) != nullptr;
  if (pipeline && !by_lengths && !options.batch_size) options.batch_size = batch_size(pipeline->description());
  const bool is_described = options.samples > 0 && options.sample_bytes;
  if (!options.batch_size && (is_described || !by_lengths))
    return invalid_argument(
        "simulate: without a pipeline that is read, give batch_size= (rows a rank and step; --batch)");
  if (is_described) return parts;
  if (!pipeline) return invalid_argument("simulate: without a pipeline, give samples= and sample_bytes=");
  const Description& description = pipeline->description();
  if (std::vector<Problem> problems = check(description); !problems.empty()) return problems_as_status(problems);
  if (is_unbounded(description.steps().front()))
    return invalid_argument(
        "simulate: a stream has no epochs to go through; give samples= and sample_bytes= of as much of it as one is to "
        "have");
  if (shared_packing(branches_of(description).front().description) != nullptr)
    return unsupported(
        "simulate() is not for blocks that are made anew in each epoch yet, whose number differs from epoch to epoch; "
        "give .pack() arrange=\"once\", or samples= and sample_bytes=");
  const OpSpec* const deciding = deciding_step_or_filter_of_part(description);
  FOREBAY_ASSIGN(Planned planned,
                 deciding != nullptr ? plan_read(*pipeline, *deciding, options) : plan_unread(description, options));
  if (!planned.is_one() && options.samples > 0)
    return invalid_argument(
        "simulate: samples= is the number of one data set, and this pipeline's epoch follows from its parts, draws or "
        "lengths; leave it out");
  if (planned.rows_a_batch && options.batch_size)
    return invalid_argument(
        "simulate: batch_size= is not for .bucket(), whose batches have as many rows as fit its budget; leave it out");
  if (planned.rows_a_batch) options.batch_size = planned.rows_a_batch;
  if (options.samples == 0) options.samples = planned.size;
  if (planned.is_slow) options.most_rows = std::min(options.most_rows, kMostSlowRows);
  SampleSizes mean;
  for (size_t i = 0; i < planned.branches.size(); ++i) {
    FOREBAY_ASSIGN(const SampleSizes sizes, sizes_of(planned.branches[i], planned.samples[i], options));
    mean.mean += planned.shares[i] * sizes.mean;
    mean.spread += planned.shares[i] * sizes.spread;
    planned.parts.sizes.push_back(sizes);
  }
  options.sample_bytes = mean.mean;
  options.spread = mean.spread;
  if (!planned.is_one()) parts = std::move(planned.parts);
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
  if (o.epochs < 2 || o.epochs > kMostEpochs) return refuse("epochs", o.epochs, "2 to 1000");
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

std::vector<std::pair<const char*, SimulationOptions>> others(const SimulationOptions& options,
                                                              const SimulatedParts* parts) {
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
  // The budget of a .bucket() decides the batches, which were planned for it.
  const bool one_size = parts == nullptr || parts->like_lengths == nullptr;
  if (one_size) with("batches twice as large", [](auto& o) { *o.batch_size *= 2; });
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
  for (const auto& [change, other] : others(options, of)) {
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
