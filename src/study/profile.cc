#include "forebay/profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cache/budget_limits.h"
#include "forebay/ledger.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/op_spec.h"
#include "study/contenders.h"
#include "study/estimate.h"
#include "study/few_samples.h"
#include "study/filling.h"
#include "study/kept_bytes.h"
#include "study/observation.h"
#include "study/part_pipelines.h"
#include "study/profile_parts.h"
#include "study/sample_cost.h"
#include "study/strategies.h"
#include "study/trials.h"
#include "study/working_folder.h"

namespace forebay {

namespace {

constexpr int64_t kLeastSamples = 1000, kOneIn = 100;
constexpr int64_t kLeastTrialBatches = 2;
// The other half is for the turns in which each filled strategy is measured.
constexpr double kFilling = 0.5;  // share of the time that filling caches may take
constexpr double kWhole = 0.3;    // share of that; a data set that takes less is tried whole
constexpr uint64_t kTrialBytes = 1'000'000'000;
constexpr double kEnoughBytes = 128e6;  // more than the caches of the cores hold
constexpr double kEnoughCopies = 3;
constexpr double kMaxOfTrial = 0.8;  // share of kTrialBytes: entries are larger than their content
constexpr TrialLength kUnchanged{.windows = 6, .window_seconds = 0.3};
constexpr TrialLength kTurn{.windows = 1, .window_seconds = 0.25};
constexpr TrialLength kFinalTurn{.windows = 1, .window_seconds = 0.5};
constexpr int kTurns = 4;
constexpr TrialLength kAlone{.windows = 4, .window_seconds = 0.25};
constexpr double kOvertimeSeconds = 10;
constexpr size_t kMaxMeasured = 4;    // most strategies that are run as handed over
constexpr double kDisappoints = 0.8;  // share of the rate found over a part of the samples
constexpr double kSlowBatch = 0.05;   // seconds; turns with slower batches would take all the time

// One profile: run() tries the strategies one after another and fills in the result. Used by one
// thread.
class Profiling {
 public:
  Profiling(const Pipeline& pipeline, const ProfileOptions& options)
      : options_(options), trials_(options), written_(without_caches(pipeline.description())),
        once_(without_draws(written_.description)), plain_(composed(written_, once_)) {
    profile_.weights = options.weights;
  }

  Result<Profile> run() {
    FOREBAY_RETURN_IF_ERROR(measure_baseline());
    const bool draws = plain_.description.step_count() < written_.description.step_count();
    if (draws && options_.files)
      profile_.others.emplace_back("files: for a pipeline without .repeat(), .sample() and .balance(); leave them out");
    std::vector<Strategy> strategies = strategies_for(plain_.description, options_.files && !draws);
    if (strategies.empty()) profile_.others.emplace_back("keeping anything: there is no place where a cache may stand");
    for (std::string told : {drawn_anew(plain_.description), missing_version(plain_.description)})
      if (!told.empty()) profile_.others.push_back(std::move(told));
    choose_samples(strategies.size());
    for (Strategy& strategy : strategies) {
      if (trials_.seconds() > options_.budget_seconds) {
        profile_.others.push_back(strategy.name + ": not tried, the time was over");
      } else {
        FOREBAY_RETURN_IF_ERROR(try_strategy(std::move(strategy)));
      }
    }
    FOREBAY_RETURN_IF_ERROR(compare_fastest());
    rescale_to_baseline();
    rank_strategies(profile_.strategies, profile_.weights, profile_.size);
    FOREBAY_RETURN_IF_ERROR(verify_best());
    for (Strategy& strategy : profile_.strategies)
      if (strategy.behind) strategy.behind = written_number(*strategy.behind);
    profile_.seconds = trials_.seconds();
    return std::move(profile_);
  }

 private:
  // The number of a step of the pipeline that is tried in the one that is handed over, which also
  // has draws.
  size_t written_number(size_t number) const {
    return static_cast<size_t>(std::ranges::find(once_.steps.places, number) - once_.steps.places.begin());
  }

