#include "study/profile_parts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "forebay/ledger.h"
#include "study/changes.h"
#include "study/estimate.h"
#include "study/filling.h"
#include "study/observation.h"
#include "study/part_costs.h"
#include "study/part_pipelines.h"
#include "study/sample_cost.h"
#include "study/strategies.h"
#include "study/trials.h"
#include "study/working_folder.h"

namespace forebay {

namespace {

constexpr double kProfilingTime = 0.8;  // share of the time in which parts are profiled
constexpr TrialLength kWholeAsItIs{.windows = 6, .window_seconds = 0.3};
constexpr TrialLength kWholeTurn{.windows = 1, .window_seconds = 0.5};
constexpr int kWholeTurns = 4;
constexpr double kWholeOvertime = 10;

// A part with what its own profile found.
struct Part {
  const PartPipeline& pipeline;
  double share = 0;  // of the samples
  std::vector<Strategy> strategies = {};

  bool profiled() const { return !strategies.empty(); }
  const Strategy& unchanged() const { return *std::ranges::find(strategies, StrategyTier::kNothing, &Strategy::tier); }
};

// A strategy for each part that was profiled, by the number of the part.
using Choice = std::map<size_t, const Strategy*>;

void add(SampleCost& sum, const SampleCost& cost, double share) {
  sum.cpu_seconds += share * cost.cpu_seconds;
  sum.other_seconds += share * cost.other_seconds;
  sum.store_seconds += share * cost.store_seconds;
  sum.stored_bytes += share * cost.stored_bytes;
  sum.stored_reads += share * cost.stored_reads;
}

void add(Estimate& sum, const Estimate& one) {
  sum.value += one.value;
  sum.low = sum.low && one.low ? std::optional(*sum.low + *one.low) : std::nullopt;
  sum.high = sum.high && one.high ? std::optional(*sum.high + *one.high) : std::nullopt;
}

class PartsProfile {
 public:
  PartsProfile(const Pipeline& pipeline, const ProfileOptions& options)
      : options_(options), trials_(options), plain_(without_caches(pipeline.description())),
        pipelines_(part_pipelines(plain_.description)), steps_(numbered_steps(plain_.description)) {
    profile_.weights = options.weights;
    for (const PartPipeline& one : pipelines_) parts_.push_back({one});
  }

  Result<Profile> run() {
    FOREBAY_RETURN_IF_ERROR(measure_baseline());
    FOREBAY_RETURN_IF_ERROR(profile_each());
    add_choices();
    rank_strategies(profile_.strategies, profile_.weights, profile_.size);
    FOREBAY_RETURN_IF_ERROR(verify_best());
    add_parts();
    profile_.seconds = trials_.seconds();
    return std::move(profile_);
  }

 private:
  Status measure_baseline() {
    FOREBAY_ASSIGN(baseline_, trials_.open(plain_));
    FOREBAY_ASSIGN(const Observation seen, observe(*baseline_, trials_.context(), kWholeAsItIs));
    FOREBAY_RETURN_IF_ERROR(wait_until_idle(*baseline_, trials_.context()));
    FOREBAY_ASSIGN(const std::vector<double> shares, shares_of_parts(*baseline_, parts_.size()));
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i].share = shares[i];
    profile_.size = baseline_->size();
    profile_.threads = seen.after.threads;
    Strategy unchanged;
    unchanged.name = "nothing kept";
    unchanged.rate = mean_of(seen.rates);
    unchanged.preparation_seconds = times(inverse(unchanged.rate), static_cast<double>(profile_.size));
    unchanged.pipeline = pipeline_of(plain_);
    unchanged.steps = plain_.steps;
    unchanged.bytes = {0, 0, 0};
    unchanged.preparing = unchanged.kept = cost_between(seen.before, seen.after, unchanged.rate.value);
    whole_ = unchanged;
    profile_.strategies.push_back(std::move(unchanged));
    return {};
  }

