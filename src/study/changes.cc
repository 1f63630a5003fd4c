#include "study/changes.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/byte_size.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "runtime/host.h"
#include "study/blame.h"
#include "study/part_pipelines.h"

namespace forebay {

namespace {

constexpr double kNearlyAll = 0.8;                            // share of the time
constexpr std::array<int, 3> kCallsAtOnce = {64, 256, 1024};  // threads
constexpr size_t kMaxTried = 2;                               // of kCallsAtOnce

OpSpec step_of(std::string name, Json args) { return {std::move(name), std::move(args), nullptr, {}, nullptr}; }

Json in_memory_args() { return {{"disk", 0}}; }

// The pipelines of a tree with the data sets that go through them.
struct Pipelines {
  explicit Pipelines(const Description& description)
      : steps(numbered_steps(description)), parts(part_pipelines(description)) {}

  bool every_part_with(size_t number, const std::function<bool(const PartPipeline&)>& holds) const {
    return std::ranges::all_of(parts, [&](const PartPipeline& part) { return !part.has(number) || holds(part); });
  }

  const std::vector<NumberedStep> steps;
  const std::vector<PartPipeline> parts;
};

// A cache before a function that takes nearly all the time would save nothing, and take long to
// try.
bool is_before_functions(const PartPipeline& part, size_t number) {
  const std::vector<OpSpec>& steps = part.alone.description.steps();
  const auto function =
      std::ranges::find_if(steps, [](const OpSpec& step) { return catalog().has_role(step, OpRole::kFunction); });
  const size_t joined = Description(steps.front()).step_count() - 1;  // steps in the source
  return part.alone.steps.places[number] < joined + static_cast<size_t>(function - steps.begin());
}

// Share of the time of the parts that a step's pipeline has; 1 if that is unknown.
double time_share_of(const NumberedStep& step, const std::vector<PartCost>& parts) {
  if (parts.empty() || step.part.empty()) return 1;
  double share = 0;
  for (const PartCost& part : parts)
    if (part.name == step.part || part.name.starts_with(step.part + "/"))
      share += part.rate ? part.time_share : part.sample_share;
  return share;
}

// A place for a cache. `turn` counts the places of one pipeline.
struct CachePlace {
  size_t number;
  double share;
  size_t turn;
};

// The deepest place saves the most work; a cache after the source takes the least space, and is
// tried second if the store is the limit. So the places of each pipeline are ordered. Those of
// different pipelines take turns, the costliest pipeline first.
std::vector<CachePlace> ordered_places(const std::vector<size_t>& places, const Pipelines& tree,
                                       const std::vector<PartCost>& costs, Limit limit) {
  std::map<std::string, std::vector<size_t>> by_pipeline;
  for (const size_t place : places) by_pipeline[tree.steps[place].part].push_back(place);
  std::vector<CachePlace> ordered;
  for (auto& [pipeline, of] : by_pipeline) {
    std::ranges::reverse(of);
    if (limit == Limit::kStorage && of.size() > 2) std::rotate(of.begin() + 1, of.end() - 1, of.end());
    for (size_t turn = 0; turn < of.size(); ++turn)
      ordered.push_back({of[turn], time_share_of(tree.steps[of[turn]], costs), turn});
  }
  std::ranges::stable_sort(ordered, [](const CachePlace& a, const CachePlace& b) {
    return a.turn != b.turn ? a.turn < b.turn : a.share > b.share;
  });
  return ordered;
}

void add_caches(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                const std::vector<PartCost>& costs, std::vector<Change>& changes, std::vector<std::string>& others) {
  const Pipelines tree(description);
  const bool filling = std::ranges::any_of(tree.parts, [](const PartPipeline& part) { return keeps(part); });
  if (std::string drawn = drawn_anew(description); !drawn.empty()) others.push_back(std::move(drawn));
  if (filling) {
    // The trial shows whether the cache already has everything.
    changes.push_back({"let .cache() be filled", std::nullopt, options});
    changes.back().filled = true;
  }
  const auto wanted = [&](size_t number) {
    // Even without any work, a part that takes a share s of the time would gain 1 / (1 - s).
    return 1 - time_share_of(tree.steps[number], costs) < 1 / kWorthIt &&
           tree.every_part_with(number, [](const PartPipeline& part) { return !has_cache(part.alone.description); });
  };
  std::vector<size_t> places = cache_places(description, in_memory_args(), wanted);
  if (places.empty()) {
    if (!filling) others.emplace_back("a cache: there is no place where one may stand");
    return;
  }
  const std::vector<size_t> on_disk = cache_places(description, Json::object(), wanted);
  if (std::string missing = missing_version(description); !missing.empty()) others.push_back(std::move(missing));
  if (limiter.limit == Limit::kUserCode && limiter.share > kNearlyAll) {
    std::erase_if(places, [&](size_t place) {
      return tree.every_part_with(place, [&](const PartPipeline& part) { return is_before_functions(part, place); });
    });
  }
  for (const CachePlace& place : ordered_places(places, tree, costs, limiter.limit)) {
    const bool in_memory = std::ranges::find(on_disk, place.number) == on_disk.end();
    changes.push_back(
        {fmt::format("put .cache({}) behind {}", in_memory ? "disk=0" : "", tree.steps[place.number].name()),
         place.number, options});
    changes.back().in_memory = in_memory;
  }
}

// For functions that wait for storage or a service, and release the interpreter's lock meanwhile.
// Idle threads cost little, so there may be far more of them than cores. Their number also decides
// how many rows are in progress, which the number of calls follows.
void add_calls(const LoaderOptions& options, std::vector<Change>& changes) {
  size_t tried = 0;
  for (const int threads : kCallsAtOnce) {
    if (threads <= std::max(options.resources.threads.value_or(0), usable_cores()) || tried == kMaxTried) continue;
    changes.push_back(
        {fmt::format("threads={}, for as many calls of your functions at once", threads), std::nullopt, options});
    changes.back().options.resources.threads = threads;
    ++tried;
  }
}

void add_numbers(const LoaderOptions& options, const Limiter& limiter, const FunctionPlaces& functions,
                 std::vector<Change>& changes, std::vector<std::string>& others) {
  const auto add = [&](std::string name, const auto& change) {
    changes.push_back({std::move(name), std::nullopt, options});
    change(changes.back().options);
  };
  const int cores = usable_cores();
  if (options.resources.requests && (limiter.limit == Limit::kStorage || limiter.limit == Limit::kRequests))
    add(R"(requests="auto")", [](LoaderOptions& with) { with.resources.requests.reset(); });
  if (!options.resources.memory && limiter.limit == Limit::kMemory)
    others.emplace_back("more memory: this is what the host has left for it; give memory= if that is wrong");
  // The number of cores does not limit calls of functions: see add_calls().
  const bool works = limiter.limit == Limit::kCompute || (limiter.limit == Limit::kUserCode && !functions.on_threads);
  if (works && options.resources.threads && *options.resources.threads < cores)
    add(fmt::format("threads={}", cores), [&](LoaderOptions& with) { with.resources.threads = cores; });
  else if (works)
    others.push_back(
        fmt::format("more threads: all {} core{} that this process may use have one", cores, cores == 1 ? "" : "s"));
  if (limiter.limit == Limit::kCores)
    others.emplace_back("more cores: end what else runs on this host, or raise its quota of CPU time");
  if (limiter.limit == Limit::kUserCode) others.emplace_back("operators of the engine in place of your function");
  // Too little memory shows as waits for work that could not begin in time.
  if (options.resources.memory) add(R"(memory="auto")", [](LoaderOptions& with) { with.resources.memory.reset(); });
}

}  // namespace

bool has_cache(const Description& description) {
  return std::ranges::any_of(numbered_steps(description), [](const NumberedStep& one) {
    return catalog().has_effect(*one.step, OpEffect::kCaching);
  });
}

bool keeps(const PartPipeline& part) { return part.drawn.empty() && has_cache(part.alone.description); }

std::vector<size_t> cache_places(const Description& description, const Json& cache_args,
                                 const std::function<bool(size_t)>& wanted) {
  // After a step that only chooses or orders samples, a cache has the same entries as before it.
  std::vector<size_t> places;
  const std::vector<NumberedStep> steps = numbered_steps(description);
  const Pipelines tree(description);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!tree.every_part_with(i, [](const PartPipeline& part) { return part.drawn.empty(); })) continue;
    // After shuffle or batch the same cache would be tried twice.
    const bool is_data_set = steps[i].is_source && catalog().is_one_branch(*steps[i].step);
    const bool makes = is_data_set || catalog().has_effect(*steps[i].step, OpEffect::kContent);
    if (!makes || steps[i].in_zip || (wanted && !wanted(i))) continue;
    if (check(with_cache(description, i, cache_args, std::nullopt).description).empty()) places.push_back(i);
  }
  return places;
}

