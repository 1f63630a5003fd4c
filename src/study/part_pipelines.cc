#include "study/part_pipelines.h"

#include <utility>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/branches.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

std::string name_in(const std::string& path, const std::string& part) {
  return path.empty() ? part : path + "/" + part;
}

// A part while its steps are collected. The number of each of its steps in the whole tree is kGone
// for a step that the tree adds.
struct Growing {
  std::string name;
  size_t source = 0;
  std::vector<OpSpec> steps = {};
  std::vector<size_t> numbers = {};

  void add(OpSpec step, size_t number) {
    steps.push_back(std::move(step));
    numbers.push_back(number);
  }
};

class Walk {
 public:
  std::vector<Growing> run(const Description& description, const std::string& path) {
    if (description.steps().empty()) return {};  // check() tells what is missing
    const OpSpec& source = description.steps().front();
    const bool is_one = catalog().is_one_branch(source);
    std::vector<Growing> parts = is_one ? std::vector{begin(source, path)} : begin_parts(source, path);
    for (size_t i = 1; i < description.steps().size(); ++i) {
      const OpSpec& step = description.steps()[i];
      const size_t number = next_++;
      if (!is_one && catalog().has_effect(step, OpEffect::kRepeating)) continue;
      for (Growing& part : parts) part.add(step, number);
    }
    return parts;
  }

  size_t steps() const { return next_; }

 private:
  // Steps of the parts of a zip are in its source, and come before it.
  Growing begin(const OpSpec& source, const std::string& path) {
    Growing part{path};
    const size_t inner = Description(source).step_count() - 1;
    for (size_t i = 0; i < inner; ++i) part.numbers.push_back(next_++);
    part.source = next_;
    part.add(source, next_++);
    return part;
  }

  std::vector<Growing> begin_parts(const OpSpec& source, const std::string& path) {
    const Json field = source.args.is_object() ? source.args.value("field", Json()) : Json();
    std::vector<Growing> parts;
    for (size_t i = 0; i < source.parts.size(); ++i) {
      for (Growing& part : run(source.parts[i].pipeline, name_in(path, source.parts[i].name))) {
        if (field.is_string()) part.add({"part_number", {{"field", field}, {"value", i}}, nullptr, ""}, kGone);
        parts.push_back(std::move(part));
      }
    }
    ++next_;
    return parts;
  }

  size_t next_ = 0;  // number of the next step
};

void add_steps(const Description& description, const std::string& path, bool in_zip, std::vector<NumberedStep>& steps) {
  for (const OpSpec& step : description.steps()) {
    for (const PipelinePart& part : step.parts)
      add_steps(part.pipeline, name_in(path, part.name), in_zip || catalog().joins_parts(step), steps);
    steps.push_back({&step, path, in_zip, &step == description.steps().data()});
  }
}

}  // namespace

std::vector<PartPipeline> part_pipelines(const Description& whole) {
  Walk walk;
  std::vector<Growing> grown = walk.run(whole, "");
  std::vector<PartPipeline> parts;
  for (Growing& part : grown) {
    std::vector<size_t> places(walk.steps(), kGone);
    for (size_t i = 0; i < part.numbers.size(); ++i)
      if (part.numbers[i] != kGone) places[part.numbers[i]] = i;
    Description alone = Description::of(std::move(part.steps));
    std::vector<std::string> drawn;
    const std::vector<Branch> branches = branches_of(alone, catalog());
    for (const Branch& branch : branches.front().choosing)
      if (find_step(branch.description, OpEffect::kDrawing) != nullptr) drawn.push_back(branch.name());
    parts.push_back({std::move(part.name), part.source, {std::move(alone), {std::move(places)}}, std::move(drawn)});
  }
  return parts;
}

std::vector<NumberedStep> numbered_steps(const Description& whole) {
  std::vector<NumberedStep> steps;
  add_steps(whole, "", false, steps);
  return steps;
}

Description with_mixed_parts(const Description& whole) {
  return rewritten(whole,
                   [](size_t, const OpSpec& step) {
                     OpSpec mixed = step;
                     if (step.name == "concat") {
                       mixed.name = "mix";
                       mixed.opened = nullptr;
                     }
                     return std::vector{std::move(mixed)};
                   })
      .description;
}

}  // namespace forebay
