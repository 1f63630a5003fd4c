#include "study/changes.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "runtime/host.h"

namespace forebay {

namespace {

constexpr double kNearlyAll = 0.8;                            // share of the time
constexpr std::array<int, 3> kCallsAtOnce = {64, 256, 1024};  // threads
constexpr size_t kMaxTried = 2;                               // of kCallsAtOnce

OpSpec step_of(std::string name, Json args) { return {std::move(name), std::move(args), nullptr, {}, nullptr}; }

// Replaces each step by the steps that `become` returns. If the step itself stays, it is the first
// of them.
template <typename Become>
Changed rewritten(const Description& description, const Become& become) {
  Changed changed;
  for (size_t i = 0; i < description.steps().size(); ++i) {
    const std::vector<OpSpec> steps = become(i, description.steps()[i]);
    const size_t place = changed.description.steps().size();
    // The new place of a step that is left out is that of the step before it.
    changed.steps.places.push_back(steps.empty() ? place - 1 : place);
    // The source begins a description; any other step is appended.
    for (const OpSpec& step : steps)
      changed.description = i == 0 && &step == steps.data() ? Description(step) : changed.description.append(step);
  }
  return changed;
}

Json in_memory_args() { return {{"disk", 0}}; }

// A cache before a function that takes nearly all the time would save nothing, and take long to
// try.
void leave_out_useless(const Description& description, const Limiter& limiter, std::vector<size_t>& places) {
  if (limiter.limit != Limit::kUserCode || limiter.share <= kNearlyAll) return;
  const auto function = std::ranges::find_if(
      description.steps(), [](const OpSpec& step) { return catalog().has_role(step, OpRole::kFunction); });
  const auto at = static_cast<size_t>(function - description.steps().begin());
  std::erase_if(places, [&](size_t place) { return place < at; });
}

void add_caches(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                std::vector<Change>& changes, std::vector<std::string>& others) {
  if (find_step(description, OpEffect::kCaching) != nullptr) {
    // The trial shows whether the cache already has everything.
    changes.push_back({"let .cache() be filled", std::nullopt, options});
    changes.back().filled = true;
    return;
  }
  const std::vector<size_t> on_disk = cache_places(description, Json::object());
  std::vector<size_t> places = cache_places(description, in_memory_args());
  if (places.empty()) {
    others.emplace_back("a cache: there is no place where one may stand");
    return;
  }
  if (std::string missing = missing_version(description); !missing.empty()) others.push_back(std::move(missing));
  leave_out_useless(description, limiter, places);
  if (places.empty()) return;
  const auto add = [&](size_t step) {
    const bool in_memory = std::ranges::find(on_disk, step) == on_disk.end();
    changes.push_back(
        {fmt::format("put .cache({}) behind {}", in_memory ? "disk=0" : "", description.steps()[step].name), step,
         options});
    changes.back().in_memory = in_memory;
  };
  // The deepest place saves the most work; a cache after the source takes the least space.
  add(places.back());
  places.pop_back();
  if (!places.empty() && limiter.limit == Limit::kStorage) {
    add(places.front());
    places.erase(places.begin());
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) add(*place);
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

Status check_supported(const Description& description, const char* study) {
  FOREBAY_RETURN_IF_ERROR(expect_one_data_set(description, study));
  if (find_step(description, OpEffect::kPacking) == nullptr) return {};
  return unsupported(
      fmt::format("{} tries a part of the samples, and those are put into other blocks than all of them; "
                  "give it the pipeline without .pack(), which costs next to nothing itself",
                  study));
}

std::vector<size_t> cache_places(const Description& description, const Json& cache_args) {
  // After a step that only chooses or orders samples, a cache has the same entries as before it.
  std::vector<size_t> places;
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    // After shuffle or batch the same cache would be tried twice.
    const bool makes = i == 0 || catalog().has_effect(steps[i], OpEffect::kContent);
    if (makes && check(with_cache(description, i, cache_args, std::nullopt).description).empty()) places.push_back(i);
  }
  return places;
}

std::string missing_version(const Description& description) {
  const std::vector<size_t> on_disk = cache_places(description, Json::object());
  for (const size_t place : cache_places(description, in_memory_args())) {
    if (std::ranges::find(on_disk, place) != on_disk.end()) continue;
    for (size_t i = 0; i <= place; ++i) {
      const OpSpec& step = description.steps()[i];
      if (!is_unversioned(step, catalog())) continue;
      return fmt::format(
          "a cache on disk behind {}: {} has no version= to tell a later run whether it is still the same; "
          "give it version=\"1\", and another one when it changes",
          description.steps()[place].name, step.name);
    }
  }
  return "";
}

std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                const FunctionPlaces& functions, std::vector<std::string>& others) {
  std::vector<Change> changes;
  if (limiter.limit == Limit::kTrainer) return changes;
  // Threads of one interpreter take turns if the function computes in Python; the trial shows
  // whether it does.
  if (limiter.limit == Limit::kUserCode && functions.can_move)
    changes.push_back({R"(workers="processes" for your functions)", std::nullopt, options, true});
  if (limiter.limit == Limit::kUserCode && functions.on_threads) add_calls(options, changes);
  add_numbers(options, limiter, functions, changes, others);
  add_caches(description, options, limiter, changes, others);
  return changes;
}

Changed with(const Description& description, const Change& change) {
  Changed changed = change.cache_behind
                        ? with_cache(description, change.cache_behind,
                                     change.in_memory ? in_memory_args() : Json::object(), std::nullopt)
                        : rewritten(description, [](size_t, const OpSpec& step) { return std::vector{step}; });
  changed.steps.processes = change.processes;
  return changed;
}

Changed with_cache(const Description& description, std::optional<size_t> behind, const Json& cache_args,
                   std::optional<int64_t> samples) {
  return rewritten(description, [&](size_t i, const OpSpec& step) {
    std::vector<OpSpec> steps;
    if (!catalog().has_effect(step, OpEffect::kCaching)) steps.push_back(step);
    // Spread over the data set: the first samples may lie in one shard, or have one class and size.
    if (i == 0 && samples) steps.push_back(step_of("take", {{"n", *samples}, {"spread", true}}));
    if (behind == i) steps.push_back(step_of("cache", cache_args));
    return steps;
  });
}

Changed with_subset(const Description& description, const Change& change, std::optional<int64_t> samples,
                    const Json& cache_args) {
  std::optional<size_t> behind = change.cache_behind;
  for (size_t i = 1; i < description.steps().size() && change.filled; ++i)
    if (catalog().has_effect(description.steps()[i], OpEffect::kCaching)) behind = i;
  return with_cache(description, behind, cache_args, samples);
}

Changed without_caches(const Description& description) {
  return with_cache(description, std::nullopt, {}, std::nullopt);
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
