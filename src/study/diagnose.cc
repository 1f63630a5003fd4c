#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cache/budget_limits.h"
#include "forebay/diagnosis.h"
#include "forebay/ledger.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "study/blame.h"
#include "study/changes.h"
#include "study/few_samples.h"
#include "study/kept_bytes.h"
#include "study/limits.h"
#include "study/observation.h"
#include "study/part_costs.h"
#include "study/part_pipelines.h"
#include "study/trials.h"
#include "study/working_folder.h"

namespace forebay {

namespace {

constexpr double kWarmingSeconds = 3;  // time that filling a cache may take
constexpr int kRounds = 3;
constexpr TrialLength kRound{.windows = 1, .window_seconds = 0.6};
// Other programs take cores irregularly, so these rounds are longer.
constexpr TrialLength kLongRound{.windows = 1, .window_seconds = 1.5};
constexpr uint64_t kUsualCacheBytes = uint64_t{2} << 30;  // memory of a .cache() without arguments
constexpr double kLongestFill = 15;                       // seconds
constexpr double kLongestEpoch = 60;                      // seconds to fill a remedy's cache
constexpr TrialLength kVerifyRound{.windows = 1, .window_seconds = 1.5};
constexpr double kOvertime = 10;          // seconds past the budget, after which no round begins
constexpr int64_t kLeastBatches = 2;      // of the samples over which a cache is tried
constexpr double kRoomFactor = 1.05;      // factor on the samples' bytes: others may be larger
constexpr int64_t kLongEpoch = 250;       // batches; the end of such an epoch counts for little
constexpr double kPartsTime = 0.3;        // share of the budget in which parts are run by themselves
constexpr double kLeastPartsSeconds = 4;  // the least time for that
constexpr double kLongPass = 0.1;         // share of an epoch that filters may take before it

/// Result of a trial.
struct Tried {
  Gain gain;
  Limiter limiter;     ///< limit of the changed pipeline
  double before = 0;   ///< see Candidate::before
  uint64_t bytes = 0;  ///< bytes of a cache of all samples
};

/// A loader with all samples of its caches in them, which are few.
struct Filled {
  OpenLoader loader;
  uint64_t ram_bytes = 0, entries = 0, declined = 0;  ///< of the caches together
  double bytes = 0;                                   ///< of caches of all samples
};

/// A number of samples of a part's data set.
struct Few {
  const Loader& all;  ///< a loader over all of them
  int64_t samples = 0;
};

/// A cache over few samples of one part, filled.
struct FilledPart {
  OpenLoader loader;                ///< of the part by itself
  std::vector<OpSpec> source = {};  ///< the steps that give these samples to the whole pipeline
};

// One diagnosis: run() measures the pipeline, then tries the changes one after another. Used by one
// thread.
class Study {
 public:
  Study(const Pipeline& pipeline, const DiagnoseOptions& options)
      : description_(pipeline.description()), options_(options), trials_(options, options.step) {}

  Result<Diagnosis> run() {
    FOREBAY_RETURN_IF_ERROR(measure_baseline());
    FOREBAY_RETURN_IF_ERROR(measure_parts());
    std::vector<Change> changes =
        changes_for(description_, trials_.options(), diagnosis_.first,
                    {.can_move = options_.can_use_processes, .on_threads = options_.can_use_processes},
                    diagnosis_.others, diagnosis_.parts);
    for (const Change& change : changes) {
      if (change.filled && cached_share(baseline_seen_) >= kFullCache) {
        diagnosis_.others.push_back(
            fmt::format("a cache elsewhere: there is one, which gave {:.0f} % of what was asked of it",
                        100 * cached_share(baseline_seen_)));
      } else if (trials_.seconds() > options_.budget_seconds) {
        diagnosis_.others.push_back(change.name + ": not tried, the time was over");
      } else {
        FOREBAY_RETURN_IF_ERROR(try_change(change));
      }
    }
    pool_small_windows();
    blame_from_trials({baseline_seen_, candidates_, trials_.options(), baseline_->size()}, diagnosis_);
    report_filter_pass();
    sort_remedies();
    if (options_.verify && !diagnosis_.remedies.empty()) FOREBAY_RETURN_IF_ERROR(verify(diagnosis_.remedies.front()));
    diagnosis_.seconds = trials_.seconds();
    return std::move(diagnosis_);
  }

