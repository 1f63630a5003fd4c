#include "loader/describe/tree_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loader/describe/check.h"
#include "loader/describe/missing_fields.h"
#include "loader/describe/packed_parts.h"
#include "loader/describe/source_args.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/stream_parts.h"
#include "loader/describe/unbounded_rules.h"
#include "loader/describe/zip_rules.h"
#include "pipeline/batch_rules.h"
#include "pipeline/branches.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

using Path = std::vector<std::string>;
using Advice = std::pair<std::string, std::string>;

std::string place_in(const Path& path, size_t index, const OpSpec& op) {
  return fmt::format("{}{}{}: {}", fmt::join(path, "/"), path.empty() ? "" : ": ", index, op.name);
}

bool has_parts(const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  return !source.parts.empty() || (def != nullptr && def->kind == SourceKind::kParts);
}

std::optional<Advice> advice_in_part(OpEffect effect) {
  switch (effect) {
    case OpEffect::kBatching:
      return Advice("a part of a larger pipeline has no batches of its own", "put it behind all parts");
    case OpEffect::kBatchFunction:
    case OpEffect::kCollation:
      return Advice("a part of a larger pipeline has no batches of its own",
                    "put it behind the .batch() of all parts; .map(fn) works on the samples of a part");
    case OpEffect::kReplay:
      return Advice("old samples are added to the batches, which have samples of all parts", "put it behind all parts");
    default: return std::nullopt;
  }
}

// The advice for a `.pack()` in a part, whose blocks the pipeline around it counts.
std::optional<Advice> advice_for_blocks_in_part(const OpSpec& pack, const OpSpec& source) {
  if (has_parts(source) && !catalog().joins_parts(source))
    return Advice("blocks that samples of several parts share are of all parts", "put it behind all parts");
  if (packs_each_epoch(pack))
    return Advice(
        "the blocks of a part are made once: how many there are decides how often the part comes",
        "leave arrange= out; or put .pack() behind all parts, whose samples then share blocks, anew in each epoch");
  return std::nullopt;
}

// The advice for a `.pack()` behind parts.
std::optional<Advice> advice_for_shared_blocks(const OpSpec& pack) {
  const Json arrange = pack.args.is_object() ? pack.args.value("arrange", Json()) : Json();
  if (arrange != "once") return std::nullopt;
  return Advice("samples of several parts follow each other in another way in each epoch, and so do their blocks",
                "leave arrange= out; or pack the parts, whose blocks stay as they are");
}

// The advice for a `.rehearse()` behind parts.
std::optional<Advice> advice_for_replay(const OpSpec& rehearse) {
  if (!rehearses_here(rehearse, catalog())) return std::nullopt;
  return Advice("where=\"here\" behind several parts is not there yet",
                "leave where= out: old samples then go through the steps of their part again");
}

// Of a step behind a source with the parts `a`, `b`, ….
std::optional<Advice> advice_behind_parts(OpEffect effect, const OpSpec& source) {
  const SourceDef* const def = find_source(source.name);
  const bool mixes = def != nullptr && def->mixes_parts;
  switch (effect) {
    case OpEffect::kOrder:
      return mixes ? Advice("each part has an order of its own, and a mix puts them together",
                            "shuffle the parts: mix({\"a\": a.shuffle(), …})")
                   : Advice("parts that follow each other are not shuffled together",
                            "shuffle the parts: concat(a.shuffle(), …); or use mix(), which without weights shuffles "
                            "over all parts");
    case OpEffect::kTaking:
      return Advice(
          "which samples come first is decided in each part",
          mixes
              ? "take from the parts: mix({\"a\": a.take(n), …}); samples= gives the length of an epoch, with weights="
              : "take from the parts: concat(a.take(n), …)");
    case OpEffect::kDrawing:
      return Advice("how often a sample comes is decided in its part",
                    mixes ? "put it into the parts; weights= and samples= of the mix decide between them"
                          : "put it into the parts");
    case OpEffect::kBuffering:
      return Advice(".buffer() is for streams, and not for all parts",
                    "put it into the part that is a stream, or leave it out; memory= bounds what is read ahead");
    default: return std::nullopt;
  }
}