std::string drawn_anew(const Description& description) {
  for (const PartPipeline& part : part_pipelines(description)) {
    if (part.drawn.empty()) continue;
    return fmt::format(
        "a cache behind the zip: each pass joins other samples of '{}', so hardly any result comes again; "
        "fb.materialize the parts in front of their draws, and zip these",
        fmt::join(part.drawn, "', '"));
  }
  return "";
}

std::string missing_version(const Description& description) {
  for (const PartPipeline& part : part_pipelines(description)) {
    const std::vector<NumberedStep> steps = numbered_steps(part.alone.description);
    const std::vector<size_t> on_disk = cache_places(part.alone.description, Json::object());
    for (const size_t place : cache_places(part.alone.description, in_memory_args())) {
      if (std::ranges::find(on_disk, place) != on_disk.end()) continue;
      for (size_t i = 0; i <= place; ++i) {
        const OpSpec& step = *steps[i].step;
        if (!is_unversioned(step, catalog())) continue;
        return fmt::format(
            "a cache on disk behind {}: {} has no version= to tell a later run whether it is still the same; "
            "give it version=\"1\", and another one when it changes",
            steps[place].step->name, step.name);
      }
    }
  }
  return "";
}

std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                const FunctionPlaces& functions, std::vector<std::string>& others,
                                const std::vector<PartCost>& parts) {
  std::vector<Change> changes;
  if (limiter.limit == Limit::kTrainer) return changes;
  // Threads of one interpreter take turns if the function computes in Python; the trial shows
  // whether it does.
  if (limiter.limit == Limit::kUserCode && functions.can_move)
    changes.push_back({R"(workers="processes" for your functions)", std::nullopt, options, true});
  if (limiter.limit == Limit::kUserCode && functions.on_threads) add_calls(options, changes);
  add_numbers(options, limiter, functions, changes, others);
  add_caches(description, options, limiter, parts, changes, others);
  return changes;
}