 private:
  // Measures the pipeline as it is.
  Status measure_baseline() {
    std::vector<size_t> positions(description_.step_count());
    // No step moves: these numbers lead to the user's functions.
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = i;
    FOREBAY_ASSIGN(baseline_, trials_.open({description_, {std::move(positions)}}));
    // Timed separately, since it includes opening files, filters and the start of all threads.
    FOREBAY_RETURN_IF_ERROR(take_batch(*baseline_, trials_.context()));
    diagnosis_.first_batch_seconds = trials_.seconds();
    FOREBAY_ASSIGN(baseline_seen_, observe(*baseline_, trials_.context(), {}));
    add_to_totals(baseline_seen_);
    diagnosis_.rate = median_of(baseline_seen_.rates);
    diagnosis_.rate_low = *std::min_element(baseline_seen_.rates.begin(), baseline_seen_.rates.end());
    diagnosis_.rate_high = *std::max_element(baseline_seen_.rates.begin(), baseline_seen_.rates.end());
    if (!baseline_seen_.step_rates.empty()) diagnosis_.trainer_rate = median_of(baseline_seen_.step_rates);
    diagnosis_.first = limiter_of(baseline_seen_, trials_.options());
    return {};
  }

  // Runs the parts by themselves, those with the most samples first, to see which of them costs the
  // most.
  Status measure_parts() {
    if (parts_.size() < 2 || diagnosis_.first.limit == Limit::kTrainer) return {};
    FOREBAY_ASSIGN(const std::vector<double> shares, shares_of_parts(*baseline_, parts_.size()));
    std::vector<size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](size_t part) { return shares[part]; });
    const double end = trials_.seconds() + std::max(kPartsTime * options_.budget_seconds, kLeastPartsSeconds);
    size_t left_out = 0;
    FOREBAY_RETURN_IF_ERROR(wait_until_idle(*baseline_, trials_.context()));
    for (const size_t part : order) {
      PartCost& cost = diagnosis_.parts.emplace_back(PartCost{parts_[part].name, shares[part]});
      if (shares[part] == 0) continue;
      if (trials_.seconds() > end) {
        ++left_out;
        continue;
      }
      const Result<double> rate = rate_alone(parts_[part]);
      if (rate.status().code() == Code::kCancelled) return rate.status();
      if (rate.ok())
        cost.rate = *rate;
      else
        diagnosis_.others.push_back(
            fmt::format("the part '{}' by itself: could not be run: {}", cost.name, rate.status().message()));
    }
    if (left_out > 0)
      diagnosis_.others.push_back(
          fmt::format("{} of {} parts by themselves: not run, the time was over; those have "
                      "the fewest samples",
                      left_out, parts_.size()));
    rank_parts(diagnosis_.parts);
    return {};
  }

  // Without the consumer's work, which would hide what the part costs.
  Result<double> rate_alone(const PartPipeline& part) {
    FOREBAY_ASSIGN(const OpenLoader loader, trials_.open(part.alone));
    TrialContext context = trials_.context();
    context.step = {};
    FOREBAY_RETURN_IF_ERROR(take_batch(*loader, context));
    FOREBAY_ASSIGN(const Observation seen, observe(*loader, context, kRound));
    return seen.rates.front();
  }

  // Reports a change that cannot be tried, and continues with the others.
  Status try_change(const Change& change) {
    Result<Tried> tried = change.cache_behind || change.filled ? try_cache(change) : try_options(change);
    if (tried.status().code() == Code::kCancelled) return tried.status();
    if (!tried.ok()) {
      diagnosis_.others.push_back(fmt::format("{}: could not be tried: {}", change.name, tried.status().message()));
      return {};
    }
    Changed changed = with(description_, change);
    std::string name = change.name;
    if (change.filled && tried->bytes > cache_budget(baseline_seen_)) {
      const auto room = static_cast<uint64_t>(static_cast<double>(tried->bytes) * kRoomFactor);
      changed = with_cache_of(description_, room);
      name = fmt::format("give .cache() {}: all samples take about {}, and it may have {}", format_byte_size(room),
                         format_byte_size(tried->bytes), format_byte_size(cache_budget(baseline_seen_)));
    }
    candidates_.push_back({{std::move(name), tried->gain, tried->bytes,
                            Pipeline(std::make_shared<const Description>(std::move(changed.description))),
                            change.options, std::move(changed.steps)},
                           std::move(tried->limiter),
                           tried->before,
                           change.filled});
    return {};
  }

