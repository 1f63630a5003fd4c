#include "loader/run/stream_settings.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "loader/run/stream_run.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

BufferPolicy policy_of(const std::string& name) {
  if (name == "drop_oldest") return BufferPolicy::kDropOldest;
  if (name == "sample") return BufferPolicy::kSample;
  return name == "spill" ? BufferPolicy::kSpill : BufferPolicy::kBlock;
}

uint64_t default_bytes(const std::optional<uint64_t>& memory) {
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  return memory ? std::clamp<uint64_t>(*memory / 4, 1, kBytes) : kBytes;
}

std::string policies_of(const OpSpec& buffer) {
  const Args args(buffer.args, catalog().find(buffer.name)->args);
  return args.text("policy") + ", " + args.text("on_underrun");
}

OnUnderrun on_underrun_of(const Description& description) {
  const OpSpec* const buffer = find_step(description, OpEffect::kBuffering);
  if (buffer == nullptr) return OnUnderrun::kWait;
  const std::string name = Args(buffer->args, catalog().find(buffer->name)->args).text("on_underrun");
  if (name == "wait") return OnUnderrun::kWait;
  return name == "repeat" ? OnUnderrun::kRepeat : OnUnderrun::kRehearse;
}

// Disk space for records that .buffer() spills or that a replay retains.
struct DiskBudget {
  std::string folder;
  uint64_t bytes = uint64_t{10} << 30;
  bool is_explicit = false;  // the user named the folder
};

DiskBudget disk_budget(const Description& description) {
  std::error_code error;
  DiskBudget budget{.folder = std::filesystem::temp_directory_path(error).string()};
  if (const OpSpec* const buffer = find_step(description, OpEffect::kBuffering)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    budget.bytes = args.bytes("disk");
    budget.is_explicit = args.has("dir");
    if (budget.is_explicit) budget.folder = args.text("dir");
  }
  return budget;
}

}  // namespace

Status check_stream_options(const LoaderOptions& options) {
  if (options.errors.on_error == OnError::kReplace)
    return invalid_argument("on_error=\"replace\": a stream has no other sample to take; give \"skip\" or \"raise\"");
  const std::optional<int64_t>& steps = options.stream.steps_per_epoch;
  if (steps && *steps < 1) return invalid_argument(fmt::format("steps_per_epoch={} is not positive", *steps));
  if (options.epochs && !steps)
    return invalid_argument("epochs= of a stream needs steps_per_epoch=: it has no end of its own");
  return {};
}

StreamOptions stream_options_of(const Description& description, const LoaderOptions& given, int64_t step_records) {
  StreamOptions options;
  options.seed = given.seed;
  options.bytes = default_bytes(given.resources.memory);
  if (const OpSpec* const buffer = find_step(description, OpEffect::kBuffering)) {
    const Args args(buffer->args, catalog().find(buffer->name)->args);
    options.policy = policy_of(args.text("policy"));
    if (args.has("bytes")) options.bytes = args.bytes("bytes");
  }
  options.on_underrun = on_underrun_of(description);
  const int64_t window = int_arg(find_step(description, OpEffect::kOrder), "window", 0);
  options.shuffled = window > 0;
  // Without a window, a decision covers one step over all ranks: no more than is needed.
  options.decision_records = static_cast<size_t>(window > 0 ? window : step_records);
  const Json args = description.steps().front().args;
  options.skip_trimmed = args.value("on_trimmed", Json()) == Json("skip");
  options.from_now = args.value("start", Json()) == Json("now");
  return options;
}

bool retains_records(const Description& description) {
  return on_underrun_of(description) != OnUnderrun::kWait || find_step(description, OpEffect::kReplay) != nullptr;
}

Result<std::shared_ptr<ReplayDisk>> open_replay_disk(const Description& description) {
  const DiskBudget budget = disk_budget(description);
  Result<std::unique_ptr<ReplayDisk>> disk = ReplayDisk::open(budget.folder, budget.bytes);
  if (!disk.ok() && !budget.is_explicit) return std::shared_ptr<ReplayDisk>();
  if (!disk.ok()) return disk.status();
  return std::shared_ptr<ReplayDisk>(*std::move(disk));
}

Result<std::shared_ptr<SpillSpace>> open_spill_space(const Description& description, const RecordLog& log) {
  if (!log.records_are_whole())
    return invalid_argument(fmt::format(
        "policy=\"spill\": records of {} are objects of your program, which stay in its memory; give \"block\"",
        log.name()));
  const DiskBudget budget = disk_budget(description);
  return SpillSpace::open(budget.folder, budget.bytes);
}

std::vector<RunTerms::Term> settings_of_stream(const Description& description, const StreamOptions& options,
                                               const RecordLog& log, const std::string& part) {
  const int64_t window = options.shuffled ? static_cast<int64_t>(options.decision_records) : 0;
  const OpSpec* const buffer = find_step(description, OpEffect::kBuffering);
  const std::string of = part.empty() ? "" : fmt::format(" of '{}'", part);
  return {{"window" + of, fmt::format("{}", window)},
          {"the stream" + of, log.identity()},
          {".buffer" + of, buffer == nullptr ? "block, wait" : policies_of(*buffer)}};
}

RunTerms stream_terms(const RunInput& input, const std::vector<std::vector<RunTerms::Term>>& streams) {
  const LoaderOptions& loader = input.options;
  const ScheduleOptions schedule = schedule_of(input.description(), 0, input.rank_info.world_size);
  const OpSpec* const rehearse = find_step(input.description(), OpEffect::kReplay);
  RunTerms all{{{"seed", fmt::format("{}", loader.seed)},
                {"batch size", fmt::format("{}", schedule.batch_size)},
                {"ranks", fmt::format("{}", schedule.world_size)},
                {"steps_per_epoch", fmt::format("{}", loader.stream.steps_per_epoch.value_or(0))},
                {"epochs", fmt::format("{}", loader.epochs.value_or(0))},
                {".rehearse", rehearse == nullptr ? "none" : rehearse->args.dump()}}};
  for (const std::vector<RunTerms::Term>& settings : streams)
    all.terms.insert(all.terms.end(), settings.begin(), settings.end());
  return all;
}

}  // namespace forebay