// Finds the problems that show in the tree itself, without following fields.
class Structure {
 public:
  std::vector<Problem> problems;
  /// Steps of a tree whose problem was reported; their order in a branch matters no more.
  std::set<std::string> wrong_places;

  // Returns for each branch below whether its fields can be followed. `parted`: the source whose part
  // the description is; null if it is none.
  std::vector<bool> walk(const Description& description, const Path& path, const OpSpec* parted) {
    if (description.steps().empty()) return {false};
    const OpSpec& source = description.steps().front();
    const size_t before_source = problems.size();
    for (Problem& problem : check_source(source)) {
      problem.op = place_in(path, 0, source);
      problems.push_back(std::move(problem));
    }
    const size_t before_part = problems.size();
    if (parted != nullptr) check_in_part(description, path);
    if (parted != nullptr && is_unbounded(source)) check_stream(description, path, *parted);
    const bool good_part = problems.size() == before_part;
    if (!has_parts(source)) return {problems.size() == before_source};
    std::vector<bool> branches = walk_parts(source, path);
    if (catalog().joins_parts(source)) {
      const size_t before_joined = problems.size();
      for (const PipelinePart& part : source.parts) check_in_zip(source, part, path);
      branches.assign(1, problems.size() == before_joined && std::ranges::find(branches, false) == branches.end());
    } else {
      check_behind_parts(description, path);
    }
    if (!good_part) std::fill(branches.begin(), branches.end(), false);
    return branches;
  }

 private:
  void add(std::string place, std::string message, std::string remedy) {
    wrong_places.insert(place);
    problems.push_back({std::move(place), std::move(message), std::move(remedy)});
  }

  std::vector<bool> walk_parts(const OpSpec& source, const Path& path) {
    const std::string place = place_in(path, 0, source);
    if (source.parts.empty()) {
      add(place, "there are no parts", "give pipelines without .batch(), each with a name");
      return {false};
    }
    if (path.size() >= kDeepestParts) {
      add(place, fmt::format("parts nest deeper than {} levels", kDeepestParts), "put the inner parts into outer ones");
      return {false};
    }
    std::set<std::string> names;
    std::vector<bool> branches;
    for (const PipelinePart& part : source.parts) {
      if (part.name.empty() || part.name.find('/') != std::string::npos)
        add(place, fmt::format("a part is called '{}'", part.name),
            "give it a name of at least one letter without '/', which is for parts within parts");
      if (!names.insert(part.name).second)
        add(place, fmt::format("two parts are called '{}'", part.name), "give each part another name");
      if (part.pipeline.steps().empty())
        add(place, fmt::format("the part '{}' is empty", part.name), "begin it with a source");
      Path inner = path;
      inner.push_back(part.name);
      for (const bool good : walk(part.pipeline, inner, &source)) branches.push_back(good);
    }
    return branches;
  }

  void check_in_part(const Description& description, const Path& path) {
    const size_t of_blocks = first_block_step(description);
    for (size_t i = 1; i < description.steps().size(); ++i) {
      const OpSpec& op = description.steps()[i];
      const OpDef* const def = catalog().find(op.name);
      if (def == nullptr) continue;
      std::optional<Advice> wrong = advice_in_part(def->effect);
      if (def->effect == OpEffect::kPacking) wrong = advice_for_blocks_in_part(op, description.steps().front());
      if (wrong) add(place_in(path, i, op), wrong->first, wrong->second);
      if (i >= of_blocks && def->effect == OpEffect::kContent)
        add(place_in(path, i, op), "packed blocks of a part are changed together with those of the others",
            "put it behind all parts, or before .pack()");
    }
  }

  void check_stream(const Description& description, const Path& path, const OpSpec& parted) {
    const std::string place = place_in(path, 0, description.steps().front());
    if (const auto wrong = wrong_place_of_stream(parted)) add(place, wrong->first, wrong->second);
  }

