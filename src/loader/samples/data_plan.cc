#include "loader/samples/data_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "format/joined/joined_part.h"
#include "format/joined/part_of_source.h"
#include "loader/describe/check.h"
#include "loader/describe/missing_fields.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/stream_parts.h"
#include "loader/describe/zip_source.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "plan/continued_mix.h"
#include "plan/mix_steps.h"
#include "plan/numbering.h"
#include "plan/pass_end.h"

namespace forebay {

namespace {

using Path = std::vector<std::string>;

std::string path_text(const Path& path) { return fmt::format("{}", fmt::join(path, "/")); }

// The seed of what has this name in the tree. The whole pipeline has no name, and the run's seed.
uint64_t seed_of(uint64_t seed, const std::string& name) {
  return name.empty() ? seed : hash128(fmt::format("{} {}", seed, name)).low;
}

std::vector<double> in_order(const OpSpec& source, const Json& weights) {
  std::vector<double> values;
  for (const PipelinePart& part : source.parts) values.push_back(weights[part.name].get<double>());
  return values;
}

// The step that orders the samples of a data set; null if there is none. A stream orders its records
// when they have arrived.
const OpSpec* ordering_step(const Description& description) {
  return has_stream(description) ? nullptr : find_step(description, OpEffect::kOrder);
}

// The order of a branch whose first samples are the middle of a pass.
Result<std::shared_ptr<const Order>> order_of_grown(const BranchData& branch, const PlanChanges::Growth& growth) {
  const OpSpec* const shuffle = ordering_step(branch.branch.description);
  const ChunkSource* const chunks = branch.source ? branch.source->as_chunks() : nullptr;
  FOREBAY_ASSIGN(Ordering before,
                 choose_order_of_first(shuffle, chunks, branch.chosen.selection, growth.samples, branch.seed));
  return std::shared_ptr<const Order>(grown_order(std::move(before.order), growth.pass, branch.ordering.order));
}

// The order of a branch that is drawn by given weights from a draw on. The rest of a pass has a seed
// of its own, so that the rests of several changes are not alike.
Result<std::shared_ptr<const Order>> order_of_redrawn(const BranchData& branch, int64_t from) {
  const OpSpec* const shuffle = ordering_step(branch.branch.description);
  const ChunkSource* const chunks = branch.source ? branch.source->as_chunks() : nullptr;
  const auto draw = [&](int64_t count, uint64_t seed) {
    WeightedDraws draws = branch.given->draws;
    draws.count = count;
    return choose_drawn_order(shuffle, chunks, *branch.chosen.selection, seed, draws);
  };
  const int64_t size = branch.ordering.order->size();
  const Order::Use at = Numbering(size).use_of(from);
  FOREBAY_ASSIGN(Ordering now, draw(size, branch.seed));
  if (at.position == 0) return now.order;
  FOREBAY_ASSIGN(Ordering rest, draw(size - at.position, seed_of(branch.seed, fmt::format("from {}", from))));
  return std::shared_ptr<const Order>(redrawn_order(std::move(rest.order), at.epoch, std::move(now.order)));
}

// Builds the plan of a tree of pipelines from the orders of its leaves.
class PlanBuilder {
 public:
  PlanBuilder(uint64_t seed, const DataPlan& data, const PlanChanges& changes, size_t first_leaf = 0)
      : seed_(seed), data_(data), changes_(changes), next_(first_leaf) {}

  Result<std::unique_ptr<PlanNode>> build(const Description& description, const Path& path) {
    const OpSpec& source = description.steps().front();
    FOREBAY_ASSIGN(std::unique_ptr<PlanNode> node, build_source(source, path));
    PartSize& size = sizes_[path_text(path)];
    size.source = node->size();
    for (const OpSpec& step : description.steps()) {
      if (!catalog().has_effect(step, OpEffect::kRepeating)) continue;
      if (node->size() > 0) node = repeat_node(std::move(node), step.args["n"].get<double>());
    }
    size.whole = node->size();
    return node;
  }

  const std::map<std::string, PartSize>& sizes() const { return sizes_; }