  // The speed of machines varies, so both run in turns, in alternating order. No round begins after
  // `end`.
  Result<Gain> measure_alternating(Loader& changed, Loader& before, const TrialLength& length, double end,
                                   Observation& seen) {
    std::vector<double> ratios;
    rates_before_.clear();
    const auto visit = [&](const Observation& now, const Observation& baseline) {
      seen = now;
      // Ratios within a round: the drift of the machine from minute to minute cancels out.
      ratios.push_back(now.rates.front() / baseline.rates.front());
      rates_before_.push_back(baseline.rates.front());
      if (&before == baseline_.get()) add_to_totals(baseline);
      return trials_.seconds() <= end;
    };
    FOREBAY_RETURN_IF_ERROR(observe_in_turns(changed, before, trials_.context(), length, kRounds, visit));
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    return Gain{median_of(ratios), *low, *high};
  }

  void add_to_totals(const Observation& seen) {
    base_samples_ += seen.samples;
    base_seconds_ += seen.seconds;
  }
  // If the store is slow, a window has only a few samples, and their sizes decide its rate. All
  // windows together have many samples, and a machine's drift does not change the time that reads
  // take.
  void pool_small_windows() {
    const Limit limit = diagnosis_.first.limit;
    if ((limit != Limit::kStorage && limit != Limit::kRequests) || base_seconds_ <= 0) return;
    for (Candidate& candidate : candidates_) {
      if (candidate.before <= 0) continue;
      const double off = candidate.before / (base_samples_ / base_seconds_);
      Gain& gain = candidate.remedy.gain;
      gain = {gain.middle * off, gain.low * off, gain.high * off};
    }
  }

  const TrialLength& round_length() const { return diagnosis_.first.limit == Limit::kCores ? kLongRound : kRound; }

  Result<Tried> compare(Loader& changed, const Change& change, uint64_t bytes) {
    Observation seen;
    OpenLoader before = baseline_;
    // The pipeline's own cache fills while it runs.
    if (change.filled) {
      // Compares with no cache at all, like a first epoch. Otherwise it would be compared with
      // itself.
      FOREBAY_ASSIGN(before, trials_.open(without_caches(description_), change.options));
    }
    FOREBAY_ASSIGN(Gain gain,
                   measure_alternating(changed, *before, round_length(), options_.budget_seconds + kOvertime, seen));
    // A cache that is full and too small keeps its partial gain, which the base windows had, too.
    // So the gain of the change is divided by that.
    if (change.filled && bytes > cache_budget(baseline_seen_)) {
      const double faster = median_of(baseline_seen_.rates) / median_of(rates_before_);
      gain = {gain.middle / faster, gain.low / faster, gain.high / faster};
    }
    const double as_it_was = before == baseline_ ? median_of(rates_before_) : 0;
    return Tried{gain, limiter_of(seen, change.options), as_it_was, bytes};
  }

  // Measures the changed pipeline as the user would run it.
  Status verify(const Remedy& remedy) {
    const double epoch = static_cast<double>(baseline_->size()) / median_of(baseline_seen_.rates);
    if (remedy.bytes > 0 && epoch > kLongestEpoch) {
      diagnosis_.others.push_back(
          fmt::format("verifying it: filling the cache takes {:.0f} s here, more than {:.0f}; run the "
                      "changed pipeline for an epoch and look at its report()",
                      epoch, kLongestEpoch));
      return {};
    }
    const Changed changed{remedy.pipeline.description(), remedy.steps};
    FOREBAY_ASSIGN(const OpenLoader loader, trials_.open(changed, remedy.options));
    if (remedy.bytes > 0) FOREBAY_RETURN_IF_ERROR(pass_epoch(*loader, trials_.context()));
    Observation seen;
    // The pipeline's own cache is full by now.
    OpenLoader before = baseline_;
    if (has_cache(description_) && remedy.bytes > 0) {
      FOREBAY_ASSIGN(before, trials_.open(without_caches(description_), remedy.options));
    }
    FOREBAY_ASSIGN(diagnosis_.verified,
                   measure_alternating(*loader, *before, kVerifyRound, std::numeric_limits<double>::infinity(), seen));
    return {};
  }

