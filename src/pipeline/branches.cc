#include "pipeline/branches.h"

#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

using Path = std::vector<std::string>;

// A branch while its steps are collected.
struct Growing {
  Path path;
  std::vector<OpSpec> steps;
  std::vector<size_t> numbers;

  void add(OpSpec op, size_t number) {
    steps.push_back(std::move(op));
    numbers.push_back(number);
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
      if (!source.parts.empty() && catalog_.has_effect(op, OpEffect::kRepeating)) continue;
      for (Growing& branch : branches) branch.add(placed(op, path, i), number);
    }
    return branches;
  }

 private:
  // Returns the branches up to the source of that pipeline.
  std::vector<Growing> begin(const OpSpec& source, const Path& path) {
    std::vector<Growing> branches;
    if (source.parts.empty()) {
      branches.push_back({path, {placed(source, path, 0)}, {next_++}});
      return branches;
    }
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
    for (size_t i = 0; i < branches.size() && field.is_string(); ++i) {
      OpSpec made{"part_number", {{"field", field}, {"value", part_of[i]}}, nullptr, ""};
      made.place = place_in(path, 0, source);
      branches[i].add(std::move(made), number);
    }
    return branches;
  }

  const Catalog& catalog_;
  size_t next_ = 0;  // number of the next step
};

}  // namespace

std::string Branch::name() const { return fmt::format("{}", fmt::join(path, "/")); }

std::vector<Branch> branches_of(const Description& description, const Catalog& catalog) {
  std::vector<Branch> branches;
  if (description.depth() == 0) {
    branches.push_back({{}, description, std::vector<size_t>(description.steps().size())});
    std::iota(branches[0].numbers.begin(), branches[0].numbers.end(), size_t{0});
    return branches;
  }
  for (Growing& branch : Walk(catalog).run(description, {}))
    branches.push_back({std::move(branch.path), Description::of(std::move(branch.steps)), std::move(branch.numbers)});
  return branches;
}

}  // namespace forebay
