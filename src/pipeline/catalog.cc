#include "pipeline/catalog.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "pipeline/batch_rules.h"
#include "pipeline/cache_rules.h"
#include "pipeline/user_fields.h"

namespace forebay {

Catalog::Catalog(std::vector<OpDef> ops, std::set<std::string, std::less<>> joining) : joining_(std::move(joining)) {
  for (OpDef& op : ops) ops_.emplace(op.name, std::move(op));
}

const OpDef* Catalog::find(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

bool Catalog::has_role(const OpSpec& op, OpRole role) const {
  const OpDef* const def = find(op.name);
  return def != nullptr && def->role == role;
}

bool Catalog::has_effect(const OpSpec& op, OpEffect effect) const {
  const OpDef* const def = find(op.name);
  return def != nullptr && def->effect == effect;
}

bool Catalog::has_own_draws(const OpSpec& source, const PipelinePart& part) const {
  return joins_parts(source) && &part != &source.parts.front() &&
         std::ranges::any_of(part.pipeline.steps(),
                             [&](const OpSpec& step) { return has_effect(step, OpEffect::kDrawing); });
}

bool Catalog::chooses_by_itself(const OpSpec& source, const PipelinePart& part) const {
  return has_own_draws(source, part) ||
         (joins_parts(source) && std::ranges::any_of(part.pipeline.steps(), [&](const OpSpec& step) {
            const OpDef* const def = find(step.name);
            return def != nullptr && (leaves_out_samples(def->effect) || def->effect == OpEffect::kRepeating);
          }));
}

std::string Catalog::nearest(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [op_name, op] : ops_) {
    if (!op.made_by_sources) known.push_back(op_name);
  }
  return suggest(name, known);
}

namespace {

// Follows a schema through the steps of a pipeline. Rules on the order of two steps are reported at
// the later one, so the state is that of the steps so far.
class SchemaInference {
 public:
  SchemaInference(const std::vector<OpSpec>& steps, const Catalog& catalog, Rules rules)
      : steps_(steps), catalog_(catalog), rules_(rules) {}

  Inference run(const Schema& source) && {
    result_.schemas.push_back(source);
    if (source.open_ended) expect_user_fields(steps_, 0, catalog_, result_.schemas[0]);
    for (size_t step = 1; step < steps_.size(); ++step) {
      Schema schema = result_.schemas.back();
      if (!steps_[step].parts.empty())
        report(Problem{place_of(step), "it has parts, and only a source has parts", "leave them out"});
      if (const OpDef* const def = catalog_.find(steps_[step].name)) {
        check_step(step, *def, schema);
      } else {
        report_unknown(step);
      }
      result_.schemas.push_back(std::move(schema));
    }
    return std::move(result_);
  }

 private:
  std::string place_of(size_t step) const { return forebay::place_of(steps_, step); }

  void report(std::optional<Problem> problem) {
    if (problem) result_.problems.push_back(std::move(*problem));
  }
  void report(std::vector<Problem> problems) {
    for (Problem& problem : problems) result_.problems.push_back(std::move(problem));
  }

  void report_unknown(size_t step) {
    const std::string& name = steps_[step].name;
    const std::string near = catalog_.nearest(name);
    report(Problem{place_of(step), fmt::format("there is no operator '{}'", name),
                   near.empty() ? "see the list of operators" : fmt::format("did you mean '{}'?", near)});
  }

  void check_step(size_t step, const OpDef& def, Schema& schema) {
    check_sequence(step, def);
    infer_schema(step, def, schema);
    if (rules_ == Rules::kAll) {
      report(cache_problems(steps_, step, catalog_));
      report(pack_problems(steps_, step, catalog_));
      report(block_step_problem(steps_, step, schema, catalog_));
      report(epoch_problem(steps_, step, catalog_));
      report(stacking_problems(steps_, step, schema, catalog_));
      report(batch_function_problems(steps_, step, schema, catalog_));
    }
    if (def.effect == OpEffect::kBatching) batched_by_ = def.name;
    if (schema.open_ended && def.role == OpRole::kFunction) expect_user_fields(steps_, step, catalog_, schema);
  }

  // Reports a step that may not follow those before it.
  void check_sequence(size_t step, const OpDef& def) {
    const OpEffect effect = def.effect;
    const bool batches = effect == OpEffect::kBatching, orders = effect == OpEffect::kOrder;
    const bool repeats = effect == OpEffect::kRepeating, draws = effect == OpEffect::kDrawing;
    const bool chooses = effect == OpEffect::kTaking || effect == OpEffect::kKeys || effect == OpEffect::kSelection;
    // Blocks that are made anew in each epoch take its samples as they come.
    const bool packs = effect == OpEffect::kPacking && !packs_each_epoch(steps_[step]);
    const std::string place = place_of(step);
    const bool after_batches = works_on_batches(effect);
    if (!batched_by_.empty() && !after_batches) {
      const std::string by = fmt::format(".{}()", batched_by_);
      report(Problem{place, batches ? "the samples are batched already" : "it stands behind " + by,
                     batches ? "keep one " + by
                     : def.role == OpRole::kFunction
                         ? fmt::format("move it before {}, or use .map_batch(fn) for whole batches", by)
                         : "move it before " + by});
    }
    report(rehearsal_problem(steps_, step, catalog_));
    if (orders && std::exchange(shuffled_, true))
      report(Problem{place, "the samples are shuffled already", "keep one .shuffle()"});
    if (repeated_ && (orders || chooses || draws || packs))
      report(Problem{place, "it stands behind .repeat(), which says how often an epoch passes over the samples",
                     packs ? "move it before .repeat(), or give it arrange=\"epoch\"" : "move it before .repeat()"});
    if (repeats && std::exchange(repeated_, true))
      report(
          Problem{place, "the samples are repeated already", "keep one .repeat(), with the product of both numbers"});
    if (drawn_by_ && (chooses || packs || effect == OpEffect::kReplay))
      report(Problem{place, fmt::format("it stands behind {}, which draws the samples of an epoch", *drawn_by_),
                     chooses ? "move it before that"
                     : packs ? "give .pack() arrange=\"epoch\", which packs the samples of each epoch as they are drawn"
                             : "leave one of them out: both together are not there yet"});
    if (draws && drawn_by_)
      report(Problem{place, fmt::format("{} draws the samples already", *drawn_by_), "keep one of them"});
    if (draws) drawn_by_ = place;
    if (effect == OpEffect::kBuffering && std::exchange(buffered_, true))
      report(Problem{place, "there is a .buffer() already", "keep one, with all that it is to do"});
  }

  void infer_schema(size_t step, const OpDef& def, Schema& schema) {
    std::vector<Problem> problems;
    def.follow(steps_[step], schema, problems);
    // Fields of other parts may be unknown until their data sets are open.
    if (!steps_[step].part.empty()) schema.open_ended |= result_.schemas.front().open_ended;
    for (Problem& problem : problems) {
      if (problem.op.empty()) problem.op = place_of(step);
    }
    report(std::move(problems));
  }

  const std::vector<OpSpec>& steps_;
  const Catalog& catalog_;
  const Rules rules_;
  Inference result_;
  std::optional<std::string> drawn_by_;  // the step that draws the samples
  // By a step so far:
  std::string batched_by_;
  bool shuffled_ = false, buffered_ = false, repeated_ = false;
};

}  // namespace

Inference infer(const Description& description, const Schema& source, const Catalog& catalog, Rules rules) {
  return SchemaInference(description.steps(), catalog, rules).run(source);
}

}  // namespace forebay