  Result<Tried> try_options(const Change& change) {
    FOREBAY_ASSIGN(const OpenLoader loader, trials_.open(with(description_, change), change.options));
    return compare(*loader, change, 0);
  }

  // Fills the cache by an epoch over few samples; then it is as from the second epoch on.
  Result<Tried> try_cache(const Change& change) {
    // A part is enough: the gain per sample does not depend on the number of samples, as long as
    // all fit.
    int64_t samples = trial_samples();
    if (const double filling = static_cast<double>(samples) / median_of(baseline_seen_.rates); filling > kLongestFill)
      return unavailable(
          fmt::format("to keep two batches takes {:.0f} s here, which is too long to wait for", filling));
    for (int attempt = 0;; ++attempt) {
      FOREBAY_ASSIGN(const Filled cache, fill_with_subset(change, samples, {{"ram", cache_bytes()}, {"disk", 0}}));
      // Some entries were too large to fit. Tries again with as many samples as did fit, less a
      // fifth, since these may be larger.
      if (cache.declined > 0 && cache.entries > 0 && attempt == 0) {
        samples =
            whole_batches(static_cast<int64_t>(static_cast<double>(samples) * 0.8 * static_cast<double>(cache.entries) /
                                               static_cast<double>(cache.entries + cache.declined)));
        continue;
      }
      if (cache.declined > 0) return out_of_budget("too few samples fit into memory to see what it gains", 0);
      const auto bytes = static_cast<uint64_t>(cache.bytes);
      const double in_memory = share_in_memory(change, bytes);
      if (in_memory < 1 && change.in_memory)
        return out_of_budget(fmt::format("all samples take about {} in memory, and {:.0f} % of that fits; on disk it "
                                         "would keep the rest",
                                         format_byte_size(bytes), 100 * in_memory),
                             bytes);
      if (in_memory < 1)
        return try_cache_partly_on_disk(change, samples, bytes, in_memory * static_cast<double>(cache.ram_bytes));
      return compare(*cache.loader, change, bytes);
    }
  }

  // Returns the share of a .cache() without arguments that is in memory. It reads the rest from
  // disk.
  double share_in_memory(const Change& change, uint64_t bytes) const {
    const uint64_t room = std::min(kUsualCacheBytes, max_cache_bytes(change.options.resources.memory));
    return change.filled || bytes <= room ? 1 : static_cast<double>(room) / static_cast<double>(bytes);
  }
  Result<Tried> try_cache_partly_on_disk(const Change& change, int64_t samples, uint64_t bytes, double ram) {
    FOREBAY_ASSIGN(const WorkingFolder folder, WorkingFolder::make());
    const Json args = {{"ram", static_cast<uint64_t>(ram)}, {"disk", cache_bytes()}, {"dir", folder.path()}};
    FOREBAY_ASSIGN(const Filled cache, fill_with_subset(change, samples, args));
    return compare(*cache.loader, change, bytes);
  }

  // Fills the caches of a change with few samples, part by part, then repeats each of these in the
  // whole pipeline until epochs are as long as those of all samples. With only the few samples, all
  // of them cached, the ends of epochs would take most of the time, and parts would lose their
  // shares.
  Result<Filled> fill_with_subset(const Change& change, int64_t samples, const Json& cache) {
    Filled filled;
    std::vector<OpenLoader> keeping;  // loaders of a process with the same cached content share it
    std::map<size_t, std::vector<OpSpec>> sources;
    for (const PartPipeline& part : parts_) {
      if (!is_about(change, part)) continue;
      const bool is_whole = parts_.size() == 1;
      const int64_t few =
          is_whole ? samples
                   : whole_batches(static_cast<int64_t>(static_cast<double>(samples) * sample_share_of(part)));
      FOREBAY_ASSIGN(const OpenLoader all, open_all(part));
      FOREBAY_ASSIGN(FilledPart one,
                     fill_part(part, change, {*all, samples_behind(*all, part.alone.description, few)}, cache));
      FOREBAY_RETURN_IF_ERROR(add_entries(*one.loader, *all, filled));
      if (is_whole && one.source.empty()) {
        filled.loader = std::move(one.loader);
        return filled;
      }
      sources[part.source] = std::move(one.source);
      keeping.push_back(std::move(one.loader));
    }
    FOREBAY_ASSIGN(filled.loader, trials_.open(with_sources(description_, change, cache, sources), change.options));
    if (entries_of(*filled.loader) == filled.entries) return filled;
    if (keeping.size() > 1 || parts_.size() > 1)
      return unavailable("the parts' entries are not found again in the whole pipeline");
    filled.loader = std::move(keeping.front());
    return filled;
  }

