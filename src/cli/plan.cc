#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/checked_pipeline.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/job_plan.h"
#include "cli/loader_flags.h"
#include "cli/mixing_report.h"
#include "cli/storage_flags.h"
#include "cli/whole_number.h"
#include "forebay/loader.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/epoch_plan.h"
#include "loader/samples/unread_plan.h"
#include "pipeline/description.h"

namespace forebay {
namespace {

constexpr int64_t kMaxRanks = 1 << 20;  // a limit, since each step visits all ranks

struct PlanOptions {
  std::string pipeline;
  std::optional<int64_t> hosts;
  int64_t ranks_per_host = 1;
  std::optional<int64_t> size;
  std::vector<std::string> part_sizes;
  bool json = false, mixing = false;
  PlanRequest plan;
  std::map<std::string, std::string> storage;
};

/// Computes the plan for data sets of these sizes without opening them.
Result<EpochPlan> plan_of_sizes(const Description& description, const std::map<std::string, int64_t>& sizes,
                                const PlanRequest& request) {
  for (const Branch& branch : branches_of(description)) {
    if (is_source(branch.description.steps().front(), SourceKind::kTable))
      return invalid_argument("--size says nothing of a table's row groups, which decide its order; leave it out");
    if (find_step(branch.description, OpEffect::kPacking) != nullptr)
      return invalid_argument(
          "--size says nothing of how long rows are, which decides into how many blocks .pack() puts "
          "them; leave it out");
    if (find_step(branch.description, OpEffect::kKeys) != nullptr)
      return invalid_argument("--size says nothing of keys, by which .keep_keys() chooses samples; leave it out");
  }
  const char* const given = branches_of(description).size() > 1 ? "--part-size" : "--size";
  FOREBAY_ASSIGN(const DataPlan data, unread_plan(description, nullptr, sizes, request.seed, given));
  return plan_epoch(description, data, request);
}

/// The sizes that the flags give, by the names of parts.
Result<std::map<std::string, int64_t>> sizes_of(const PlanOptions& options) {
  std::map<std::string, int64_t> sizes;
  if (options.size) sizes[""] = *options.size;
  for (const std::string& given : options.part_sizes) {
    const size_t equals = given.find('=');
    const std::optional<int64_t> size =
        equals == std::string::npos ? std::nullopt : whole_number<int64_t>(std::string_view(given).substr(equals + 1));
    if (equals == 0 || !size || *size < 0)
      return invalid_argument(
          fmt::format("--part-size is '{}'; give a part and its number of samples, as web=1000", given));
    sizes[given.substr(0, equals)] = *size;
  }
  return sizes;
}

/// Computes the plan. Opens the data set unless its size is given. Reads only the indexes of
/// tables.
Result<EpochPlan> make_plan(const Pipeline& pipeline, PlanOptions& options, std::stop_token stop) {
  FOREBAY_ASSIGN(const auto sizes, sizes_of(options));
  if (!sizes.empty()) return plan_of_sizes(pipeline.description(), sizes, options.plan);
  FOREBAY_ASSIGN(
      const std::unique_ptr<Loader> loader,
      Loader::open(pipeline, {.seed = options.plan.seed,
                              .job = {.rank = 0, .world_size = 1, .shard_by = options.plan.shard_by.shard_by},
                              .storage_options = std::move(options.storage),
                              .stop = std::move(stop)}));
  FOREBAY_RETURN_IF_ERROR(loader->prepare());
  return loader->plan(options.plan.epoch, options.plan.rank, options.plan.world_size, options.plan.max_steps);
}

SortedJson plan_to_json(const EpochPlan& plan, const PlanRequest& options) {
  SortedJson steps = SortedJson::array();
  for (const PlannedStep& step : plan.first) {
    steps.push_back({{"ids", step.ids},
                     {"moved", step.moved},
                     {"padding", step.padding},
                     {"position", step.position},
                     {"positions", step.positions},
                     {"step", steps.size()}});
    if (!plan.part_names.empty()) steps.back()["parts"] = step.parts;
  }
  SortedJson json = {{"epoch", options.epoch},     {"rank", options.rank},     {"seed", options.seed},
                     {"size", plan.size},          {"step_count", plan.steps}, {"steps", steps},
                     {"world", options.world_size}};
  if (!plan.part_names.empty()) json["part_names"] = plan.part_names;
  return json;
}

// The ids of a step; those of parts with their names, as "web:17".
std::vector<std::string> named_ids(const EpochPlan& plan, const PlannedStep& step) {
  std::vector<std::string> ids;
  for (size_t row = 0; row < step.ids.size(); ++row) {
    const bool in_part = !step.parts.empty();
    ids.push_back(in_part ? fmt::format("{}:{}", plan.part_names[static_cast<size_t>(step.parts[row])], step.ids[row])
                          : fmt::format("{}", step.ids[row]));
  }
  return ids;
}

void print_plan(const EpochPlan& plan, const PlanRequest& options, const Console& console) {
  fmt::print(console.out, "epoch {} of {} samples, seed {}: rank {} of {} takes {} steps\n", options.epoch, plan.size,
             options.seed, options.rank, options.world_size, plan.steps);
  for (size_t i = 0; i < plan.first.size(); ++i) {
    const PlannedStep& step = plan.first[i];
    fmt::print(console.out, "step {}: {}{}\n", i, fmt::join(named_ids(plan, step), " "),
               step.padding == 0 ? "" : fmt::format(" (the last {} padding)", step.padding));
  }
  int64_t moved = 0;
  for (const PlannedStep& step : plan.first) moved += static_cast<int64_t>(step.moved.size());
  if (moved > 0) {
    fmt::print(console.out,
               "{} of these rows come from lanes of other ranks (--json names them): give lanes that the "
               "ranks divide, and batches that the lanes divide\n",
               moved);
  }
  const auto shown = static_cast<int64_t>(plan.first.size());
  if (shown < plan.steps) fmt::print(console.out, "and {} more steps\n", plan.steps - shown);
}

int report_mixing(const Pipeline& pipeline, const PlanOptions& options, std::stop_token stop, const Console& console) {
  const auto reports = make_mixing_reports(pipeline, options.plan, options.storage, std::move(stop));
  if (!reports.ok()) return report_failure(reports.status(), options.json, console);
  if (options.json)
    print_json(mixing_to_json(*reports), console);
  else
    print_mixing(*reports, console);
  return kDone;
}

int report_job(const Pipeline& pipeline, const PlanOptions& options, std::stop_token stop, const Console& console) {
  const Result<JobPlan> job = plan_job(pipeline, {*options.hosts, options.ranks_per_host, options.plan.seed,
                                                  options.storage, std::move(stop), options.plan.shard_by.shard_by});
  if (!job.ok()) return report_failure(job.status(), options.json, console);
  if (options.json)
    print_json(job_to_json(*job), console);
  else
    print_job(*job, console);
  return kDone;
}

int report_steps(const Pipeline& pipeline, PlanOptions& options, std::stop_token stop, const Console& console) {
  const Result<EpochPlan> plan = make_plan(pipeline, options, std::move(stop));
  if (!plan.ok()) return report_failure(plan.status(), options.json, console);
  if (options.json)
    print_json(plan_to_json(*plan, options.plan), console);
  else
    print_plan(*plan, options.plan, console);
  return kDone;
}

void add_options(CommandLine& line, PlanOptions& options) {
  constexpr int64_t kMany = int64_t{1} << 62;
  CLI::App& app = line.app();
  app.add_option("pipeline", options.pipeline, "a pipeline as JSON; - is standard input")->required();
  line.add_number("--epoch", options.plan.epoch, 0, kMany, "number of the epoch")->capture_default_str();
  line.add_number("--rank", options.plan.rank, 0, kMany, "number of the rank")->capture_default_str();
  line.add_number("--world", options.plan.world_size, 1, 1 << 30, "number of ranks")->capture_default_str();
  line.add_seed(options.plan.seed, "seed of the order");
  line.add_number("--size", options.size, 0, kMany, "number of samples in the data set; default: from its listing");
  app.add_option("--part-size", options.part_sizes,
                 "number of samples of a part, for many data sets as one; once for each part")
      ->type_name("PART=NUMBER")
      ->allow_extra_args(false);
  line.add_number("--steps", options.plan.max_steps, 0, kMany, "print at most this number of steps");
  line.add_number("--hosts", options.hosts, 1, 1 << 20,
                  "number of hosts of a job: print the reads of each, by place, instead of steps");
  line.add_number("--ranks-per-host", options.ranks_per_host, 1, 1 << 20, "with --hosts: ranks on each host")
      ->capture_default_str();
  app.add_flag("--mixing", options.mixing,
               "for tables: how well blocks of row groups mix, compared with a flat shuffle");
}

// Returns the rule that the options violate, or nothing.
std::string violated_rule(const CLI::App& app, const PlanOptions& options) {
  if (options.plan.rank >= options.plan.world_size)
    return fmt::format("was asked for rank {} of {}; ranks count from 0", options.plan.rank, options.plan.world_size);
  if (options.hosts && *options.hosts * options.ranks_per_host > kMaxRanks)
    return fmt::format("was asked for {} ranks (--hosts times --ranks-per-host); give at most {}",
                       *options.hosts * options.ranks_per_host, kMaxRanks);
  if (options.mixing && options.hosts) return "cannot have --mixing together with --hosts; leave one of them out";
  for (const char* of_steps : {"--size", "--part-size", "--epoch", "--rank", "--world", "--steps"}) {
    if (options.hosts && app.count(of_steps) > 0)
      return fmt::format("{} says nothing with --hosts; leave one of them out", of_steps);
  }
  return "";
}

}  // namespace

int plan_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("plan", "Prints which samples (by id) a rank gets at each step of an epoch, from the seed alone.");
  PlanOptions options;
  add_options(line, options);
  std::string shard_by = "auto";
  add_shard_by(line, shard_by);
  const StorageFlags storage(line);
  if (const auto code = line.parse(arguments, console)) return *code;
  options.json = line.json();
  options.storage = storage.options();
  options.plan.shard_by.shard_by = shard_by_named(shard_by);
  if (const std::string rule = violated_rule(line.app(), options); !rule.empty()) return line.misuse(rule, console);

  const CheckedPipeline checked = read_checked_pipeline(options.pipeline, options.json, console);
  if (!checked.pipeline) return checked.exit_code;
  const Interrupt interrupt;
  if (options.mixing) return report_mixing(*checked.pipeline, options, interrupt.token(), console);
  if (options.hosts) return report_job(*checked.pipeline, options, interrupt.token(), console);
  return report_steps(*checked.pipeline, options, interrupt.token(), console);
}

}  // namespace forebay
