#include "loader/samples/changed_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loader/describe/check.h"
#include "loader/samples/part_progress.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "plan/numbering.h"

namespace forebay {

namespace {

// The draws of whole passes. A damaged state may have any number of them.
Result<int64_t> draws_of(int64_t passes, int64_t size) {
  int64_t draws = 0;
  if (__builtin_mul_overflow(passes, size, &draws) || draws >= Numbering::kNever / 2)
    return invalid_argument("this state is of more passes over a part than are possible");
  return draws;
}

// True for a mix with weights. Each draw of other sources comes once an epoch.
bool has_shares(const OpSpec& source, const std::string& path, const DataPlan& data) {
  std::vector<int64_t> sizes;
  for (const PipelinePart& part : source.parts) sizes.push_back(data.sizes.at(path_of_part(path, part.name)).whole);
  return source.name == "mix" && !shares_of(source, sizes).stages.empty();
}

// Walks a tree, from the data sets up. Draws of a part are numbered over all its passes.
class Continuation {
 public:
  Continuation(uint64_t seed, const DataPlan& data, const SavedPlace& saved)
      : seed_(seed), data_(data), saved_(saved) {}

  PlanChanges changes;

  // Sets `*number` to the draw at which the part goes on. `given`: the number that it has to be.
  Status go_on(const Description& description, const std::vector<std::string>& path, std::optional<int64_t> given,
               int64_t* number) {
    const OpSpec& source = description.steps().front();
    const std::string name = fmt::format("{}", fmt::join(path, "/"));
    if (catalog().is_one_branch(source)) {
      const BranchData& branch = data_.branches[leaf_++];
      if (given) {
        *number = *given;
      } else {
        FOREBAY_ASSIGN(*number, place_of_data_set(name, branch));
      }
      return {};
    }
    const SavedPart* const before = find_part(saved_.parts, name);
    *number = given ? *given : before != nullptr ? before->drawn : 0;
    const PlannedPart part{description, path, leaf_};
    if (has_shares(source, name, data_)) return go_on_mix(part, name, *number);
    return go_on_in_turn(part, name, number, /*keeps_number=*/given.has_value());
  }

 private:
  Result<int64_t> place_of_data_set(const std::string& name, const BranchData& branch) {
    const SavedPart* const before = find_part(saved_.parts, name);
    const int64_t size = branch.ordering.order->size();
    if (before == nullptr || before->samples == 0 || size == 0) return int64_t{0};
    const int64_t pass = before->drawn / before->samples, place = before->drawn % before->samples;
    if (place == 0) return draws_of(pass, size);
    FOREBAY_ASSIGN(const int64_t end_of_pass, draws_of(pass + 1, size));
    int64_t samples = before->samples;  // that take part in this pass
    const auto grown = saved_.changes.grown.find(name);
    if (grown != saved_.changes.grown.end() && grown->second.pass == pass) samples = grown->second.samples;
    // Blocks of a packing, and draws, have no order of their first ones.
    if (size < before->samples || (size > before->samples && !branch.chosen.are_samples())) return end_of_pass;
    if (size > samples) changes.grown[name] = {pass, samples};
    return end_of_pass - (before->samples - place);
  }

  // The draws of the parts before a draw of a plan with the changes so far.
  Result<std::vector<int64_t>> drawn_before(const PlannedPart& part, const std::string& name, int64_t number) const {
    FOREBAY_ASSIGN(const std::unique_ptr<PlanNode> plan, plan_of(part, seed_, data_, changes));
    const OpSpec& source = part.description.steps().front();
    if (plan->size() == 0) return std::vector<int64_t>(source.parts.size());
    const Order::Use at = Numbering(plan->size()).use_of(number);
    return drawn_by_parts(source, name, parts_before(part, *plan, at, data_, changes));
  }

  // Lets each part go on: where it was, or at the beginning of this epoch of the source.
  Result<std::vector<int64_t>> go_on_parts(const PlannedPart& part, const std::string& name,
                                           std::optional<int64_t> epoch) {
    std::vector<int64_t> numbers;
    for (const PipelinePart& inner : part.description.steps().front().parts) {
      std::vector<std::string> path = part.path;
      path.push_back(inner.name);
      std::optional<int64_t> given;
      if (epoch) {
        FOREBAY_ASSIGN(given, draws_of(*epoch, data_.sizes.at(path_of_part(name, inner.name)).whole));
      }
      FOREBAY_RETURN_IF_ERROR(go_on(inner.pipeline, path, given, &numbers.emplace_back()));
    }
    return numbers;
  }

  Status go_on_mix(const PlannedPart& part, const std::string& name, int64_t number) {
    FOREBAY_ASSIGN(std::vector<int64_t> drawn, go_on_parts(part, name, std::nullopt));
    const auto change = saved_.changes.mixes.find(name);
    const bool changed_before = change != saved_.changes.mixes.end();
    if (!changed_before) {
      FOREBAY_ASSIGN(const std::vector<int64_t> from_the_beginning, drawn_before(part, name, number));
      if (drawn == from_the_beginning) return {};
    }
    changes.mixes[name] = {number, std::move(drawn), {}};
    return {};
  }