  // Profiles the parts with the most samples first, and gives each an equal part of the time left.
  Status profile_each() {
    std::vector<size_t> order;
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].share > 0) order.push_back(i);
    std::ranges::sort(order, std::greater(), [&](size_t part) { return parts_[part].share; });
    for (size_t done = 0; done < order.size(); ++done) {
      Part& part = parts_[order[done]];
      const double left = kProfilingTime * options_.budget_seconds - trials_.seconds();
      if (left <= 0 && done > 0) {
        profile_.others.push_back(fmt::format("the part '{}': not tried, the time was over", part.pipeline.name));
        continue;
      }
      Result<Profile> found = profile(pipeline_of(part.pipeline.alone),
                                      options_of(part, std::max(left, 0.0) / static_cast<double>(order.size() - done)));
      if (found.status().code() == Code::kCancelled) return found.status();
      if (!found.ok()) {
        profile_.others.push_back(
            fmt::format("the part '{}': could not be run by itself: {}", part.pipeline.name, found.status().message()));
        continue;
      }
      profile_.samples += found->samples;
      for (const std::string& other : found->others)
        profile_.others.push_back(fmt::format("the part '{}': {}", part.pipeline.name, other));
      part.strategies = std::move(found->strategies);
    }
    return {};
  }

  ProfileOptions options_of(const Part& part, double seconds) const {
    ProfileOptions options = options_;
    options.budget_seconds = seconds;
    options.files = {};
    if (options_.samples)
      options.samples = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(*options_.samples) * part.share), 1);
    if (!options_.open) return options;
    const ChangedSteps to_part = composed(plain_.steps, part.pipeline.alone.steps);
    options.open = [this, to_part](const Pipeline& pipeline, const LoaderOptions& with, const ChangedSteps& steps) {
      return options_.open(pipeline, with, composed(to_part, steps));
    };
    return options;
  }

  // The number of a part's step in the whole pipeline.
  static size_t number_of(const Part& part, size_t behind) {
    const std::vector<size_t>& places = part.pipeline.alone.steps.places;
    return static_cast<size_t>(std::ranges::find(places, behind) - places.begin());
  }
  bool is_shared(size_t number) const {
    return std::ranges::count_if(parts_, [&](const Part& part) { return part.pipeline.has(number); }) > 1;
  }

  // The best strategy of a part whose cut no other part has.
  const Strategy& own_best(const Part& part, bool in_memory) const {
    return *std::ranges::find_if(part.strategies, [&](const Strategy& one) {
      if (!one.behind) return one.tier == StrategyTier::kNothing;
      return (in_memory || one.tier != StrategyTier::kMemory) && !is_shared(number_of(part, *one.behind));
    });
  }

  Choice own_bests(bool in_memory) const {
    Choice choice;
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].profiled()) choice[i] = &own_best(parts_[i], in_memory);
    return choice;
  }

  void add_choices() {
    std::vector<Choice> choices = {own_bests(true), own_bests(false)};
    for (size_t number = 0; number < steps_.size(); ++number)
      if (is_shared(number)) add_shared(number, choices);
    std::vector<Choice> tried;
    for (Choice& choice : choices) {
      const bool keeps =
          std::ranges::any_of(choice, [](const auto& one) { return one.second->tier != StrategyTier::kNothing; });
      if (!keeps || std::ranges::find(tried, choice) != tried.end()) continue;
      Strategy strategy = strategy_of(choice);
      tried.push_back(choice);
      const uint64_t room = trials_.memory_room();
      if (const double memory = memory_of(choice); memory > static_cast<double>(room)) {
        profile_.others.push_back(fmt::format("{}: together they take {} of memory, and {} are left for them",
                                              strategy.name, format_byte_size(static_cast<uint64_t>(memory)),
                                              format_byte_size(room)));
        continue;
      }
      choices_[strategy.name] = choice;
      profile_.strategies.push_back(std::move(strategy));
    }
  }

  // Adds one cache behind several parts, where all of them could be tried with it. The other parts
  // have their own best.
  void add_shared(size_t number, std::vector<Choice>& choices) const {
    const auto same = [&](const Part& part, const Strategy& kind) {
      return std::ranges::find_if(part.strategies, [&](const Strategy& one) {
        return one.behind && number_of(part, *one.behind) == number && one.tier == kind.tier &&
               one.compression == kind.compression;
      });
    };
    const auto first =
        std::ranges::find_if(parts_, [&](const Part& part) { return part.profiled() && part.pipeline.has(number); });
    if (first == parts_.end()) return;
    for (const Strategy& kind : first->strategies) {
      if (!kind.behind || number_of(*first, *kind.behind) != number) continue;
      Choice choice = own_bests(true);
      bool everywhere = true;
      for (auto& [part, strategy] : choice) {
        if (!parts_[part].pipeline.has(number)) continue;
        const auto found = same(parts_[part], kind);
        everywhere = everywhere && found != parts_[part].strategies.end();
        if (everywhere) strategy = &*found;
      }
      if (everywhere) choices.push_back(std::move(choice));
    }
  }

  static double memory_of(const Choice& choice) {
    double bytes = 0;
    for (const auto& [part, strategy] : choice)
      if (strategy->tier == StrategyTier::kMemory) bytes += strategy->bytes.value * strategy->fits;
    return bytes;
  }

  // What a choice saves of the measured time of the whole pipeline. Without parts that were not
  // profiled, and without overlap, this is the weighted harmonic mean.
  Estimate rate_of(const Choice& choice) const {
    double before = 0;
    Estimate after{0, 0.0, 0.0};  // `low` and `high` by the bounds of the rates
    for (const auto& [part, strategy] : choice) {
      const double share = parts_[part].share;
      before += share / parts_[part].unchanged().rate.value;
      const Estimate& rate = strategy->rate;
      add(after, {share / rate.value, rate.low ? std::optional(share / std::max(*rate.low, 1e-9)) : std::nullopt,
                  rate.high ? std::optional(share / *rate.high) : std::nullopt});
    }
    const double whole = 1 / whole_.rate.value;
    const double scale = std::min(1.0, whole / before);
    const auto rate_for = [&](double seconds) { return 1 / (whole - scale * before + scale * seconds); };
    Estimate rate{rate_for(after.value)};
    if (after.low) rate.low = rate_for(*after.low);
    if (after.high) rate.high = rate_for(*after.high);
    return rate;
  }

  Strategy strategy_of(const Choice& choice) const {
    Strategy whole;
    whole.bytes = whole.preparation_seconds = {0, 0.0, 0.0};
    whole.fits = 0;
    double share = 0;
    std::map<size_t, const Strategy*> caches;  // by the number of the step
    for (const auto& [part, strategy] : choice) {
      share += parts_[part].share;
      whole.fits += parts_[part].share * strategy->fits;
      whole.entries += strategy->entries;
      add(whole.bytes, strategy->bytes);
      add(whole.preparation_seconds, strategy->preparation_seconds);
      add(whole.preparing, strategy->preparing, parts_[part].share);
      add(whole.kept, strategy->kept, parts_[part].share);
      if (!strategy->behind) continue;
      whole.tier = std::max(whole.tier, strategy->tier);
      caches.emplace(number_of(parts_[part], *strategy->behind), strategy);
    }
    whole.fits /= share;
    whole.rate = rate_of(choice);
    if (whole.preparation_seconds.value < whole_.preparation_seconds.value)
      whole.preparation_seconds = whole_.preparation_seconds;
    for (const auto& [number, strategy] : caches) {
      whole.name += (whole.name.empty() ? "" : "; ") +
                    strategy_name(steps_[number].name(), strategy->tier, strategy->compression);
      if (caches.size() == 1) whole.behind = number, whole.compression = strategy->compression;
    }
    const Changed changed = with_caches(choice, "");
    whole.pipeline = pipeline_of(changed);
    whole.steps = composed(plain_.steps, changed.steps);
    return whole;
  }

  // The whole pipeline with the caches of a choice. Those on disk are in `folder`, if given. Parts
  // behind which one cache stands have its budget each.
  Changed with_caches(const Choice& choice, const std::string& folder) const {
    std::map<size_t, OpSpec> caches;
    for (const auto& [part, strategy] : choice) {
      if (!strategy->behind) continue;
      OpSpec& cache = caches[number_of(parts_[part], *strategy->behind)];
      const Json args = written_cache_args(*strategy, folder);
      if (cache.name.empty() || larger(args, cache.args)) cache = {"cache", args, nullptr, {}, nullptr};
    }
    return rewritten(plain_.description, [&](size_t number, const OpSpec& step) {
      const auto cache = caches.find(number);
      return cache == caches.end() ? std::vector{step} : std::vector{step, cache->second};
    });
  }
  static bool larger(const Json& a, const Json& b) {
    return a["ram"].get<uint64_t>() + a["disk"].get<uint64_t>() > b["ram"].get<uint64_t>() + b["disk"].get<uint64_t>();
  }

  // Runs the whole pipeline with the best choice, and ranks anew.
  Status verify_best() {
    Strategy& best = profile_.strategies.front();
    if (best.tier == StrategyTier::kNothing) return {};
    const double computed = best.rate.value;
    const Status status = trials_.seconds() + best.preparation_seconds.value > options_.budget_seconds + kWholeOvertime
                              ? unavailable(fmt::format("filling its caches takes about {:.0f} s; give more time",
                                                        best.preparation_seconds.value))
                              : measure_whole(best);
    if (status.code() == Code::kCancelled) return status;
    profile_.others.push_back(
        status.ok() ? fmt::format("{}: {:.0f} samples/s when the whole pipeline ran with it; {:.0f} from its parts, by "
                                  "the weighted harmonic mean, as the others",
                                  best.name, best.rate.value, computed)
                    : fmt::format("{}: its speed is from those of its parts, by the weighted harmonic mean; the whole "
                                  "was not run with it: {}",
                                  best.name, status.message()));
    rank_strategies(profile_.strategies, profile_.weights, profile_.size);
    return {};
  }

  Status measure_whole(Strategy& best) {
    FOREBAY_ASSIGN(const WorkingFolder folder, WorkingFolder::make());
    const Changed whole = with_caches(choices_.at(best.name), folder.path());
    // Loaders of a process with the same cached content share it.
    std::vector<OpenLoader> filled;
    for (const PartPipeline& part : part_pipelines(whole.description)) {
      if (!has_cache(part.alone.description)) continue;
      FOREBAY_ASSIGN(OpenLoader loader, trials_.open(composed(composed(plain_, whole), part.alone)));
      FOREBAY_RETURN_IF_ERROR(fill_what_fits(*loader, trials_.context()).status());
      filled.push_back(std::move(loader));
    }
    FOREBAY_ASSIGN(const OpenLoader loader, trials_.open(composed(plain_, whole)));
    std::vector<Group> turns;
    FOREBAY_RETURN_IF_ERROR(observe_in_turns(*loader, *baseline_, trials_.context(), kWholeTurn, kWholeTurns,
                                             [&](const Observation& kept, const Observation& as_it_is) {
                                               turns.push_back({as_it_is.rates.front(), kept.rates.front()});
                                               return true;
                                             }));
    const Estimate rate = times(ratio_of(turns), whole_.rate.value);
    best.kept = scaled_cost(best.kept, rate.value / best.rate.value);
    best.rate = rate;
    return {};
  }

  void add_parts() {
    for (const Part& part : parts_) {
      PartProfile told{{part.pipeline.name, part.share}, part.strategies};
      if (part.profiled()) told.cost.rate = part.unchanged().rate.value;
      profile_.parts.push_back(std::move(told));
    }
    std::vector<PartCost> costs;
    for (const PartProfile& part : profile_.parts) costs.push_back(part.cost);
    rank_parts(costs);
    for (PartProfile& part : profile_.parts) part.cost = *std::ranges::find(costs, part.cost.name, &PartCost::name);
    std::ranges::sort(profile_.parts, std::greater(), [](const PartProfile& part) { return part.cost.time_share; });
  }

  static Pipeline pipeline_of(const Changed& changed) {
    return Pipeline(std::make_shared<const Description>(changed.description));
  }

  const ProfileOptions& options_;
  const Trials trials_;
  const Changed plain_;
  const std::vector<PartPipeline> pipelines_;
  const std::vector<NumberedStep> steps_;
  std::vector<Part> parts_;
  OpenLoader baseline_;
  Strategy whole_;                         ///< nothing kept
  std::map<std::string, Choice> choices_;  ///< by the names of their strategies
  Profile profile_;
};

}  // namespace

Result<Profile> profile_parts(const Pipeline& pipeline, const ProfileOptions& options) {
  return PartsProfile(pipeline, options).run();
}

}  // namespace forebay
