#include "pipeline/branches.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

constexpr const char* kJoinParts = "join_parts";
// A data set of the user's in a zip has a step that calls it, since the zip is the source.
constexpr const char* kDataset = "dataset";
constexpr const char* kDatasetItems = "dataset_items";

using Path = std::vector<std::string>;

// A branch while its steps are collected.
struct Growing {
  Path path;
  std::vector<OpSpec> steps;
  std::vector<size_t> numbers;
  std::vector<Branch> choosing = {};

  void add(OpSpec op, size_t number) {
    steps.push_back(std::move(op));
    numbers.push_back(number);
  }
  Branch finish() && {
    return {std::move(path), Description::of(std::move(steps)), std::move(numbers), std::move(choosing)};
  }
};

std::string place_in(const Path& path, size_t index, const OpSpec& op) {
  return fmt::format("{}{}{}: {}", fmt::join(path, "/"), path.empty() ? "" : ": ", index, op.name);
}

OpSpec placed(OpSpec op, const Path& path, size_t index) {
  op.place = place_in(path, index, op);
  return op;
}

// Walks a tree of pipelines depth first, and numbers its steps.
class Walk {
 public:
  explicit Walk(const Catalog& catalog) : catalog_(catalog) {}

  // Returns the branches of a pipeline that lies in the parts of `path`.
  std::vector<Growing> run(const Description& description, const Path& path) {
    if (description.steps().empty()) return {{path, {}, {}}};
    const OpSpec& source = description.steps().front();
    std::vector<Growing> branches = begin(source, path);
    for (size_t i = 1; i < description.steps().size(); ++i) {
      const OpSpec& op = description.steps()[i];
      const size_t number = next_++;
      if (!source.parts.empty() && !catalog_.joins_parts(source) && catalog_.has_effect(op, OpEffect::kRepeating))
        continue;
      OpSpec step = placed(op, path, i);
      if (!source.parts.empty() && !catalog_.joins_parts(source)) arrange(step);
      for (Growing& branch : branches) branch.add(step, number);
    }
    return branches;
  }

 private:
  // Samples of several parts follow each other in another way in each epoch, and so do their blocks.
  void arrange(OpSpec& step) const {
    if (catalog_.has_effect(step, OpEffect::kPacking) && step.args.is_object() && !step.args.contains("arrange"))
      step.args["arrange"] = "epoch";
  }

  // Returns the branches up to the source of that pipeline.
  std::vector<Growing> begin(const OpSpec& source, const Path& path) {
    std::vector<Growing> branches;
    if (source.parts.empty()) {
      branches.push_back({path, {placed(source, path, 0)}, {next_++}});
      return branches;
    }
    if (catalog_.joins_parts(source)) return {joined(source, path)};
    std::vector<size_t> part_of;  // of each branch
    for (size_t part = 0; part < source.parts.size(); ++part) {
      Path inner = path;
      inner.push_back(source.parts[part].name);
      std::vector<Growing> below = run(source.parts[part].pipeline, inner);
      part_of.insert(part_of.end(), below.size(), part);
      branches.insert(branches.end(), std::move_iterator(below.begin()), std::move_iterator(below.end()));
    }
    const size_t number = next_++;
    const Json field = source.args.is_object() ? source.args.value("field", Json()) : Json();
    const Json missing = source.args.is_object() ? source.args.value("missing", Json()) : Json();
    for (size_t i = 0; i < branches.size() && missing == "mask"; ++i)
      branches[i].add(made_by(source, path, "fill_missing", Json::object(), ""), number);
    for (size_t i = 0; i < branches.size() && field.is_string(); ++i) {
      OpSpec made{"part_number", {{"field", field}, {"value", part_of[i]}}, nullptr, ""};
      made.place = place_in(path, 0, source);
      branches[i].add(std::move(made), number);
    }
    return branches;
  }

  // Returns the one branch of parts that lie side by side: their source, the steps of each part, and
  // the step that gives the fields their own names.
  Growing joined(const OpSpec& source, const Path& path) {
    Growing steps{path, {}, {}};
    Json names = Json::array();
    for (const PipelinePart& part : source.parts) {
      Path inner = path;
      inner.push_back(part.name);
      add_part(source, part, inner, steps);
      if (!names.empty())
        steps.add(made_by(source, path, "leave_out", {{"names", shared_fields(source)}}, part.name), 0);
      names.push_back(part.name);
    }
    steps.add(made_by(source, path, kJoinParts, {{"of", std::move(names)}}, ""), 0);
    steps.steps.insert(steps.steps.begin(), placed(source, path, 0));
    steps.numbers.insert(steps.numbers.begin(), next_++);
    return steps;
  }

  // Adds the steps of a part that lies beside others.
  void add_part(const OpSpec& source, const PipelinePart& part, const Path& path, Growing& to) {
    const bool drawn = catalog_.has_own_draws(source, part);
    const std::vector<OpSpec>& steps = part.pipeline.steps();
    next_ += part.pipeline.step_count() - steps.size();  // of parts within it, which check() reports
    Growing own{path, {}, {}};
    for (size_t i = 0; i < steps.size(); ++i) {
      const size_t number = next_++;
      own.add(placed(steps[i], path, i), number);
      if (i == 0 ? steps[0].name != kDataset : is_of_part_alone(steps[i], drawn)) continue;
      OpSpec op = own.steps.back();
      op.part = part.name;
      if (i == 0) op.name = kDatasetItems;
      to.add(std::move(op), number);
    }
    if (catalog_.chooses_by_itself(source, part)) to.choosing.push_back(std::move(own).finish());
  }

  // True if a step says which samples of its part there are, how often, or in which order these are
  // drawn.
  bool is_of_part_alone(const OpSpec& step, bool drawn) const {
    const OpDef* const def = catalog_.find(step.name);
    if (def == nullptr) return false;
    if (drawn) return chooses_samples(def->effect);
    return leaves_out_samples(def->effect) || def->effect == OpEffect::kRepeating;
  }

  // Fields that the first part gives for all: the key of the sample, and the field of `on`.
  static Json shared_fields(const OpSpec& source) {
    Json names = {"key"};
    const Json on = source.args.is_object() ? source.args.value("on", Json()) : Json();
    if (on.is_string()) names.push_back(on);
    return names;
  }

  static OpSpec made_by(const OpSpec& source, const Path& path, std::string name, Json args, std::string part) {
    OpSpec made{std::move(name), std::move(args), nullptr, ""};
    made.place = place_in(path, 0, source);
    made.part = std::move(part);
    return made;
  }

  const Catalog& catalog_;
  size_t next_ = 0;  // number of the next step
};

}  // namespace

std::string Branch::name() const { return fmt::format("{}", fmt::join(path, "/")); }

size_t source_steps(const Description& branch) {
  const std::vector<OpSpec>& steps = branch.steps();
  const auto join = std::ranges::find(steps, kJoinParts, &OpSpec::name);
  return join == steps.end() ? 1 : static_cast<size_t>(join - steps.begin()) + 1;
}

std::vector<Branch> branches_of(const Description& description, const Catalog& catalog) {
  std::vector<Branch> branches;
  if (description.depth() == 0) {
    branches.push_back({{}, description, std::vector<size_t>(description.steps().size())});
    std::iota(branches[0].numbers.begin(), branches[0].numbers.end(), size_t{0});
    return branches;
  }
  for (Growing& branch : Walk(catalog).run(description, {})) branches.push_back(std::move(branch).finish());
  return branches;
}

}  // namespace forebay