  static bool is_about(const Change& change, const PartPipeline& part) {
    return change.cache_behind ? part.has(*change.cache_behind) : keeps(part);
  }
  double sample_share_of(const PartPipeline& part) const {
    const auto found = std::ranges::find(diagnosis_.parts, part.name, &PartCost::name);
    return found == diagnosis_.parts.end() ? 1 : found->sample_share;
  }

  static uint64_t entries_of(const Loader& loader) {
    uint64_t entries = 0;
    for (const CacheStats& cache : loader.stats().caches) entries += cache.ram.entries + cache.disk.entries;
    return entries;
  }

  // Opens a loader over all samples of a part, each once an epoch.
  Result<OpenLoader> open_all(const PartPipeline& part) const {
    const Changed once = without_draws(part.alone.description);
    if (parts_.size() == 1 && once.description.step_count() == description_.step_count()) return baseline_;
    FOREBAY_ASSIGN(OpenLoader all, trials_.open(composed(part.alone, once)));
    FOREBAY_RETURN_IF_ERROR(all->prepare());
    return all;
  }

  // Adds what a part has in its cache.
  static Status add_entries(const Loader& loader, const Loader& all, Filled& filled) {
    const Ledger now = loader.stats();
    if (now.caches.empty()) return invalid_argument("nothing is kept there: what comes before it is in memory already");
    const TierStats& ram = now.caches.front().ram;
    filled.ram_bytes += ram.bytes;
    filled.entries += entries_of(loader);
    filled.declined += ram.declined;
    filled.bytes += static_cast<double>(ram.bytes) * cache_growth(loader, all, entries_of(loader));
    return {};
  }

  Result<FilledPart> fill_part(const PartPipeline& part, const Change& change, const Few& of, const Json& cache) {
    const int64_t samples = of.samples;
    Change here = change;
    if (here.cache_behind) here.cache_behind = part.alone.steps.places[*here.cache_behind];
    const auto over = [&](const Description& description, std::optional<int64_t> taken) {
      Changed changed = with_subset(description, here, taken, cache);
      changed.steps = composed(part.alone.steps, changed.steps);
      changed.steps.processes = change.processes;
      return changed;
    };
    std::shared_ptr<const Source>& versioned = with_versions_[part.source];
    if (!versioned) {
      FOREBAY_ASSIGN(OpenLoader loader, trials_.open(over(part.alone.description, samples), change.options));
      const OpSpec source = loader->opened().description().steps().front();
      // For a table, this would read whole row groups for a few rows.
      if (!supports_subset(source) || !loader->row_groups().empty()) {
        FOREBAY_RETURN_IF_ERROR(pass_epoch(*loader, trials_.context()));
        return FilledPart{std::move(loader), repeated_source(part, source, samples)};
      }
      versioned = source.opened;
    }
    const auto few = representative_subset(versioned, samples);
    FOREBAY_ASSIGN(OpenLoader loader,
                   trials_.open(over(with_source(part.alone.description, few), std::nullopt), change.options));
    FOREBAY_RETURN_IF_ERROR(pass_epoch(*loader, trials_.context()));
    OpSpec source = part.alone.description.steps().front();
    const int64_t times = epoch_of(part, of, versioned->size()) / few->size();
    if (times < 2 && parts_.size() == 1) return FilledPart{std::move(loader)};
    source.opened = representative_subset(versioned, samples, {.count = std::max<int64_t>(times, 1), .alike = true});
    return FilledPart{std::move(loader), {std::move(source)}};
  }

  // The samples of an epoch. A part keeps its length, on which shares depend.
  int64_t epoch_of(const PartPipeline& part, const Few& of, int64_t samples) const {
    const int64_t long_enough = kLongEpoch * std::max<int64_t>(batch_size(description_) * base_world(), 1);
    return parts_.size() > 1 ? samples
                             : samples_behind(of.all, part.alone.description, std::min(baseline_->size(), long_enough));
  }