 private:
  Result<std::unique_ptr<PlanNode>> build_source(const OpSpec& source, const Path& path) {
    if (catalog().is_one_branch(source)) return leaf(data_.branches[next_++], path_text(path));
    std::vector<std::unique_ptr<PlanNode>> children;
    for (const PipelinePart& part : source.parts) {
      Path inner = path;
      inner.push_back(part.name);
      FOREBAY_ASSIGN(children.emplace_back(), build(part.pipeline, inner));
    }
    if (source.name == "concat") return concat_node(std::move(children));
    // The name of a part has no slash, so no leaf has this seed.
    const uint64_t seed = seed_of(seed_, path_text(path) + "/");
    std::vector<int64_t> sizes;
    for (const auto& child : children) sizes.push_back(child->size());
    MixOptions options = shares_of(source, sizes);
    if (options.stages.empty()) return shuffled_union_node(std::move(children), seed);
    options.seed = seed;
    const auto change = changes_.mixes.find(path_text(path));
    if (change == changes_.mixes.end()) {
      FOREBAY_RETURN_IF_ERROR(check_empty_parts(source, sizes, options));
      return mix_node(std::move(children), options);
    }
    options = changed(std::move(options), change->second, data_.sizes.at(path_text(path)).source);
    FOREBAY_RETURN_IF_ERROR(check_empty_parts(source, sizes, options));
    return continued_mix_node(std::move(children), options, change->second.drawn);
  }

  Result<std::unique_ptr<PlanNode>> leaf(const BranchData& branch, const std::string& path) const {
    if (const auto redrawn = changes_.redrawn.find(path); redrawn != changes_.redrawn.end()) {
      FOREBAY_ASSIGN(std::shared_ptr<const Order> order, order_of_redrawn(branch, redrawn->second.from));
      return leaf_node(std::move(order));
    }
    const auto growth = changes_.grown.find(path);
    if (growth == changes_.grown.end()) return leaf_node(branch.ordering.order);
    FOREBAY_ASSIGN(std::shared_ptr<const Order> order, order_of_grown(branch, growth->second));
    return leaf_node(std::move(order));
  }

  // An epoch keeps its length, so that positions keep their meaning.
  static MixOptions changed(MixOptions options, const PlanChanges::Mix& change, int64_t size) {
    options.samples = size;
    if (change.weights.empty()) {
      options.stages = stages_from(options, change.from);
    } else {
      options.stages = {{change.from, std::vector<double>(change.weights.begin(), change.weights.end())}};
    }
    return options;
  }

  static Status check_empty_parts(const OpSpec& source, const std::vector<int64_t>& sizes, const MixOptions& options) {
    for (const MixOptions::Stage& stage : options.stages) {
      for (size_t part = 0; part < sizes.size(); ++part) {
        if (stage.weights[part] > 0 && sizes[part] == 0)
          return invalid_argument(
              fmt::format("mix: '{}' has no samples, and a weight above 0; give it the weight 0, "
                          "or leave it out",
                          source.parts[part].name));
      }
    }
    return {};
  }

