#include "loader/compile/bucket_step.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr int64_t kGroupsInWindow = 100;

Args bucket_args(const OpSpec& bucket) { return {bucket.args, catalog().find(bucket.name)->args}; }

BucketRules rules_of(const Args& args) {
  BucketRules rules;
  if (args.has("tokens")) rules.budget = args.number("tokens");
  if (args.has("cost")) {
    const std::vector<double> cost = args.numbers("cost");
    rules.linear = cost[0];
    rules.quadratic = cost.size() > 1 ? cost[1] : 0;
  }
  rules.padded = args.json("padded").get<bool>();
  if (args.has("samples")) rules.most_rows = std::min<int64_t>(args.integer("samples"), INT32_MAX);
  if (args.has("boundaries"))
    for (const double boundary : args.numbers("boundaries")) rules.boundaries.push_back(static_cast<float>(boundary));
  if (args.has("sizes"))
    for (const double size : args.numbers("sizes")) rules.sizes.push_back(static_cast<int64_t>(size));
  return rules;
}

}  // namespace

const OpSpec* measuring_step(const Description& description) {
  for (const OpSpec& step : description.steps()) {
    const OpDef* const def = catalog().find(step.name);
    if (def != nullptr && def->measures) return &step;
  }
  return nullptr;
}

std::string measured_field(const OpSpec& bucket) { return bucket_args(bucket).text("by"); }

BucketingOptions bucket_options(const OpSpec& bucket, std::span<const SampleLengths> lengths, int64_t mixed_rows,
                                uint64_t seed) {
  const Args args = bucket_args(bucket);
  BucketingOptions options{.rules = rules_of(args), .group = args.integer("group"), .seed = seed};
  const bool given = args.has("window");
  const int64_t groups = given ? args.integer("window") : kGroupsInWindow;
  options.window = window_of_groups(options.rules, lengths, options.group, groups);
  if (!given && mixed_rows > 0) {
    const int64_t least = window_of_groups(options.rules, lengths, options.group, 1);
    options.window = std::min(options.window, std::max(mixed_rows, least));
  }
  return options;
}

void warn_of_unlike_batches(const OpSpec& bucket, int64_t world_size) {
  const int64_t group = bucket_args(bucket).integer("group");
  if (group % world_size == 0) return;
  log_warning(
      fmt::format("{} ranks do not divide .bucket(group={}), so they work unequally long in some steps; give "
                  "group={}, or a multiple of that, before the training begins",
                  world_size, group, world_size));
}

}  // namespace forebay