  // The steps of a source that cannot have copies of its samples; none for the only data set, whose
  // few samples are then all that is run.
  std::vector<OpSpec> repeated_source(const PartPipeline& part, const OpSpec& opened, int64_t samples) const {
    if (parts_.size() == 1) return {};
    OpSpec source = part.alone.description.steps().front();
    source.opened = opened.opened;
    OpSpec take{"take", {{"n", samples}, {"spread", true}}, nullptr, ""};
    if (!source.opened || source.opened->size() <= samples) return {std::move(source)};
    const double times = static_cast<double>(source.opened->size()) / static_cast<double>(samples);
    return {std::move(source), std::move(take), {"repeat", {{"n", times}}, nullptr, ""}};
  }

  // Returns as many samples as are made in a few seconds without a trainer, and as fit.
  int64_t trial_samples() const {
    uint64_t most = 1;  // most bytes that a sample takes after any step
    for (const StepStats& step : baseline_seen_.after.steps) {
      // Assumes the largest form, since the place of the cache is unknown here. Too few samples are
      // safe; too many are declined.
      if (step.samples > 0) most = std::max(most, step.bytes_out / static_cast<uint64_t>(step.samples));
    }
    const double in_time = median_of(baseline_seen_.rates) * options_.pace * kWarmingSeconds;
    return whole_batches(static_cast<int64_t>(std::min(in_time, static_cast<double>(cache_bytes() / most))));
  }

  int64_t whole_batches(int64_t samples) const {
    const int64_t batch = std::max<int64_t>(batch_size(description_) * base_world(), 1);
    return std::min(std::max(samples / batch, kLeastBatches) * batch, baseline_->size());
  }
  // A cache has at most half of memory=.
  uint64_t cache_bytes() const {
    return std::min(options_.cache_bytes, trials_.options().resources.memory.value_or(UINT64_MAX) / 2);
  }
  int64_t base_world() const { return trials_.options().job.world_size.value_or(1); }

  void report_filter_pass() {
    const auto filters = [](const NumberedStep& one) {
      return catalog().has_effect(*one.step, OpEffect::kSelection) && catalog().find(one.step->name)->freezes;
    };
    if (std::ranges::none_of(numbered_steps(description_), filters)) return;
    const double epoch = static_cast<double>(baseline_->size()) / median_of(baseline_seen_.rates);
    if (diagnosis_.first_batch_seconds < kLongPass * epoch) return;
    diagnosis_.others.push_back(
        fmt::format("the first batch: it came after {:.1f} s, where an epoch takes {:.1f}; .filter() looks at all "
                    "samples before, and "
                    "a .cache() in front of it keeps what it reads for the epochs",
                    diagnosis_.first_batch_seconds, epoch));
  }

  void sort_remedies() {
    // Stable: of equal gains, the change that changes_for() listed first stays first.
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.remedy.gain.middle > b.remedy.gain.middle;
    });
    for (Candidate& candidate : candidates_) {
      Gain& gain = candidate.remedy.gain;
      if (gain.middle < kWorthIt) {
        diagnosis_.others.push_back(fmt::format("{}: tried, {:.2f} times as fast ({:.2f} to {:.2f})",
                                                candidate.remedy.change, gain.middle, gain.low, gain.high));
        continue;
      }
      // The best remedy comes first: the limit that it leaves is the next one.
      if (!diagnosis_.next) diagnosis_.next = std::move(candidate.limiter);
      diagnosis_.remedies.push_back(std::move(candidate.remedy));
    }
  }

  const Description& description_;
  const DiagnoseOptions& options_;
  const Trials trials_;
  OpenLoader baseline_;
  const std::vector<PartPipeline> parts_ = part_pipelines(description_);
  /// Data sets by their number, opened with a cache, so that they know their versions.
  std::map<size_t, std::shared_ptr<const Source>> with_versions_;
  Observation baseline_seen_;
  std::vector<double> rates_before_;            ///< rates of the reference, round by round
  double base_samples_ = 0, base_seconds_ = 0;  ///< of all windows of the pipeline as it is
  std::vector<Candidate> candidates_;
  Diagnosis diagnosis_;
};

}  // namespace

Result<Diagnosis> diagnose(const Pipeline& pipeline, const DiagnoseOptions& options) {
  return Study(pipeline, options).run();
}

}  // namespace forebay