  const uint64_t seed_;
  const DataPlan& data_;
  const PlanChanges& changes_;
  size_t next_;  // the next leaf
  std::map<std::string, PartSize> sizes_;
};

// The fields of a branch's samples by name, as far as they are known without user code.
struct KnownFields {
  std::vector<std::string> names;
  bool open_ended = false;  // user code may add others
};

KnownFields fields_of(const BranchData& data) {
  const std::vector<OpSpec>& steps = data.branch.description.steps();
  // The field of a replay that is no step on samples belongs to batches alone.
  const auto end = std::ranges::find_if(steps, [](const OpSpec& op) {
    return catalog().has_effect(op, OpEffect::kReplay) && !rehearses_here(op, catalog());
  });
  const std::vector<Schema> schemas = infer(data.branch.description, data.source->schema(), catalog()).schemas;
  const Schema& schema = schemas[static_cast<size_t>(end - steps.begin()) - 1];
  KnownFields known{{}, schema.open_ended};
  for (const Field& field : schema) known.names.push_back(field.name);
  return known;
}

// Decides the fields of batches: those of the first branch without user code that may return any.
// If all have such code, their functions decide.
void align_fields(std::vector<BranchData>& branches) {
  std::vector<KnownFields> known;
  for (const BranchData& data : branches) known.push_back(fields_of(data));
  const auto closed = std::ranges::find(known, false, &KnownFields::open_ended);
  if (closed == known.end()) return;
  if (std::ranges::all_of(known, [&](const KnownFields& one) { return !one.open_ended && one.names == closed->names; }))
    return;
  for (size_t i = 0; i < branches.size(); ++i) {
    branches[i].selects = known[i].open_ended;
    branches[i].fields = closed->names;
  }
}

std::shared_ptr<const PartnerDraws> partners_of(const BranchData& branch) {
  std::vector<PartnerDraws::Part> parts;
  for (const BranchData& part : branch.choosing)
    if (part.has_own_draws())
      parts.push_back({part.redrawn ? part.redrawn : part.ordering.order, part.chosen.selection, part.stride});
  if (parts.empty()) return nullptr;
  return std::make_shared<const PartnerDraws>(branch.ordering.order->size(), std::move(parts));
}

// Finds the source of a part that chooses its samples.
void set_source(const BranchData& branch, BranchData& part) {
  const JoinedPart* const joined = branch.source ? find_joined_part(*branch.source, part.branch.path.back()) : nullptr;
  if (joined == nullptr) return;
  part.source = joined->source;
  part.stride = joined->stride;
}

Status order_branch(BranchData& branch) {
  const OpSpec* const shuffle = ordering_step(branch.branch.description);
  const ChunkSource* const chunks = branch.source ? branch.source->as_chunks() : nullptr;
  FOREBAY_ASSIGN(branch.ordering, branch.chosen.order(shuffle, chunks, branch.seed));
  for (BranchData& part : branch.choosing) {
    if (!part.has_own_draws()) continue;
    FOREBAY_RETURN_IF_ERROR(order_branch(part));
    if (part.ordering.order->size() == 0)
      return invalid_argument(
          fmt::format("zip: the part '{}' has no samples that could be drawn; its steps leave out "
                      "all of them",
                      part.branch.name()));
  }
  return {};
}

}  // namespace

int64_t DataPlan::last_epoch() const {
  constexpr int64_t kBound = int64_t{1} << 62;
  const Order& first = plan->order(0);
  const bool counts_over_epochs =
      branches.size() > 1 || size() != first.size() || !first.permutes() || branches.front().draws_partners();
  return counts_over_epochs ? std::min(kMaxEpoch, kBound / std::max<int64_t>(size(), 1) - 1) : kMaxEpoch;
}

std::string DataPlan::version() const {
  if (branches.size() == 1 && branches.front().choosing.empty()) return branches.front().chosen.version;
  std::string versions;
  for (const BranchData& data : branches) {
    versions += data.chosen.version + " ";
    for (const BranchData& part : data.choosing) versions += part.chosen.version + " ";
  }
  return hash128(versions).to_string();
}

std::vector<BranchSamples> DataPlan::samples() const {
  std::vector<BranchSamples> all;
  for (const BranchData& data : branches)
    all.push_back({data.chosen.selection, data.seed, data.chosen.packing, partners_of(data)});
  return all;
}

std::vector<BranchData> begin_branches(const Description& description, std::shared_ptr<const Source> source,
                                       uint64_t seed) {
  std::vector<BranchData> all;
  const PartedSource* const parts = source ? as_parted(*source) : nullptr;
  std::vector<Branch> branches = branches_of(description, catalog());
  if (parts != nullptr) {
    std::vector<Schema> schemas;
    for (const auto& one : parts->branch_sources()) schemas.push_back(one->schema());
    (void)complete_missing_fields(branches, schemas);  // check() has found the problems
  }
  for (Branch& branch : branches) {
    BranchData& data = all.emplace_back();
    data.source = parts != nullptr ? parts->branch_sources()[all.size() - 1] : source;
    data.seed = seed_of(seed, branch.name());
    for (Branch& part : branch.choosing) {
      BranchData& choosing = data.choosing.emplace_back();
      choosing.seed = seed_of(seed, part.name());
      choosing.branch = std::move(part);
      set_source(data, choosing);
    }
    data.branch = std::move(branch);
  }
  if (all.size() > 1 && parts != nullptr) align_fields(all);
  return all;
}

bool BranchData::has_own_draws() const { return find_step(branch.description, OpEffect::kDrawing) != nullptr; }

namespace {

// How often a part of a zip has each sample.
int64_t passes_of(const Description& part) {
  const OpSpec* const repeat = find_step(part, OpEffect::kRepeating);
  constexpr double kMost = 9007199254740992;  // 2^53
  return repeat != nullptr ? static_cast<int64_t>(std::min(repeat->args["n"].get<double>(), kMost)) : 1;
}

}  // namespace

Status join_chosen_parts(BranchData* branch) {
  ChosenInParts chosen;
  for (const BranchData& part : branch->choosing)
    if (!part.has_own_draws() && part.source)
      chosen[part.branch.path.back()] = {part.chosen.selection, passes_of(part.branch.description)};
  if (chosen.empty()) return {};
  FOREBAY_ASSIGN(branch->source, join_chosen(branch->branch.description.steps().front(), *branch->source, chosen));
  for (BranchData& part : branch->choosing) set_source(*branch, part);
  return {};
}

Status order_branches(const Description& description, uint64_t seed, DataPlan* data) {
  for (BranchData& branch : data->branches) FOREBAY_RETURN_IF_ERROR(order_branch(branch));
  const PlanChanges unchanged;
  PlanBuilder builder(seed, *data, unchanged);
  FOREBAY_ASSIGN(data->plan, builder.build(description, {}));
  data->sizes = builder.sizes();
  return {};
}

Result<std::unique_ptr<PlanNode>> plan_of(const PlannedPart& part, uint64_t seed, const DataPlan& data,
                                          const PlanChanges& changes) {
  return PlanBuilder(seed, data, changes, part.first_leaf).build(part.description, part.path);
}

MixOptions shares_of(const OpSpec& mix, const std::vector<int64_t>& part_sizes) {
  MixOptions options;
  const Json weights = mix.args.value("weights", Json()), schedule = mix.args.value("schedule", Json());
  const Json temperature = mix.args.value("temperature", Json()), samples = mix.args.value("samples", Json());
  if (weights.is_object()) options.stages.push_back({0, in_order(mix, weights)});
  if (schedule.is_array()) {
    for (const Json& stage : schedule) options.stages.push_back({stage[0].get<int64_t>(), in_order(mix, stage[1])});
  }
  if (temperature.is_number()) {
    options.stages.emplace_back();
    for (const int64_t size : part_sizes)
      options.stages.back().weights.push_back(std::pow(static_cast<double>(size), 1 / temperature.get<double>()));
  }
  options.ramp_linear = mix.args.value("ramp", Json()) == "linear";
  options.end = mix.args.value("end", Json()) == "all" ? MixEnd::kAll : MixEnd::kFirst;
  if (samples.is_number_integer()) options.samples = samples.get<int64_t>();
  return options;
}

Status redraw_partners(DataPlan* data) {
  for (BranchData& branch : data->branches) {
    for (BranchData& part : branch.choosing) {
      const auto change = data->changes.redrawn.find(part.branch.name());
      part.redrawn = nullptr;
      if (change == data->changes.redrawn.end()) continue;
      FOREBAY_ASSIGN(part.redrawn, order_of_redrawn(part, change->second.from));
    }
  }
  return {};
}

namespace {

template <typename Plan>
auto find_in(Plan& data, const std::string& path, size_t* branch) -> decltype(data.branches.data()) {
  for (size_t i = 0; i < data.branches.size(); ++i) {
    auto& whole = data.branches[i];
    if (branch != nullptr) *branch = i;
    if (whole.branch.name() == path) return &whole;
    for (auto& part : whole.choosing)
      if (part.has_own_draws() && part.branch.name() == path) return &part;
  }
  return nullptr;
}

}  // namespace

BranchData* find_data_set(DataPlan& data, const std::string& path, size_t* branch) {
  return find_in(data, path, branch);
}

const BranchData* find_data_set(const DataPlan& data, const std::string& path) { return find_in(data, path, nullptr); }

}  // namespace forebay
