#include "pipeline/batch_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/columns.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

// Rows that differ only in their first axis become (values, offsets), or are padded.
bool can_be_stacked(const Field& field) {
  return field.kind != FieldKind::kTensor || field.shape.fully_known() || is_ragged(field);
}

const char* shape_remedy(const Field& field) {
  if (field.image) return "put .resize(size), .center_crop or .random_resized_crop before .batch";
  const bool channels = field.shape.rank() > 1 && field.shape[0] == Shape::kUnknown;
  if (field.sound != SoundForm::kNone && channels)
    return "give .decode_audio(mono=True), or the number of channels, and put .pad_or_crop(seconds) behind it";
  if (field.sound == SoundForm::kSpectra) return "put .pad_or_crop(seconds) before what makes spectra of the samples";
  if (field.sound == SoundForm::kSamples) return "put .pad_or_crop(seconds) before .batch";
  return "give it one shape in .map, or use .batch(1)";
}

bool is_collated(const std::vector<OpSpec>& steps, const Catalog& catalog) {
  return std::ranges::any_of(steps, [&](const OpSpec& op) { return catalog.has_effect(op, OpEffect::kCollation); });
}

Problem place_problem(const std::vector<OpSpec>& steps, size_t step, std::string message, std::string remedy) {
  return {place_of(steps, step), std::move(message), std::move(remedy)};
}

}  // namespace

std::vector<Problem> stacking_problems(const std::vector<OpSpec>& steps, size_t step, const Schema& before,
                                       const Catalog& catalog) {
  std::vector<Problem> problems;
  if (!catalog.has_effect(steps[step], OpEffect::kBatching) || is_collated(steps, catalog)) return problems;
  if (steps[step].args.is_object() && steps[step].args.value("n", Json()) == 1) return problems;
  for (const Field& field : before) {
    if (can_be_stacked(field)) continue;
    problems.push_back(place_problem(steps, step,
                                     fmt::format("samples of the field '{}' may differ in shape, {}, and a batch needs "
                                                 "one",
                                                 field.name, field.shape.to_string()),
                                     fmt::format("{}; .collate(fn) gets samples as they are", shape_remedy(field))));
  }
  return problems;
}

bool packs_each_epoch(const OpSpec& pack) {
  return pack.args.is_object() && pack.args.value("arrange", Json()) == "epoch";
}

std::optional<Problem> block_step_problem(const std::vector<OpSpec>& steps, size_t step, const Schema& behind,
                                          const Catalog& catalog) {
  const auto begin = steps.begin(), here = begin + static_cast<std::ptrdiff_t>(step);
  const auto pack =
      std::find_if(begin, here, [&](const OpSpec& op) { return catalog.has_effect(op, OpEffect::kPacking); });
  if (pack == here) return std::nullopt;
  const OpDef& def = *catalog.find(here->name);
  const auto problem = [&](std::string message, std::string remedy) {
    return std::optional(place_problem(steps, step, std::move(message), std::move(remedy)));
  };
  if (def.measures && packs_each_epoch(*pack))
    return problem("it makes batches of like lengths, and all blocks have one length", "use .batch(n)");
  if (def.effect == OpEffect::kOrder || def.effect == OpEffect::kRepeating || def.effect == OpEffect::kBatching ||
      works_on_batches(def.effect))
    return std::nullopt;
  if (def.effect != OpEffect::kContent)
    return problem("it stands behind .pack(), which puts samples together", "move it before .pack()");
  if (def.role == OpRole::kFunction) {
    if (here->attachment == nullptr) return std::nullopt;
    return problem("it stands behind .pack(), and C++ functions on packed blocks are not there yet",
                   "move it before .pack(), or do it with the batch");
  }
  if (!def.compile_columns)
    return problem("it stands behind .pack(), and works on single samples, not on blocks of them",
                   "move it before .pack(), or use .map(fn), which gets each block");
  const auto function =
      std::find_if(pack, here, [&](const OpSpec& op) { return catalog.has_role(op, OpRole::kFunction); });
  if (function != here)
    return problem(fmt::format("it stands behind {}, whose fields are known when its blocks are there",
                               place_of(steps, static_cast<size_t>(function - begin))),
                   "put it directly behind .pack(), or do it in the function");
  const auto padded = std::ranges::find_if(behind, [](const Field& field) { return field.pad_value.has_value(); });
  if (padded == behind.end()) return std::nullopt;
  return problem(fmt::format("the field '{}' of blocks cannot be padded", padded->name),
                 "give .pack() max_segments=: its ends of segments then have one length");
}

std::vector<Problem> batch_function_problems(const std::vector<OpSpec>& steps, size_t step, const Schema& before,
                                             const Catalog& catalog) {
  const OpDef& def = *catalog.find(steps[step].name);
  if (!works_on_batches(def.effect)) return {};
  const auto has = [&](OpEffect effect) {
    return std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step),
                       [&](const OpSpec& op) { return catalog.has_effect(op, effect); });
  };
  if (!has(OpEffect::kBatching))
    return {place_problem(steps, step, "it works on whole batches, and there is no .batch() before it",
                          "put it behind .batch(n); .map(fn) works on single samples")};
  if (has(OpEffect::kCollation))
    return {place_problem(steps, step, "it stands behind .collate(), whose function makes the batch",
                          "call its function in that of .collate()")};
  if (def.effect != OpEffect::kCollation) return {};
  std::vector<Problem> problems;
  if (has(OpEffect::kBatchFunction))
    problems.push_back(place_problem(steps, step, "it stands behind .map_batch(), and gets samples",
                                     "put it directly behind .batch(n), and call the other functions in its own"));
  for (const Field& field : before) {
    if (field.pad_value)
      problems.push_back(place_problem(
          steps, step,
          fmt::format("the field '{}' is padded where rows are stacked, and .collate() gets samples apart", field.name),
          "leave .pad() out, and pad in the function of .collate(); or use .map_batch()"));
  }
  return problems;
}

}  // namespace forebay