  // For sources whose parts are passed once an epoch.
  Status go_on_in_turn(const PlannedPart& part, const std::string& name, int64_t* number, bool keeps_number) {
    const PlanChanges before = changes;
    FOREBAY_ASSIGN(const std::vector<int64_t> drawn, go_on_parts(part, name, std::nullopt));
    FOREBAY_ASSIGN(const std::vector<int64_t> expected, drawn_before(part, name, *number));
    if (drawn == expected) return {};
    const SavedPart* const saved = find_part(saved_.parts, name);
    const int64_t size = data_.sizes.at(name).source;
    const int64_t old_size = keeps_number || saved == nullptr ? size : saved->samples;
    if (old_size > 0 && *number % old_size != 0)
      return unsupported(fmt::format(
          "parts='changed': {} has other parts or sizes, and the state is of the middle of its epoch; load a state of "
          "the end of an epoch, or give the parts weights",
          name.empty() ? "the pipeline" : fmt::format("'{}'", name)));
    const int64_t epoch = old_size > 0 ? *number / old_size : 0;
    FOREBAY_ASSIGN(*number, draws_of(epoch, size));
    changes = before;
    leaf_ = part.first_leaf;
    return go_on_parts(part, name, epoch).status();
  }

  const uint64_t seed_;
  const DataPlan& data_;
  const SavedPlace& saved_;
  size_t leaf_ = 0;  // the next data set
};

}  // namespace

Result<SavedPlace> place_with_changed_parts(const Description& description, uint64_t seed, const DataPlan& data,
                                            const SavedPlace& saved) {
  SavedPlace place = saved;
  place.samples = data.size();
  if (saved.cursor.epoch >= data.last_epoch())
    return invalid_argument(
        fmt::format("the state is of epoch {}, and the last epoch is {}", saved.cursor.epoch, data.last_epoch()));
  if (place.cursor.position >= data.size() && place.cursor.position > 0) place.cursor = {place.cursor.epoch + 1, 0, 0};
  Continuation continuation(seed, data, saved);
  int64_t number = 0;
  FOREBAY_RETURN_IF_ERROR(
      continuation.go_on(description, {}, place.cursor.epoch * data.size() + place.cursor.position, &number));
  place.changes = std::move(continuation.changes);
  place.changes.since = place.changes.empty() ? Cursor() : place.cursor;
  return place;
}

namespace {

std::string of_part(const std::string& path) { return path.empty() ? "" : fmt::format(" of the part '{}'", path); }

// A state has the hash of the weights that the user gave, and not the weights.
Status check_redrawn(const std::string& path, const PlanChanges::Redrawing& redrawn, const DataPlan& data) {
  const BranchData* const branch = find_data_set(data, path);
  if (branch == nullptr || !branch->chosen.drawing)
    return Status(Code::kStateMismatch,
                  fmt::format("the state is of draws{} whose weights were set, and the pipeline has no such draws",
                              of_part(path)));
  const std::string state = fmt::format("the state is of draws{} by the weights of set_sampling(), version '{}'",
                                        of_part(path), redrawn.version);
  if (branch->given == nullptr)
    return Status(Code::kStateMismatch,
                  state +
                      ", of which a state has the hash alone: call set_sampling() with the same weights before the "
                      "state is loaded");
  if (branch->given->hash != redrawn.hash || branch->given->version != redrawn.version)
    return Status(
        Code::kStateMismatch,
        fmt::format("{} (hash {}), and the last call gave version '{}' (hash {}): call it with the same "
                    "weights and version before the state is loaded",
                    state, redrawn.hash.substr(0, 12), branch->given->version, branch->given->hash.substr(0, 12)));
  return {};
}

}  // namespace

Status check_fits(const PlanChanges& changes, const Description& description, const DataPlan& data) {
  std::map<std::string, const OpSpec*> sources;
  find_sources(description, "", &sources);
  for (const auto& [path, change] : changes.mixes) {
    const auto found = sources.find(path);
    const size_t parts = found == sources.end() ? 0 : found->second->parts.size();
    if (found == sources.end() || !has_shares(*found->second, path, data) || change.drawn.size() != parts ||
        (!change.weights.empty() && change.weights.size() != parts))
      return Status(Code::kStateMismatch,
                    fmt::format("the state is of {} whose weights were changed, and the pipeline has no such mix",
                                path.empty() ? "a mix" : fmt::format("a mix '{}'", path)));
  }
  for (const auto& [path, growth] : changes.grown) {
    const BranchData* const found = find_data_set(data, path);
    if (found == nullptr || growth.samples > found->chosen.size() || !found->chosen.are_samples())
      return Status(
          Code::kStateMismatch,
          fmt::format("the state is of a part '{}' that grew from {} samples, and the pipeline has no such part", path,
                      growth.samples));
  }
  for (const auto& [path, redrawn] : changes.redrawn) FOREBAY_RETURN_IF_ERROR(check_redrawn(path, redrawn, data));
  return {};
}

}  // namespace forebay
