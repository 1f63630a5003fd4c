#include "loader/samples/part_progress.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loader/describe/check.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Walks a tree and its plan side by side.
class Progress {
 public:
  Progress(const PlanNode& plan, const Order::Use& at, const DataPlan& data, const PlanChanges& changes)
      : plan_(plan), at_(at), data_(data), changes_(changes) {}

  std::vector<SavedPart> parts;

  // Returns the draws of the whole.
  int64_t walk(const Description& description, const std::string& path) {
    const OpSpec& source = description.steps().front();
    if (catalog().is_one_branch(source)) return drawn_by_leaf(leaf_++);
    std::vector<int64_t> drawn;
    for (const PipelinePart& part : source.parts) {
      const size_t place = parts.size();
      const std::string inner = path_of_part(path, part.name);
      parts.push_back({inner, data_.sizes.at(inner).source, 0});
      drawn.push_back(walk(part.pipeline, inner));
      parts[place].drawn = drawn.back();
    }
    return drawn_by_source(path, drawn);
  }

 private:
  int64_t drawn_by_leaf(size_t leaf) const {
    const int64_t size = plan_.order(leaf).size();
    const Order::Use next = plan_.next_draw(leaf, at_);
    return size == 0 || next == PlanNode::kNever ? 0 : next.epoch * size + next.position;
  }

  // Every draw of a source is the draw of one of its parts.
  int64_t drawn_by_source(const std::string& path, const std::vector<int64_t>& drawn) const {
    int64_t sum = std::accumulate(drawn.begin(), drawn.end(), int64_t{0});
    if (const auto change = changes_.mixes.find(path); change != changes_.mixes.end()) {
      const std::vector<int64_t>& before = change->second.drawn;
      sum += change->second.from - std::accumulate(before.begin(), before.end(), int64_t{0});
    }
    return sum;
  }

  const PlanNode& plan_;
  const Order::Use at_;
  const DataPlan& data_;
  const PlanChanges& changes_;
  size_t leaf_ = 0;
};

}  // namespace

std::vector<SavedPart> parts_before(const PlannedPart& whole, const PlanNode& plan, const Order::Use& at,
                                    const DataPlan& data, const PlanChanges& changes) {
  Progress progress(plan, at, data, changes);
  progress.walk(whole.description, fmt::format("{}", fmt::join(whole.path, "/")));
  return std::move(progress.parts);
}

std::vector<int64_t> drawn_by_parts(const OpSpec& source, const std::string& path,
                                    const std::vector<SavedPart>& parts) {
  std::vector<int64_t> drawn;
  for (const PipelinePart& part : source.parts) {
    const SavedPart* const found = find_part(parts, path_of_part(path, part.name));
    drawn.push_back(found != nullptr ? found->drawn : 0);
  }
  return drawn;
}

void find_sources(const Description& description, const std::string& path,
                  std::map<std::string, const OpSpec*>* found) {
  const OpSpec& source = description.steps().front();
  if (catalog().is_one_branch(source)) return;
  (*found)[path] = &source;
  for (const PipelinePart& part : source.parts) find_sources(part.pipeline, path_of_part(path, part.name), found);
}

const SavedPart* find_part(const std::vector<SavedPart>& parts, const std::string& path) {
  const auto found = std::ranges::find(parts, path, &SavedPart::path);
  return found == parts.end() ? nullptr : &*found;
}

std::string path_of_part(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

}  // namespace forebay