  // Sets the pipeline that is handed over.
  void set_answer(Strategy& strategy) const {
    Strategy cached = strategy;
    if (cached.behind) cached.behind = written_number(*cached.behind);
    const Changed changed = as_written(written_.description, cached);
    strategy.pipeline = pipeline_of(changed);
    strategy.steps = composed(written_.steps, changed.steps);
  }

  // Measures the pipeline without caches over all samples.
  Status measure_baseline() {
    FOREBAY_ASSIGN(baseline_, trials_.open(plain_));
    FOREBAY_ASSIGN(const Observation seen, observe(*baseline_, trials_.context(), kUnchanged));
    profile_.size = baseline_->size();
    unchanged_.name = "nothing kept";
    unchanged_.rate = mean_of(seen.rates);
    unchanged_.preparation_seconds = times(inverse(unchanged_.rate), static_cast<double>(profile_.size));
    unchanged_.pipeline = pipeline_of(written_);
    unchanged_.steps = written_.steps;
    unchanged_.bytes = {0, 0, 0};
    unchanged_.preparing = unchanged_.kept = cost_between(seen.before, seen.after, unchanged_.rate.value);
    profile_.threads = seen.after.threads;
    profile_.strategies.push_back(unchanged_);
    return {};
  }

  // Chooses the number of samples; each strategy makes them once.
  void choose_samples(size_t strategies) {
    const int64_t batch = std::max<int64_t>(batch_size(plain_.description), 1);
    const int64_t wanted = options_.samples.value_or(std::max(kLeastSamples, profile_.size / kOneIn));
    affordable_samples_ = options_.budget_seconds * kFilling * unchanged_.rate.value /
                          static_cast<double>(std::max<size_t>(strategies, 1));
    int64_t samples = wanted;
    if (!options_.samples && static_cast<double>(profile_.size) <= kWhole * affordable_samples_) {
      samples = profile_.size;  // no extrapolation is needed
    } else if (!options_.samples && static_cast<double>(wanted) > affordable_samples_) {
      samples = static_cast<int64_t>(affordable_samples_);
      profile_.others.push_back(fmt::format("{} samples, as many as were wanted: {} are made in the time that there is",
                                            wanted, std::max(samples, kLeastTrialBatches * batch)));
    }
    profile_.samples = std::min(std::max(samples, kLeastTrialBatches * batch), profile_.size);
  }

  int64_t samples_of_source() const { return samples_behind(*baseline_, plain_.description, profile_.samples); }

  // Reports a strategy that cannot be run, and continues with the others.
  Status try_strategy(Strategy strategy) {
    const std::string name = strategy.name;
    Result<Strategy> tried = measure_strategy(std::move(strategy));
    if (tried.status().code() == Code::kCancelled) return tried.status();
    if (tried.ok()) {
      profile_.strategies.push_back(std::move(*tried));
    } else {
      profile_.others.push_back(fmt::format("{}: could not be tried: {}", name, tried.status().message()));
    }
    return {};
  }

  Result<Strategy> measure_strategy(Strategy strategy) {
    if (strategy.tier == StrategyTier::kFiles) return try_files_strategy(std::move(strategy));
    const bool on_disk = strategy.tier == StrategyTier::kDisk;
    FOREBAY_ASSIGN(WorkingFolder folder, WorkingFolder::make());
    FOREBAY_ASSIGN(OpenLoader loader, open_over_few(strategy, folder.path()));
    FOREBAY_ASSIGN(Filling filling, fill(*loader, trials_.context(), kTrialBytes));
    const auto size = static_cast<double>(profile_.size);
    strategy.bytes = bytes_of_all(filling, *loader, *baseline_);
    strategy.entries = cache_growth(*loader, *baseline_, filling.entries) * static_cast<double>(filling.entries);
    if (const int64_t copies = copies_of(strategy); copies > 1) {
      // A folder of its own, so that all copies are made: more samples give a better estimate of
      // the time.
      auto few = representative_subset(with_versions_, samples_of_source(), {.count = copies});
      FOREBAY_ASSIGN(loader, open(for_trial(with_source(plain_.description, std::move(few)), strategy, std::nullopt,
                                            kTrialBytes, folder.path() + "/copies")));
      FOREBAY_ASSIGN(filling, fill(*loader, trials_.context(), kTrialBytes));
    }
    strategy.preparation_seconds = seconds_to_make(filling.seconds, size);
    strategy.preparing = cost_between({}, loader->stats(), size / strategy.preparation_seconds.value);
    FOREBAY_RETURN_IF_ERROR(measure_filled(strategy, *loader));
    limit_to_room(strategy, static_cast<double>(on_disk ? disk_room() : trials_.memory_room()), unchanged_.rate);
    set_answer(strategy);
    add_contender(strategy, std::move(loader), std::move(folder));
    return strategy;
  }