Changed with(const Description& description, const Change& change) {
  Changed changed = rewritten(description, [&](size_t number, const OpSpec& step) {
    std::vector<OpSpec> steps = {step};
    if (change.cache_behind == number)
      steps.push_back(step_of("cache", change.in_memory ? in_memory_args() : Json::object()));
    return steps;
  });
  changed.steps.processes = change.processes;
  return changed;
}

Changed with_cache(const Description& description, std::optional<size_t> behind, const Json& cache_args,
                   std::optional<int64_t> samples) {
  const std::vector<PartPipeline> parts = samples ? part_pipelines(description) : std::vector<PartPipeline>();
  return rewritten(description, [&](size_t number, const OpSpec& step) {
    std::vector<OpSpec> steps;
    if (!catalog().has_effect(step, OpEffect::kCaching)) steps.push_back(step);
    // Spread over the data set: the first samples may lie in one shard, or have one class and size.
    if (std::ranges::find(parts, number, &PartPipeline::source) != parts.end())
      steps.push_back(step_of("take", {{"n", *samples}, {"spread", true}}));
    if (behind == number) steps.push_back(step_of("cache", cache_args));
    return steps;
  });
}

Changed with_subset(const Description& description, const Change& change, std::optional<int64_t> samples,
                    const Json& cache_args) {
  std::optional<size_t> behind = change.cache_behind;
  const std::vector<NumberedStep> steps = numbered_steps(description);
  for (size_t i = 0; i < steps.size() && change.filled; ++i)
    if (catalog().has_effect(*steps[i].step, OpEffect::kCaching)) behind = i;
  Changed changed = with_cache(description, behind, cache_args, samples);
  const Changed once = without_draws(changed.description);
  return {once.description, composed(changed.steps, once.steps)};
}

Changed with_sources(const Description& description, const Change& change, const Json& cache_args,
                     const std::map<size_t, std::vector<OpSpec>>& sources) {
  Changed changed = rewritten(description, [&](size_t number, const OpSpec& step) {
    const auto source = sources.find(number);
    std::vector<OpSpec> steps = source == sources.end() ? std::vector{step} : source->second;
    // The opened parts are those of the original.
    if (!catalog().is_one_branch(step)) steps.front().opened = nullptr;
    if (change.filled && catalog().has_effect(step, OpEffect::kCaching)) steps.front().args = cache_args;
    if (change.cache_behind == number) steps.push_back(step_of("cache", cache_args));
    return steps;
  });
  changed.steps.processes = change.processes;
  return changed;
}

Changed without_caches(const Description& description) {
  return with_cache(description, std::nullopt, {}, std::nullopt);
}

Changed without_draws(const Description& description) {
  const std::vector<NumberedStep> steps = numbered_steps(description);
  return rewritten(description, [&](size_t number, const OpSpec& step) {
    const bool draws =
        catalog().has_effect(step, OpEffect::kDrawing) || catalog().has_effect(step, OpEffect::kRepeating);
    return draws && !steps[number].in_zip ? std::vector<OpSpec>() : std::vector{step};
  });
}

Changed with_cache_of(const Description& description, uint64_t bytes) {
  return rewritten(description, [&](size_t, const OpSpec& step) {
    OpSpec changed = step;
    // Without a disk tier ("disk": 0), memory is the larger tier.
    if (catalog().has_effect(step, OpEffect::kCaching))
      changed.args[changed.args.value("disk", Json()) == Json(0) ? "ram" : "disk"] = bytes;
    return std::vector{std::move(changed)};
  });
}

}  // namespace forebay