  void check_in_zip(const OpSpec& source, const PipelinePart& part, Path path) {
    path.push_back(part.name);
    const PartOrder order = &part == &source.parts.front()          ? PartOrder::kFirst
                            : catalog().has_own_draws(source, part) ? PartOrder::kOwn
                                                                    : PartOrder::kOther;
    const std::vector<OpSpec>& steps = part.pipeline.steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::string place = place_in(path, i, steps[i]);
      if (wrong_places.contains(place)) continue;
      auto wrong = i == 0 ? wrong_source_in_zip(steps[i]) : wrong_step_in_zip(steps[i], order);
      if (!wrong) wrong = unnamed_fields_in_zip(std::span(steps).subspan(i));
      if (wrong) add(place, wrong->first, wrong->second);
    }
  }

  void check_behind_parts(const Description& description, const Path& path) {
    bool repeated = false;
    std::string batched_by;
    for (size_t i = 1; i < description.steps().size(); ++i) {
      const OpSpec& op = description.steps()[i];
      const std::string place = place_in(path, i, op);
      const OpDef* const def = catalog().find(op.name);
      if (def == nullptr || wrong_places.contains(place)) continue;
      std::optional<Advice> wrong = advice_behind_parts(def->effect, description.steps().front());
      if (def->effect == OpEffect::kPacking) wrong = advice_for_shared_blocks(op);
      if (def->effect == OpEffect::kReplay) wrong = advice_for_replay(op);
      if (wrong) add(place, wrong->first, wrong->second);
      if (def->effect == OpEffect::kRepeating) check_repeat(op, *def, place, batched_by, std::exchange(repeated, true));
      if (def->effect == OpEffect::kBatching) batched_by = fmt::format(".{}()", op.name);
    }
  }

  // A repetition of all parts is in no branch, so it is checked here.
  void check_repeat(const OpSpec& op, const OpDef& def, const std::string& place, const std::string& batched_by,
                    bool repeated) {
    Schema unused;
    std::vector<Problem> found;
    def.infer(op, unused, found);
    for (const Problem& problem : found) add(place, problem.message, problem.remedy);
    if (!batched_by.empty()) add(place, "it stands behind " + batched_by, "move it before " + batched_by);
    if (repeated)
      add(place, "the samples are repeated already", "keep one .repeat(), with the product of both numbers");
  }
};

std::string quoted_names(const std::vector<const Branch*>& branches) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(branches.size(), kMost); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", branches[i]->name());
  return branches.size() > kMost ? fmt::format("{} and {} more", text, branches.size() - kMost) : text;
}

// Puts the problems of branches together: a step behind several parts has a problem once if it is
// the same in all of them.
class BranchProblems {
 public:
  void add_branch(const Branch& branch) {
    std::set<std::string> places;
    for (size_t i = 0; i < branch.description.steps().size(); ++i)
      places.insert(place_of(branch.description.steps(), i));
    for (const std::string& place : places) ++branches_with_[place];
  }

  void add(const Branch& branch, Problem problem) {
    const auto key = std::tuple(problem.op, problem.message, problem.remedy);
    const auto [found, is_new] = index_.emplace(key, groups_.size());
    if (is_new) groups_.push_back({std::move(problem), {}});
    std::vector<const Branch*>& of = groups_[found->second].of;
    if (of.empty() || of.back() != &branch) of.push_back(&branch);
  }

  std::vector<Problem> take() && {
    std::vector<Problem> problems;
    for (Group& group : groups_) {
      if (group.of.size() < branches_with_[group.problem.op])
        group.problem.message += fmt::format(" (in {})", quoted_names(group.of));
      problems.push_back(std::move(group.problem));
    }
    return problems;
  }

 private:
  struct Group {
    Problem problem;
    std::vector<const Branch*> of;
  };
  std::vector<Group> groups_;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> index_;
  std::map<std::string, size_t> branches_with_;  // by place of a step
};

// A branch with the fields that its batches would have.
struct End {
  const Branch* branch;
  Schema schema;
};