  // Opens a loader over a part of the samples that represents all. The samples are chosen once, by
  // the first loader with a cache: loaders without one do not learn the versions.
  Result<OpenLoader> open_over_few(const Strategy& strategy, const std::string& folder) {
    if (!with_versions_) {
      FOREBAY_ASSIGN(OpenLoader loader,
                     open(for_trial(plain_.description, strategy, samples_of_source(), kTrialBytes, folder)));
      const OpSpec source = loader->opened().description().steps().front();
      if (!supports_subset(source)) return loader;
      with_versions_ = source.opened;
    }
    const Description few = with_source(plain_.description, representative_subset(with_versions_, samples_of_source()));
    return open(for_trial(few, strategy, std::nullopt, kTrialBytes, folder));
  }

  // The cores' caches hold a few samples but not all, so a few would look faster than they are. The
  // start and the end of a run also weigh much in a short one. Copies of samples are as good as
  // other samples.
  int64_t copies_of(const Strategy& strategy) {
    int64_t& copies = copies_by_step_[*strategy.behind];
    copies = 1;
    if (!with_versions_) return copies;
    // For a table these are whole row groups. They are made once more, in addition to those tried
    // before.
    const auto size = static_cast<double>(profile_.size), tried = static_cast<double>(profile_.samples);
    const double left = tried / static_cast<double>(samples_of_source());
    const double few = left * static_cast<double>(representative_subset(with_versions_, samples_of_source())->size());
    const double a_sample = std::max(strategy.bytes.value, 1.0) / size;
    const double enough = std::max(kEnoughBytes / a_sample, kEnoughCopies * few);
    const double most =
        std::min({size, affordable_samples_ - tried, kMaxOfTrial * static_cast<double>(kTrialBytes) / a_sample});
    return copies = std::max<int64_t>(static_cast<int64_t>(std::min(enough, most) / few), 1);
  }

  Status measure_filled(Strategy& strategy, Loader& loader, const TrialLength& turn = kTurn) {
    const Ledger before = loader.stats();
    FOREBAY_ASSIGN(strategy.rate, rate_when_filled(loader, turn));
    strategy.kept = cost_between(before, loader.stats(), strategy.rate.value);
    return {};
  }

  void add_contender(const Strategy& strategy, OpenLoader loader, WorkingFolder folder) {
    // A trial has space for everything, so it does not show a cache that holds only a part.
    if (strategy.fits < 1) return;
    const double share =
        static_cast<double>(profile_.samples * copies_by_step_[*strategy.behind]) / static_cast<double>(profile_.size);
    contenders_.add({strategy.name, strategy.rate.value, strategy.bytes.value * std::min(share, 1.0), std::move(folder),
                     std::move(loader)});
  }

  // Scales the cost of samples too; otherwise a prediction for the same host would differ from the
  // measurement.
  static void correct_rate(Strategy& strategy, double factor) {
    strategy.rate = times(strategy.rate, factor);
    strategy.kept = scaled_cost(strategy.kept, factor);
  }

  Status compare_fastest() {
    const auto rates = contenders_.compare(trials_.context(), [this] {
      return !slow_batches() && trials_.seconds() < options_.budget_seconds + kOvertimeSeconds;
    });
    if (rates.status().code() == Code::kCancelled) return rates.status();
    if (!rates.ok())
      profile_.others.push_back(fmt::format("the fastest beside each other: {}", rates.status().message()));
    for (Strategy& strategy : profile_.strategies) {
      if (!rates.ok()) break;
      const auto found = rates->find(strategy.name);
      if (found != rates->end()) correct_rate(strategy, found->second / strategy.rate.value);
    }
    return {};
  }

