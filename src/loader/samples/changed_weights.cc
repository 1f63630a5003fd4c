#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/suggest.h"
#include "loader/describe/mix_args.h"
#include "loader/samples/part_progress.h"
#include "loader/samples/plan_edit.h"
#include "ops/definition/args.h"
#include "pipeline/op_spec.h"
#include "plan/mix_steps.h"

namespace forebay {

namespace {

constexpr const char* kNeedsParts = "the pipeline has no parts; fb.mix makes one of several";

std::string called(const std::string& path) { return path.empty() ? "the mix" : fmt::format("the mix '{}'", path); }

Status unknown_part(const std::string& path, const std::map<std::string, const OpSpec*>& sources) {
  std::vector<std::string> paths;
  for (const auto& [of, source] : sources)
    for (const PipelinePart& part : source->parts) paths.push_back(path_of_part(of, part.name));
  return invalid_argument(fmt::format("set_weights(): there is no part '{}'{}; the parts are {}", path,
                                      suggestion_text(path, paths), quoted_list(paths)));
}

// Weights of the parts of one mix.
class NewWeights {
 public:
  NewWeights(const std::string& path, const OpSpec& source, const DataPlan& data)
      : path_(path), source_(source), data_(data) {
    for (const PipelinePart& part : source.parts) sizes_.push_back(data.sizes.at(path_of_part(path, part.name)).whole);
  }

  Status check(const Json& weights) const {
    if (source_.name != "mix" || shares_of(source_, sizes_).stages.empty())
      return refused(
          fmt::format("{} gives each sample of its parts once, without weights; make it with weights=", source_.name));
    if (const std::vector<Problem> problems = weight_problems(source_, weights); !problems.empty())
      return refused(fmt::format("{}: {}", problems.front().message, problems.front().remedy));
    for (size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i] == 0 && weights[source_.parts[i].name].get<double>() > 0)
        return refused(fmt::format("'{}' has no samples, and a weight above 0: give it 0", source_.parts[i].name));
    return {};
  }

  std::vector<int64_t> whole(const Json& weights) const {
    std::vector<double> values;
    for (const PipelinePart& part : source_.parts) values.push_back(weights[part.name].get<double>());
    return whole_weights(values);
  }

  // The weights from a position of the mix on; nothing if they change later.
  std::optional<std::vector<int64_t>> lasting(int64_t from) const {
    const auto change = data_.changes.mixes.find(path_);
    if (change != data_.changes.mixes.end() && !change->second.weights.empty()) return change->second.weights;
    const std::vector<MixOptions::Stage> left = stages_from(shares_of(source_, sizes_), from);
    return left.size() == 1 ? std::optional(whole_weights(left.front().weights)) : std::nullopt;
  }

 private:
  Status refused(const std::string& why) const {
    return invalid_argument(fmt::format("set_weights(): {}: {}", called(path_), why));
  }

  const std::string& path_;
  const OpSpec& source_;
  const DataPlan& data_;
  std::vector<int64_t> sizes_;
};

Result<DataPlan> with_weights(const Description& description, const DataPlan& data,
                              const std::map<std::string, double>& weights, const Cursor& at) {
  std::map<std::string, const OpSpec*> sources;
  find_sources(description, "", &sources);
  if (sources.empty()) return invalid_argument(fmt::format("set_weights(): {}", kNeedsParts));
  if (weights.empty())
    return invalid_argument("set_weights(): no weights are given; give a number for each part of a mix");
  std::map<std::string, Json> by_mix;
  for (const auto& [path, weight] : weights) {
    const size_t slash = path.rfind('/');
    const std::string of = slash == std::string::npos ? "" : path.substr(0, slash);
    if (!sources.contains(of)) return unknown_part(path, sources);
    by_mix[of][slash == std::string::npos ? path : path.substr(slash + 1)] = weight;
  }
  const std::vector<SavedPart> parts =
      parts_before({description}, *data.plan, {at.epoch, at.position}, data, data.changes);
  DataPlan changed = data;
  for (const auto& [path, given] : by_mix) {
    const OpSpec& source = *sources.at(path);
    const NewWeights mix(path, source, data);
    FOREBAY_RETURN_IF_ERROR(mix.check(given));
    const int64_t from = path.empty() ? at.epoch * data.size() + at.position : find_part(parts, path)->drawn;
    std::vector<int64_t> whole = mix.whole(given);
    if (whole == mix.lasting(from)) continue;
    changed.changes.mixes[path] = {from, drawn_by_parts(source, path, parts), std::move(whole)};
    changed.changes.since = at;
  }
  return changed;
}

// Ranks send each other the texts of many changes, so that of very many parts is a hash.
std::string text_of(const std::map<std::string, double>& weights) {
  constexpr size_t kMost = 400;
  std::vector<std::string> each;
  for (const auto& [path, weight] : weights) each.push_back(fmt::format("{}: {}", path, weight));
  std::string all = fmt::format("{}", fmt::join(each, ", "));
  if (all.size() <= kMost) return all;
  return fmt::format("{} weights ({})", weights.size(), hash128(all).to_string());
}

}  // namespace

PlanEdit set_part_weights(std::map<std::string, double> weights) {
  std::string value = text_of(weights);
  return {"set_weights()", std::move(value), kNeedsParts,
          [weights = std::move(weights)](const Description& description, const DataPlan& data, const Cursor& at) {
            return with_weights(description, data, weights, at);
          }};
}

}  // namespace forebay
