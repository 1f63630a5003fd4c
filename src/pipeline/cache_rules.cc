#include "pipeline/cache_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

/// Whether a cache stores entries on disk, which is the default. The operator's own check reports
/// malformed sizes.
bool stores_on_disk(const OpDef& def, const OpSpec& cache) {
  const Json disk = def.given(cache, ArgUse::kDiskBytes);
  if (disk.is_string()) return parse_byte_size(disk.get<std::string>()).value_or(1) != 0;
  return !disk.is_number() || disk != 0;
}

}  // namespace

bool is_unversioned(const OpSpec& op, const Catalog& catalog) {
  // A data set without a version makes the identity of each of its samples one of this process.
  return catalog.has_role(op, OpRole::kFunction) && !catalog.find(op.name)->made_by_sources &&
         !catalog.find(op.name)->given(op, ArgUse::kVersion).is_string();
}

bool is_random_step(const OpSpec& op, const Catalog& catalog) {
  const OpDef* def = catalog.find(op.name);
  return def != nullptr && (def->random || def->given(op, ArgUse::kRandom) == Json(true));
}

bool follows_epoch(const OpSpec& op) { return op.args.is_object() && op.args.value("epoch", Json()) == Json(true); }

std::optional<Problem> epoch_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  const OpDef* const def = catalog.find(steps[step].name);
  if (def == nullptr || !(def->freezes || def->measures)) return {};
  const auto end = steps.begin() + static_cast<std::ptrdiff_t>(step);
  const auto matters = [&](const OpSpec& op) {
    return follows_epoch(op) && (steps[step].part.empty() || op.part == steps[step].part);
  };
  const auto epoch_step = static_cast<size_t>(std::find_if(steps.begin(), end, matters) - steps.begin());
  if (epoch_step == step) return {};
  return Problem{place_of(steps, step),
                 fmt::format("it stands behind {}, which follows the epoch, and what that gives in one epoch would be "
                             "taken for all of them",
                             place_of(steps, epoch_step)),
                 def->measures ? "use .batch(n)"
                 : epoch_step > 0 && !catalog.find(steps[epoch_step].name)->made_by_sources
                     ? fmt::format("put .{}() before {}", def->name, place_of(steps, epoch_step))
                     : fmt::format("leave .{}() out; or give fb.Dataset(…, epoch=False), where items do not depend on "
                                   "what set_epoch() was told",
                                   def->name)};
}

bool rehearses_here(const OpSpec& op, const Catalog& catalog) {
  return catalog.has_effect(op, OpEffect::kReplay) && op.args.value("where", Json()) == "here";
}

std::optional<Problem> rehearsal_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  const auto rehearsal = std::find_if(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step),
                                      [&](const OpSpec& op) { return catalog.has_effect(op, OpEffect::kReplay); });
  const OpEffect effect = catalog.find(steps[step].name)->effect;
  if (rehearsal == steps.begin() + static_cast<std::ptrdiff_t>(step)) return std::nullopt;
  const std::string place = place_of(steps, step);
  if (catalog.find(steps[step].name)->measures)
    return Problem{place,
                   "it stands behind .rehearse(), and batches of like lengths with old samples are not there yet",
                   "use .batch(n), or leave .rehearse() out"};
  if (effect == OpEffect::kBatching || works_on_batches(effect)) return std::nullopt;
  if (effect != OpEffect::kContent) return Problem{place, "it stands behind .rehearse()", "move it before .rehearse()"};
  if (rehearses_here(*rehearsal, catalog)) return std::nullopt;
  return Problem{place, "it stands behind .rehearse(), which only .batch() may follow",
                 "move it before .rehearse(), or give where=\"here\": old samples then come in as they were there"};
}

std::optional<Problem> shared_entries_problem(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  const OpSpec& cache = steps[step];
  const bool on_disk = stores_on_disk(*catalog.find(cache.name), cache);
  const auto problem = [&](size_t other, const char* why, const char* remedy) {
    return Problem{place_of(steps, step),
                   fmt::format("a zip that is read in chunks keeps the fields of all parts together, and {} {}",
                               place_of(steps, other), why),
                   remedy};
  };
  for (size_t i = 1; i < step; ++i) {
    const OpSpec& op = steps[i];
    if (op.part.empty() || op.part == cache.part) continue;
    if (is_random_step(op, catalog))
      return problem(i, "draws anew in every epoch", "put that step behind the zip, or leave .cache() out");
    if (follows_epoch(op))
      return problem(i, "follows the epoch", "put its part behind this one, or leave .cache() out");
    if (on_disk && is_unversioned(op, catalog))
      return problem(i, "runs a function that a later run could not tell from an older one",
                     "give .map(…, version=\"1\"), or use .cache(disk=0)");
  }
  return std::nullopt;
}

std::vector<Problem> pack_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  if (!catalog.has_effect(steps[step], OpEffect::kPacking)) return {};
  for (size_t i = 1; i < step; ++i) {
    if (!is_random_step(steps[i], catalog)) continue;
    return {{place_of(steps, step),
             fmt::format("it stands behind {}, which draws anew in every epoch, and lengths are taken once",
                         place_of(steps, i)),
             "do what is random on the batch, in the training loop"}};
  }
  return {};
}

std::vector<Problem> cache_problems(const std::vector<OpSpec>& steps, size_t step, const Catalog& catalog) {
  std::vector<Problem> problems;
  const OpDef* const def = catalog.find(steps[step].name);
  if (def == nullptr || def->effect != OpEffect::kCaching) return problems;
  const std::string place = place_of(steps, step);
  // Other parts of a zip have no fields in the entries of a part.
  const auto matters = [&](size_t i) { return steps[step].part.empty() || steps[i].part == steps[step].part; };
  for (size_t i = 1; i < step; ++i) {
    if (matters(i) && is_random_step(steps[i], catalog)) {
      problems.push_back({place,
                          fmt::format("it stands behind {}, which draws anew in every epoch: the results would be "
                                      "frozen",
                                      place_of(steps, i)),
                          fmt::format("put .cache() before {}", place_of(steps, i))});
      break;
    }
  }
  for (size_t i = 1; i < step && stores_on_disk(*def, steps[step]); ++i) {
    if (matters(i) && is_unversioned(steps[i], catalog)) {
      problems.push_back({place,
                          fmt::format("a later run cannot tell whether the function of {} is still the same, and "
                                      "would get results of an older one from the disk",
                                      place_of(steps, i)),
                          "give .map(…, version=\"1\") and change it with the function, or use .cache(disk=0), or put "
                          ".cache() before it"});
    }
  }
  if (step > 1 && matters(step - 1) && catalog.has_effect(steps[step - 1], OpEffect::kCaching)) {
    problems.push_back({place, fmt::format("{} keeps the same already", place_of(steps, step - 1)),
                        "keep one .cache(); it has a tier in memory and one on disk"});
  }
  return problems;
}

}  // namespace forebay