  // Figures of a trial are extrapolated from a part of the samples. So the best strategy is run
  // once as it is handed over before it is called best. If it disappoints, it is ranked anew, and
  // the next one is run.
  Status verify_best() {
    // Loaders of a process that cache the same content share the cache, and so would share a
    // trial's budget.
    contenders_.clear();
    std::set<std::string> looked_at;
    while (true) {
      const Strategy& best = profile_.strategies.front();
      if (best.tier == StrategyTier::kFiles || !looked_at.insert(best.name).second) return {};
      if (best.tier == StrategyTier::kNothing) return remeasure_baseline();
      const double end = options_.budget_seconds + kOvertimeSeconds;
      if (looked_at.size() > kMaxMeasured || trials_.seconds() + best.preparation_seconds.value > end) {
        profile_.others.push_back(
            fmt::format("{}: not measured as it is handed over: filling its cache takes about {:.0f} s; give more time",
                        best.name, best.preparation_seconds.value));
        return {};
      }
      FOREBAY_RETURN_IF_ERROR(verify(profile_.strategies.front()));
      rank_strategies(profile_.strategies, profile_.weights, profile_.size);
    }
  }

  Status remeasure_baseline() {
    FOREBAY_RETURN_IF_ERROR(wait_until_idle(*baseline_, trials_.context()));
    FOREBAY_ASSIGN(const Observation seen, observe(*baseline_, trials_.context(), kUnchanged));
    baseline_rates_ = seen.rates;
    rescale_to_baseline();
    return {};
  }

  Status verify(Strategy& strategy) {
    const Status status = measure_as_written(strategy);
    if (status.ok() || status.code() == Code::kCancelled) return status;
    profile_.others.push_back(
        fmt::format("{}: could not be measured as it is handed over: {}", strategy.name, status.message()));
    return {};
  }

  Status measure_as_written(Strategy& strategy) {
    for (bool again = true;;) {
      FOREBAY_ASSIGN(const WorkingFolder folder, WorkingFolder::make());
      FOREBAY_ASSIGN(const OpenLoader loader, open(as_written(plain_.description, strategy, folder.path())));
      FOREBAY_ASSIGN(const Filling filling, fill_what_fits(*loader, trials_.context()));
      if (std::exchange(again, false) && filling.declined > 0 && strategy.fits == 1 && filling.entries > 0) {
        enlarge_budget(strategy, filling);
        continue;
      }
      if (filling.declined == 0 && loader->world_size() == 1) {
        const auto bytes = static_cast<double>(filling.entry_bytes);
        strategy.bytes = {bytes, bytes, bytes};
        strategy.entries = static_cast<double>(filling.entries);
      }
      return measure_final_rate(strategy, *loader);
    }
  }

  // Assumes that declined entries are as large as the cached ones.
  void enlarge_budget(Strategy& strategy, const Filling& filling) {
    const auto kept = static_cast<double>(filling.entries), all = kept + static_cast<double>(filling.declined);
    strategy.bytes = {static_cast<double>(filling.entry_bytes) * all / kept};
    strategy.entries = all;
    set_answer(strategy);
  }

  Status measure_final_rate(Strategy& strategy, Loader& loader) {
    const double stated = strategy.rate.value;
    FOREBAY_RETURN_IF_ERROR(measure_filled(strategy, loader, kFinalTurn));
    if (strategy.rate.value < kDisappoints * stated)
      profile_.others.push_back(fmt::format(
          "{}: {:.0f} samples/s over a part of the samples, and {:.0f} when it was run as it is handed over",
          strategy.name, stated, strategy.rate.value));
    rescale_to_baseline();
    return {};
  }

