#include "study/changes.h"

#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "loader/check.h"
#include "loader/step_arguments.h"
#include "runtime/host.h"

namespace forebay {

namespace {

OpSpec step_of(std::string name, Json args) { return {std::move(name), std::move(args), nullptr, {}, nullptr}; }

Changed put_in(const Description& description, std::optional<size_t> cache_behind, const Json& cache_args,
               std::optional<int64_t> samples) {
  Changed changed;
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    changed.description = i == 0 ? Description(steps[0]) : changed.description.append(steps[i]);
    changed.steps.places.push_back(changed.description.steps().size() - 1);
    if (i == 0 && samples) changed.description = changed.description.append(step_of("take", {{"n", *samples}}));
    if (cache_behind == i) changed.description = changed.description.append(step_of("cache", cache_args));
  }
  return changed;
}

// Behind a step that only chooses or orders samples a cache keeps the same as before it.
std::vector<size_t> cache_places(const Description& description) {
  std::vector<size_t> places;
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    bool makes = i == 0;
    for (const OpRole role : {OpRole::kValues, OpRole::kChoice, OpRole::kNames, OpRole::kFunction})
      makes = makes || catalog().has_role(steps[i], role);
    if (makes && check(put_in(description, i, Json::object(), std::nullopt).description).empty()) places.push_back(i);
  }
  return places;
}

void add_caches(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                std::vector<Change>& changes, std::vector<std::string>& others) {
  if (find_step(description, OpRole::kKeep) != nullptr) {
    others.emplace_back("a cache elsewhere: there is one already; from the second epoch on it gives what it has kept");
    return;
  }
  std::vector<size_t> places = cache_places(description);
  if (places.empty()) {
    others.emplace_back("a cache: there is no place where one may stand");
    return;
  }
  const auto add = [&](size_t step) {
    changes.push_back({fmt::format("put .cache() behind {}", description.steps()[step].name), step, options});
  };
  // The deepest spares most work; the source's bytes alone take the least room.
  add(places.back());
  places.pop_back();
  if (!places.empty() && limiter.limit == Limit::kStorage) {
    add(places.front());
    places.erase(places.begin());
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) add(*place);
}

void add_numbers(const LoaderOptions& options, const Limiter& limiter, std::vector<Change>& changes,
                 std::vector<std::string>& others) {
  const auto add = [&](std::string name, const auto& change) {
    changes.push_back({std::move(name), std::nullopt, options});
    change(changes.back().options);
  };
  const int cores = usable_cores();
  if (options.requests && (limiter.limit == Limit::kStorage || limiter.limit == Limit::kRequests))
    add(R"(requests="auto")", [](LoaderOptions& with) { with.requests.reset(); });
  if (!options.memory && limiter.limit == Limit::kMemory)
    others.emplace_back("more memory: this is what the host has left for it; give memory= if that is wrong");
  const bool works = limiter.limit == Limit::kCompute || limiter.limit == Limit::kUserCode;
  if (works && options.threads && *options.threads < cores)
    add(fmt::format("threads={}", cores), [&](LoaderOptions& with) { with.threads = cores; });
  else if (works)
    others.push_back(
        fmt::format("more threads: all {} core{} that this process may use have one", cores, cores == 1 ? "" : "s"));
  if (limiter.limit == Limit::kCores)
    others.emplace_back("more cores: end what else runs on this host, or raise its quota of CPU time");
  if (limiter.limit == Limit::kUserCode) others.emplace_back("operators of the engine in place of your function");
  // Too little of it shows as waits for what could not be begun in time.
  if (options.memory) add(R"(memory="auto")", [](LoaderOptions& with) { with.memory.reset(); });
}

}  // namespace

std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                bool can_use_processes, std::vector<std::string>& others) {
  std::vector<Change> changes;
  if (limiter.limit == Limit::kTrainer) return changes;
  // Threads of one interpreter take turns where a function computes in Python; whether it does is found out by trying.
  if (limiter.limit == Limit::kUserCode && can_use_processes)
    changes.push_back({R"(workers="processes" for your functions)", std::nullopt, options, true});
  add_numbers(options, limiter, changes, others);
  add_caches(description, options, limiter, changes, others);
  return changes;
}

Changed with(const Description& description, const Change& change) {
  Changed changed = put_in(description, change.cache_behind, Json::object(), std::nullopt);
  changed.steps.processes = change.processes;
  return changed;
}

Changed with_few(const Description& description, const Change& change, int64_t samples, uint64_t cache_bytes) {
  return put_in(description, change.cache_behind, {{"ram", cache_bytes}, {"disk", 0}}, samples);
}

}  // namespace forebay
