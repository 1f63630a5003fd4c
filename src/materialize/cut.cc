#include "materialize/cut.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "forebay/profile.h"
#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

constexpr uint64_t kMaxLookedAt = uint64_t{256} << 20;  // bytes; entries may be whole chunks

const Json kCacheInMemory = {{"ram", uint64_t{1} << 30}, {"disk", 0}};

std::string names_of(const Description& description, const std::vector<size_t>& cuts) {
  std::vector<std::string> names;
  for (const size_t cut : cuts) names.push_back(description.steps()[cut].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Number of the steps in the parts of a zip, which come before it.
size_t steps_in_source(const Description& description) { return description.step_count() - description.steps().size(); }

// Removes .pack() and the steps on its blocks, which are after every cut, so steps before it keep
// their places.
Pipeline unpacked(const Description& description) {
  const size_t of_blocks = first_block_step(description);
  Description rest;
  for (size_t i = 0; i < description.steps().size(); ++i) {
    const OpSpec& step = description.steps()[i];
    if (catalog().has_effect(step, OpEffect::kPacking)) continue;
    if (i >= of_blocks && catalog().has_effect(step, OpEffect::kContent)) continue;
    rest = rest.steps().empty() ? Description(step) : rest.append(step);
  }
  return Pipeline(std::make_shared<const Description>(std::move(rest)));
}

// Converts a step number of a profile, which leaves caches out, into an index of the description.
size_t step_with_caches(const Description& description, size_t number) {
  size_t place = own_step(description, number);
  for (size_t i = 0; i < description.steps().size(); ++i) {
    if (catalog().has_effect(description.steps()[i], OpEffect::kCaching)) continue;
    if (place-- == 0) return i;
  }
  return description.steps().size() - 1;
}

Result<size_t> best_cut(const Pipeline& pipeline, const MaterializeOptions& options) {
  ProfileOptions how;
  how.loader = options.loader;
  how.open = options.open;
  how.stop = options.stop;
  how.poll = options.poll;
  how.files = trying_files("materialized", options);
  FOREBAY_ASSIGN(const Profile found, profile(unpacked(pipeline.description()), how));
  for (const Strategy& strategy : found.strategies)
    if (strategy.tier == StrategyTier::kFiles) return step_with_caches(pipeline.description(), *strategy.behind);
  for (const Strategy& strategy : found.strategies)
    if (strategy.tier == StrategyTier::kDisk && strategy.compression == options.compression)
      return step_with_caches(pipeline.description(), *strategy.behind);
  for (const Strategy& strategy : found.strategies)
    if (strategy.behind) return step_with_caches(pipeline.description(), *strategy.behind);
  return invalid_argument("no cut could be tried; name one with cut=");
}

bool is_materialized_step(const OpSpec& step) {
  for (const OpEffect effect : {OpEffect::kBatching, OpEffect::kCaching, OpEffect::kOrder})
    if (catalog().has_effect(step, effect)) return false;
  return true;
}

OpSpec step_named(const char* name, Json args) {
  OpSpec step;
  step.name = name;
  step.args = std::move(args);
  return step;
}

void add(Changed& changed, OpSpec step) {
  changed.description =
      changed.description.steps().empty() ? Description(std::move(step)) : changed.description.append(std::move(step));
}

}  // namespace

std::vector<size_t> materialize_cuts(const Pipeline& pipeline) {
  // Functions without a version may be cached in memory only; a user who materialises them accepts
  // that they run once.
  std::vector<size_t> cuts = cache_places(pipeline.description(), kCacheInMemory);
  for (size_t& cut : cuts) cut = own_step(pipeline.description(), cut);
  return cuts;
}

size_t own_step(const Description& description, size_t number) { return number - steps_in_source(description); }

Status check_parts(const Description& description) {
  if (description.steps().empty()) return {};  // check() tells what is missing
  const OpSpec& source = description.steps().front();
  if (!catalog().is_one_branch(source)) {
    constexpr size_t kMostNamed = 3;
    const bool by_name = source.name == "mix";
    std::string of, commands;
    for (size_t i = 0; i < std::min(source.parts.size(), kMostNamed); ++i) {
      const std::string& name = source.parts[i].name;
      of += fmt::format("{}{}fb.materialized(\"FOLDER/{}\")", i == 0 ? "" : ", ",
                        by_name ? fmt::format("\"{}\": ", name) : "", name);
      commands += fmt::format("\n  forebay materialize {}.json FOLDER/{}", name, name);
    }
    if (source.parts.size() > kMostNamed) of += ", …", commands += "\n  …";
    return unsupported(fmt::format(
        "materialize() is not for a {} of {} data sets: it writes one, and which sample comes when is "
        "decided in training. Materialise each part by itself, and {} what was written: fb.{}({}{}{}). With "
        "each part as a pipeline of its own:{}",
        source.name, source.parts.size(), source.name, source.name, by_name ? "{" : "", of, by_name ? "}" : "",
        commands));
  }
  for (const PipelinePart& part : source.parts) {
    if (find_step(part.pipeline, OpEffect::kDrawing) != nullptr)
      return unsupported(
          fmt::format("materialize() is not for a zip whose part '{0}' is drawn anew for each sample in each epoch; "
                      "materialise '{0}' and the other parts by themselves, and zip what was written",
                      part.name));
    if (find_step(part.pipeline, OpEffect::kOrder) != nullptr)
      return unsupported(
          fmt::format("materialize(): '{}' is shuffled within the zip; put .shuffle() behind the zip, "
                      "which gives the pairs an order that stays with what is written",
                      part.name));
  }
  return {};
}

std::optional<size_t> cut_of(const Description& description, const std::string& steps) {
  for (const size_t cut : materialize_cuts(Pipeline(std::make_shared<const Description>(description))))
    if (steps_before(description, cut).steps == steps) return cut;
  return std::nullopt;
}

Result<size_t> find_cut(const Description& description, const MaterializeOptions& options,
                        const std::optional<std::string>& begun) {
  const Pipeline pipeline(std::make_shared<const Description>(description));
  const std::vector<size_t> cuts = materialize_cuts(pipeline);
  if (cuts.empty()) return invalid_argument("there is nothing to materialise: no step gives the same in each epoch");
  // A new measurement might choose another cut, and make the shards that are done useless.
  if (options.cut == "best" && begun) {
    if (const std::optional<size_t> same = cut_of(description, *begun)) return *same;
  }
  if (options.cut == "best" && cuts.size() > 1) return best_cut(pipeline, options);
  if (options.cut == "last" || options.cut == "best") return cuts.back();
  const auto found = std::find_if(cuts.rbegin(), cuts.rend(),
                                  [&](size_t cut) { return description.steps()[cut].name == options.cut; });
  if (found != cuts.rend()) return *found;
  return invalid_argument(
      fmt::format("no step {} can be cut behind; there are: {}", options.cut, names_of(description, cuts)));
}

Status check_cut(const Description& description, size_t cut) {
  for (size_t i = 1; i <= cut; ++i) {
    const OpSpec& step = description.steps()[i];
    constexpr OpEffect kChoices[] = {OpEffect::kTaking, OpEffect::kKeys, OpEffect::kSelection, OpEffect::kDrawing,
                                     OpEffect::kRepeating};
    if (std::ranges::any_of(kChoices, [&](OpEffect effect) { return catalog().has_effect(step, effect); }))
      return invalid_argument(fmt::format(
          "step {}: {} chooses samples before the cut, and all samples are materialised; put it behind the cut", i,
          step.name));
  }
  return {};
}

Changed before_cut(const Description& description, size_t cut, int64_t batch, std::shared_ptr<const Source> source,
                   std::optional<int64_t> samples) {
  Changed changed;
  const std::vector<OpSpec>& steps = description.steps();
  const size_t inner = steps_in_source(description);
  for (size_t number = 0; number < inner; ++number) changed.steps.places.push_back(number);
  for (size_t i = 0; i < steps.size(); ++i) {
    changed.steps.places.push_back(kGone);
    if (i > cut || !is_materialized_step(steps[i])) continue;
    changed.steps.places.back() = inner + changed.description.steps().size();
    OpSpec step = steps[i];
    if (i == 0 && source) step.opened = source;
    add(changed, std::move(step));
    if (i == 0 && samples) add(changed, step_named("take", {{"n", *samples}, {"spread", true}}));
  }
  // A cache makes the source keep the versions of its objects, which identify samples. An open
  // source is not opened again, and a cache without versions would only log that it caches nothing.
  if (samples && steps.front().opened == nullptr)
    add(changed, step_named("cache", {{"ram", kMaxLookedAt}, {"disk", 0}}));
  add(changed, step_named("batch", {{"n", batch}}));
  return changed;
}

Changed pipeline_after_cut(const Description& description, size_t cut, const std::string& folder) {
  Changed changed;
  changed.steps.places.assign(steps_in_source(description) + 1, kGone);
  add(changed, step_named("materialized", {{"url", folder}}));
  const std::vector<OpSpec>& steps = description.steps();
  for (size_t i = 1; i < steps.size(); ++i) {
    // Caches before the cut are not needed: that data is on disk now.
    const bool done = i <= cut && !catalog().has_effect(steps[i], OpEffect::kOrder);
    changed.steps.places.push_back(done ? kGone : changed.description.steps().size());
    if (!done) add(changed, steps[i]);
  }
  return changed;
}

}  // namespace forebay