  // The speed of machines varies, so rates are on the scale of the unchanged pipeline: of all its
  // measurements since the last scale. The final scale is from the turns in which the best strategy
  // ran as handed over, so its rate in the answer is the rate that it had there.
  void rescale_to_baseline() {
    Strategy& unchanged = *std::ranges::find(profile_.strategies, StrategyTier::kNothing, &Strategy::tier);
    if (!baseline_rates_.empty()) {
      const Estimate rate = mean_of(std::exchange(baseline_rates_, {}));
      const double factor = rate.value / unchanged.rate.value;
      for (Strategy& strategy : profile_.strategies) correct_rate(strategy, factor);
      unchanged.rate = rate;
      unchanged.preparation_seconds = times(inverse(rate), static_cast<double>(profile_.size));
      unchanged_.rate = rate;
    }
    // Making and caching cannot be faster than making alone: a lower figure is noise of a small
    // sample.
    for (Strategy& strategy : profile_.strategies)
      if (strategy.tier != StrategyTier::kFiles &&
          strategy.preparation_seconds.value < unchanged.preparation_seconds.value)
        strategy.preparation_seconds = unchanged.preparation_seconds;
  }

  Result<Strategy> try_files_strategy(Strategy strategy) {
    FOREBAY_ASSIGN(WorkingFolder folder, WorkingFolder::make());
    ProfileOptions options = options_;
    if (const OpenChanged& whole = options_.open_whole ? options_.open_whole : options_.open)
      options.open = [this, &whole](const Pipeline& pipeline, const LoaderOptions& with, const ChangedSteps& steps) {
        return whole(pipeline, with, steps_from_original(steps));
      };
    const Pipeline plain = pipeline_of(plain_);
    const double left = std::max(options_.budget_seconds - trials_.seconds(), 1.0);
    FOREBAY_ASSIGN(const TriedFiles tried,
                   options_.files({.pipeline = plain,
                                   .as_it_is = *baseline_,
                                   .behind = *strategy.behind,
                                   .samples = samples_of_source(),
                                   .copies = copies_by_step_.try_emplace(*strategy.behind, 1).first->second,
                                   .folder = folder.path() + "/files",
                                   .most_samples = left * unchanged_.rate.value,
                                   .most_bytes = static_cast<double>(kTrialBytes),
                                   .options = options}));
    extrapolate_files(strategy, tried);
    // Files that do not fit in part are useless.
    if (strategy.bytes.value > tried.room)
      return out_of_budget("there is not so much room for its files", static_cast<uint64_t>(strategy.bytes.value));
    FOREBAY_ASSIGN(OpenLoader loader, open({tried.pipeline.description(), tried.steps}));
    FOREBAY_RETURN_IF_ERROR(measure_filled(strategy, *loader));
    if (!tried.in_store) strategy.kept = as_disk_cost(strategy.kept);
    add_contender(strategy, std::move(loader), std::move(folder));
    return strategy;
  }

  // Files on a local disk have the cost of a cache on disk, without the latency of the data set's
  // store.
  static SampleCost as_disk_cost(SampleCost cost) {
    cost.other_seconds += std::exchange(cost.store_seconds, 0);
    cost.stored_bytes = cost.stored_reads = 0;
    return cost;
  }

  const Estimate* bytes_in_memory(size_t behind) const {
    for (const Strategy& strategy : profile_.strategies)
      if (strategy.tier == StrategyTier::kMemory && strategy.behind == behind) return &strategy.bytes;
    return nullptr;
  }

  // Extrapolates from the files of some samples to those of all.
  void extrapolate_files(Strategy& strategy, const TriedFiles& tried) const {
    std::vector<Group> bytes;
    double samples = 0;
    for (const TriedFiles::Part& part : tried.parts) {
      bytes.push_back({static_cast<double>(part.samples), static_cast<double>(part.bytes)});
      samples += static_cast<double>(part.samples);
    }
    // Steps after the cut may leave samples out, but all are written.
    const auto size = static_cast<double>(tried.size);
    strategy.bytes = times(ratio_of(bytes, samples / size), size);
    const Estimate* in_memory = bytes_in_memory(*strategy.behind);
    // Parts with copies of the same samples are alike, and do not show how samples differ.
    if (in_memory != nullptr && copies_by_step_.at(*strategy.behind) > 1)
      strategy.bytes = times(*in_memory, strategy.bytes.value / in_memory->value);
    const double a_sample = 1 / std::max(samples, 1.0);
    // Steps after the cut make one item of an epoch of so many samples.
    const double an_item = size / static_cast<double>(profile_.size);
    // The samples of one part are made while another is written, so single parts do not show the
    // spread. The spread is that of the same steps without a cache.
    strategy.preparation_seconds =
        times(unchanged_.preparation_seconds, tried.seconds * a_sample * size / unchanged_.preparation_seconds.value);
    strategy.preparing = cost_of_work(tried.cpu_seconds * a_sample * an_item, samples / tried.seconds / an_item,
                                      profile_.threads, unchanged_.preparing);
    strategy.pipeline = tried.answer;
    strategy.steps = steps_from_original(tried.steps);
    strategy.command = tried.command;
  }