// The problems of a branch, and those of the parts that it draws from.
Inference infer_branch(const Branch& branch, const Schema& source) {
  Inference inference = infer(branch.description, source, catalog());
  std::vector<Problem>& problems = inference.problems;
  for (const Branch& part : branch.choosing) {
    // Their steps that change fields are steps of the branch, too.
    Schema own = PartFields(source, part.path.back()).own();
    own.open_ended |= is_source(part.description.steps().front(), SourceKind::kUserCode);
    for (Problem& problem : infer(part.description, own, catalog()).problems)
      if (std::ranges::find(problems, problem.op, &Problem::op) == problems.end())
        problems.push_back(std::move(problem));
  }
  const std::vector<OpSpec>& steps = branch.description.steps();
  const auto drawn = std::ranges::find_if(
      branch.choosing, [](const Branch& part) { return find_step(part.description, OpEffect::kDrawing) != nullptr; });
  for (size_t i = 0; drawn != branch.choosing.end() && i < steps.size(); ++i) {
    if (catalog().has_effect(steps[i], OpEffect::kPacking))
      problems.push_back({place_of(steps, i),
                          fmt::format("the part '{}' has draws of its own, and blocks of its samples are not there yet",
                                      drawn->path.back()),
                          "leave out .sample() in that part, or use .bucket() for samples of like lengths"});
  }
  return inference;
}

bool alike(const Field& a, const Field& b) {
  if (a.kind == FieldKind::kAny || b.kind == FieldKind::kAny) return true;  // known when samples are seen
  return a.same_type(b) && a.pad_value == b.pad_value && a.pad_length == b.pad_length;
}

std::string type_of(const Field& field) {
  std::string text(field.type_word());
  if (field.kind == FieldKind::kTensor) text += " " + field.shape.to_string();
  if (field.pad_value) text += field.pad_length > 0 ? fmt::format(" padded to {}", field.pad_length) : " padded";
  return text;
}

std::string remedy_of(const Field& a, const Field& b) {
  if (a.kind != b.kind)
    return a.image || b.image ? "decode the pictures of both parts, or of none"
                              : "convert one of them with .map(), or drop both with .select()";
  if (a.kind == FieldKind::kTensor && a.dtype != b.dtype)
    return fmt::format("put .cast(\"{}\", field=\"{}\") into the other part, or .rename() one of them",
                       dtype_name(a.dtype), a.name);
  if (a.shape == b.shape) return "give both the same .pad()";
  if (a.image || b.image) return "give both one size with .resize() or a crop, or put that behind all parts";
  return "give both one shape with .pad(), .window() or .map(), or .rename() one of them";
}

// The source whose parts the branches lie in, by the path that they share.
std::string shared_place(const Description& whole, const Path& a, const Path& b) {
  const Description* at = &whole;
  Path path;
  while (path.size() < a.size() && path.size() < b.size() && a[path.size()] == b[path.size()]) {
    const auto& parts = at->steps().front().parts;
    const auto part = std::ranges::find(parts, a[path.size()], &PipelinePart::name);
    if (part == parts.end() || part->pipeline.steps().empty()) break;
    path.push_back(part->name);
    at = &part->pipeline;
  }
  return place_in(path, 0, at->steps().front());
}

// Compares the fields of branches. Takes time in proportion to the number of all fields, since a
// description may come from an untrusted file.
class FieldComparison {
 public:
  FieldComparison(const Description& whole, const std::vector<End>& ends) : whole_(whole), ends_(ends) {
    for (const End& end : ends) {
      closed_ += end.schema.open_ended ? 0 : 1;
      for (const Field& field : end.schema) {
        std::vector<Found>& found = fields_[field.name];
        if (found.empty()) names_.push_back(field.name);
        found.push_back({&end, &field});
      }
    }
  }

  void report(std::vector<Problem>& problems) const {
    const size_t most = problems.size() + kMostProblems;
    for (const std::string& name : names_) {
      const std::vector<Found>& found = fields_.find(name)->second;
      report_missing(name, found, problems);
      report_types(name, found, problems);
      if (problems.size() >= most) return;
    }
  }

 private:
  static constexpr size_t kMostProblems = 100;
  struct Found {
    const End* end;
    const Field* field;
  };

