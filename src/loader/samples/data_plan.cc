#include "loader/samples/data_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "loader/describe/check.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

using Path = std::vector<std::string>;

// The seed of what has this name in the tree. The whole pipeline has no name, and the run's seed.
uint64_t seed_of(uint64_t seed, const std::string& name) {
  return name.empty() ? seed : hash128(fmt::format("{} {}", seed, name)).low;
}

// Builds the plan of a tree of pipelines from the orders of its leaves.
class PlanBuilder {
 public:
  PlanBuilder(uint64_t seed, const std::vector<BranchData>& branches) : seed_(seed), branches_(branches) {}

  Result<std::unique_ptr<PlanNode>> build(const Description& description, const Path& path) {
    const OpSpec& source = description.steps().front();
    FOREBAY_ASSIGN(std::unique_ptr<PlanNode> node, build_source(source, path));
    for (const OpSpec& step : description.steps()) {
      if (!catalog().has_effect(step, OpEffect::kRepeating)) continue;
      if (node->size() > 0) node = repeat_node(std::move(node), step.args["n"].get<double>());
    }
    return node;
  }

 private:
  Result<std::unique_ptr<PlanNode>> build_source(const OpSpec& source, const Path& path) {
    if (source.parts.empty() || catalog().joins_parts(source)) return leaf_node(branches_[next_++].ordering.order);
    std::vector<std::unique_ptr<PlanNode>> children;
    for (const PipelinePart& part : source.parts) {
      Path inner = path;
      inner.push_back(part.name);
      FOREBAY_ASSIGN(children.emplace_back(), build(part.pipeline, inner));
    }
    if (source.name == "concat") return concat_node(std::move(children));
    // The name of a part has no slash, so no leaf has this seed.
    const uint64_t seed = seed_of(seed_, fmt::format("{}/", fmt::join(path, "/")));
    const std::vector<MixOptions::Stage> stages = stages_of(source, children);
    if (stages.empty()) return shuffled_union_node(std::move(children), seed);
    return mix(source, std::move(children), {.seed = seed, .stages = stages});
  }

  static Result<std::unique_ptr<PlanNode>> mix(const OpSpec& source, std::vector<std::unique_ptr<PlanNode>> children,
                                               MixOptions options) {
    options.ramp_linear = source.args.value("ramp", Json()) == "linear";
    options.end = source.args.value("end", Json()) == "all" ? MixEnd::kAll : MixEnd::kFirst;
    const Json samples = source.args.value("samples", Json());
    if (samples.is_number_integer()) options.samples = samples.get<int64_t>();
    for (const MixOptions::Stage& stage : options.stages) {
      for (size_t part = 0; part < children.size(); ++part) {
        if (stage.weights[part] > 0 && children[part]->size() == 0)
          return invalid_argument(
              fmt::format("mix: '{}' has no samples, and a weight above 0; give it the weight 0, "
                          "or leave it out",
                          source.parts[part].name));
      }
    }
    return mix_node(std::move(children), options);
  }

  // The stages of the shares; empty if each sample comes once.
  static std::vector<MixOptions::Stage> stages_of(const OpSpec& source,
                                                  const std::vector<std::unique_ptr<PlanNode>>& children) {
    std::vector<MixOptions::Stage> stages;
    const Json weights = source.args.value("weights", Json()), schedule = source.args.value("schedule", Json());
    const Json temperature = source.args.value("temperature", Json());
    if (weights.is_object()) stages.push_back({0, in_order(source, weights)});
    if (schedule.is_array()) {
      for (const Json& stage : schedule) stages.push_back({stage[0].get<int64_t>(), in_order(source, stage[1])});
    }
    if (temperature.is_number()) {
      stages.emplace_back();
      for (const auto& child : children)
        stages.back().weights.push_back(std::pow(static_cast<double>(child->size()), 1 / temperature.get<double>()));
    }
    return stages;
  }

  static std::vector<double> in_order(const OpSpec& source, const Json& weights) {
    std::vector<double> values;
    for (const PipelinePart& part : source.parts) values.push_back(weights[part.name].get<double>());
    return values;
  }

  const uint64_t seed_;
  const std::vector<BranchData>& branches_;
  size_t next_ = 0;  // the next leaf
};

// The fields of a branch's batches by name, as far as they are known without user code.
struct KnownFields {
  std::vector<std::string> names;
  bool open_ended = false;  // user code may add others
};

KnownFields fields_of(const BranchData& data) {
  const Schema schema = infer(data.branch.description, data.source->schema(), catalog()).schemas.back();
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

}  // namespace

int64_t DataPlan::last_epoch() const {
  constexpr int64_t kBound = int64_t{1} << 62;
  const bool counts_over_epochs = branches.size() > 1 || size() != plan->order(0).size();
  return counts_over_epochs ? std::min(kMaxEpoch, kBound / std::max<int64_t>(size(), 1) - 1) : kMaxEpoch;
}

std::string DataPlan::version() const {
  if (branches.size() == 1) return branches.front().chosen.version;
  std::string versions;
  for (const BranchData& data : branches) versions += data.chosen.version + " ";
  return hash128(versions).to_string();
}

std::vector<BranchSamples> DataPlan::samples() const {
  std::vector<BranchSamples> all;
  for (const BranchData& data : branches) all.push_back({data.chosen.selection, data.seed, data.chosen.packing});
  return all;
}

std::vector<BranchData> begin_branches(const Description& description, std::shared_ptr<const Source> source,
                                       uint64_t seed) {
  std::vector<BranchData> all;
  const PartedSource* const parts = source ? as_parted(*source) : nullptr;
  for (Branch& branch : branches_of(description, catalog())) {
    BranchData& data = all.emplace_back();
    data.source = parts != nullptr ? parts->branch_sources()[all.size() - 1] : source;
    data.seed = seed_of(seed, branch.name());
    data.branch = std::move(branch);
  }
  if (all.size() > 1) align_fields(all);
  return all;
}

Status order_branches(const Description& description, uint64_t seed, DataPlan* data) {
  for (BranchData& branch : data->branches) {
    const OpSpec* const shuffle = find_step(branch.branch.description, OpEffect::kOrder);
    const ChunkSource* const chunks = branch.source ? branch.source->as_chunks() : nullptr;
    FOREBAY_ASSIGN(branch.ordering, branch.chosen.order(shuffle, chunks, branch.seed));
  }
  FOREBAY_ASSIGN(data->plan, PlanBuilder(seed, data->branches).build(description, {}));
  return {};
}

}  // namespace forebay