  bool slow_batches() const { return batch_size(plain_.description) >= kSlowBatch * unchanged_.rate.value; }
  // The speed of machines varies, so the strategy runs in turns with the unchanged pipeline, and
  // the ratio counts.
  Result<Estimate> rate_when_filled(Loader& loader, const TrialLength& turn_length) {
    // A turn is a quarter of a second. If batches are slower, the unchanged pipeline would take all
    // the time.
    if (slow_batches()) {
      FOREBAY_ASSIGN(const Observation seen, observe(loader, trials_.context(), kAlone));
      return mean_of(seen.rates);
    }
    std::vector<Group> turns;
    const auto visit = [&](const Observation& kept, const Observation& as_it_is) {
      turns.push_back({as_it_is.rates.front(), kept.rates.front()});
      baseline_rates_.push_back(as_it_is.rates.front());
      return true;
    };
    FOREBAY_RETURN_IF_ERROR(observe_in_turns(loader, *baseline_, trials_.context(), turn_length, kTurns, visit));
    // A ratio of sums: the mean of ratios is too high if the machine's speed varies. It is put on
    // the scale of the one long measurement of the unchanged pipeline, so that all strategies are
    // comparable.
    return times(ratio_of(turns), unchanged_.rate.value);
  }

  static uint64_t disk_room() {
    const Result<std::string> folder = default_cache_folder();
    std::error_code none;
    std::filesystem::path existing = folder.ok() ? *folder : std::filesystem::temp_directory_path(none).string();
    // The folder need not exist yet: its file system is that of the next existing parent.
    while (!std::filesystem::exists(existing, none) && existing.has_relative_path()) existing = existing.parent_path();
    const std::filesystem::space_info space = std::filesystem::space(existing, none);
    // If the free space is unknown, it does not limit the strategy.
    return none ? UINT64_MAX : space.available;
  }

  // Composes two moves: original to plain, plain to changed.
  ChangedSteps steps_from_original(const ChangedSteps& steps) const { return composed(plain_.steps, steps); }

  static Pipeline pipeline_of(const Changed& changed) {
    return Pipeline(std::make_shared<const Description>(changed.description));
  }

  // Opens a change of the pipeline that is tried.
  Result<OpenLoader> open(const Changed& change) const { return trials_.open(composed(plain_, change)); }

  const ProfileOptions& options_;
  const Trials trials_;
  const Changed written_;  ///< the pipeline without caches
  const Changed once_;     ///< without draws, relative to that
  const Changed plain_;    ///< the same relative to the original: what is tried
  OpenLoader baseline_;
  Strategy unchanged_;
  std::vector<double> baseline_rates_;           ///< of `baseline_`, since the last rescale_to_baseline()
  double affordable_samples_ = 0;                ///< samples that may be made for a strategy
  std::shared_ptr<const Source> with_versions_;  ///< all samples; null if a part cannot be chosen
  std::map<size_t, int64_t> copies_by_step_;     ///< copies of each sample, by the cache's step
  Contenders contenders_;
  Profile profile_;
};

}  // namespace

const Strategy* Profile::unchanged() const {
  for (const Strategy& strategy : strategies)
    if (strategy.tier == StrategyTier::kNothing) return &strategy;
  return nullptr;
}

Result<Profile> profile(const Pipeline& pipeline, const ProfileOptions& options) {
  const bool has_parts = part_pipelines(pipeline.description()).size() > 1;
  return has_parts ? profile_parts(pipeline, options) : Profiling(pipeline, options).run();
}

}  // namespace forebay