  void report_missing(const std::string& name, const std::vector<Found>& found, std::vector<Problem>& problems) const {
    size_t having = 0;
    for (const Found& one : found) having += one.end->schema.open_ended ? 0 : 1;
    if (having == closed_ || found.front().field->optional) return;
    std::vector<const Branch*> without;
    for (const End& end : ends_)
      if (!end.schema.open_ended && !end.schema.find(name)) without.push_back(end.branch);
    if (without.empty()) return;
    const Branch& first = *found.front().end->branch;
    problems.push_back(
        {shared_place(whole_, first.path, without.front()->path),
         fmt::format("the field '{}' of '{}' is missing in {}", name, first.name(), quoted_names(without)),
         "drop it with .select(), give a field of the other part that name with .rename(), or fill it with zeros by "
         "missing=\"mask\" of the mix"});
  }

  // Compares with the first branch that has the field.
  void report_types(const std::string& name, const std::vector<Found>& found, std::vector<Problem>& problems) const {
    const Found& first = found.front();
    std::vector<const Branch*> other;
    const Field* differs = nullptr;
    for (const Found& one : found) {
      if (alike(*first.field, *one.field)) continue;
      if (differs == nullptr) differs = one.field;
      other.push_back(one.end->branch);
    }
    if (differs == nullptr) return;
    problems.push_back({shared_place(whole_, first.end->branch->path, other.front()->path),
                        fmt::format("the field '{}' is {} in '{}' and {} in {}", name, type_of(*first.field),
                                    first.end->branch->name(), type_of(*differs), quoted_names(other)),
                        remedy_of(*first.field, *differs)});
  }

  const Description& whole_;
  const std::vector<End>& ends_;
  std::vector<std::string> names_;  // in the order of their first branches
  std::map<std::string, std::vector<Found>> fields_;
  size_t closed_ = 0;  // branches whose fields are all known
};

}  // namespace

bool is_tree(const Description& description) {
  return !description.steps().empty() && has_parts(description.steps().front());
}

std::vector<Problem> tree_problems(const Description& description, std::span<const Schema> sources) {
  Structure structure;
  const std::vector<bool> good = structure.walk(description, {}, nullptr);
  std::vector<Problem> problems = std::move(structure.problems);
  std::vector<Branch> branches = branches_of(description);
  if (good.size() != branches.size()) return problems;  // a source without parts that should have some
  std::vector<Schema> schemas;
  for (size_t i = 0; i < branches.size(); ++i) {
    if (!good[i])
      schemas.emplace_back();  // there may be no such source
    else
      schemas.push_back(i < sources.size() ? sources[i] : announced_schema(branches[i].description.steps().front()));
  }
  std::vector<Problem> missing;
  if (std::ranges::find(good, false) == good.end()) missing = complete_missing_fields(branches, schemas);
  // Before the sources are open, types that they have are not known either.
  for (Problem& problem : missing)
    if (!sources.empty()) problems.push_back(std::move(problem));
  BranchProblems found;
  for (size_t i = 0; i < branches.size(); ++i)
    if (good[i]) found.add_branch(branches[i]);
  std::vector<End> ends;
  for (size_t i = 0; i < branches.size(); ++i) {
    if (!good[i]) continue;
    if (std::optional<Problem> problem = part_field_problem(branches[i])) {
      found.add(branches[i], std::move(*problem));
      continue;
    }
    Inference inference = infer_branch(branches[i], schemas[i]);
    for (Problem& problem : unbounded_problems(branches[i].description))
      inference.problems.push_back(std::move(problem));
    std::erase_if(inference.problems,
                  [&](const Problem& problem) { return structure.wrong_places.contains(problem.op); });
    if (inference.problems.empty()) ends.push_back({&branches[i], std::move(inference.schemas.back())});
    for (Problem& problem : inference.problems) found.add(branches[i], std::move(problem));
  }
  for (Problem& problem : std::move(found).take()) problems.push_back(std::move(problem));
  std::vector<const Branch*> sound;
  for (const End& end : ends) sound.push_back(end.branch);
  if (std::optional<Problem> packed = packed_parts_problem(sound)) {
    packed->op = place_in({}, 0, description.steps().front());
    problems.push_back(std::move(*packed));
    return problems;
  }
  FieldComparison(description, ends).report(problems);
  return problems;
}

}  // namespace forebay
