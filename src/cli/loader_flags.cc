#include "cli/loader_flags.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/whole_number.h"
#include "loader/describe/unbounded_rules.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

/// The words that a flag takes and what they mean, in the order in which help lists them.
template <typename Meaning>
using Words = std::vector<std::pair<std::string, Meaning>>;

const Words<OnError> kOnError = {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}};
const Words<ShardBy> kShardBy = {
    {"auto", ShardBy::kAuto}, {"count", ShardBy::kCount}, {"locality", ShardBy::kLocality}};

template <typename Meaning>
void add_word(CommandLine& line, const char* flag, std::string& word, const Words<Meaning>& words, const char* about) {
  std::string names;
  for (const auto& known : words) names += (names.empty() ? "" : "|") + known.first;
  line.app()
      .add_option(flag, word, about)
      ->type_name(names)
      ->check(CLI::IsMember(words).description(""))
      ->default_str(word);
}

/// `word` must be one of `words`, as it is after add_word() and CommandLine::parse().
template <typename Meaning>
Meaning meaning_of(const std::string& word, const Words<Meaning>& words) {
  return std::ranges::find(words, word, &std::pair<std::string, Meaning>::first)->second;
}

// A number with a decimal point is a share, as a float is in Python.
ErrorLimit error_limit_of(const std::string& text) {
  if (const std::optional<int64_t> count = whole_number<int64_t>(text); count && *count >= 0) return *count;
  double share = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, share);
  if (text.find('.') != std::string::npos && error == std::errc() && parsed == end && share >= 0 && share <= 1)
    return share;
  throw CLI::ValidationError(
      "--max-errors", fmt::format("'{}' is neither a count, as in 10, nor a share of the data set, as in 0.01", text));
}

}  // namespace

void add_shard_by(CommandLine& line, std::string& name) {
  add_word(line, "--shard-by", name, kShardBy,
           "assignment of rows to ranks: count: in turn; locality: first the rows that its host has cached");
}

ShardBy shard_by_named(const std::string& name) { return meaning_of(name, kShardBy); }

LoaderFlags::LoaderFlags(CommandLine& line, Which which) {
  CLI::App& app = line.app();
  line.add_seed(options_.seed, "seed of the order and of all random numbers");
  line.add_number("--epochs", options_.epochs, 1, int64_t{1} << 40, "number of epochs")->default_str("1");
  line.add_number("--threads", options_.resources.threads, 1, 4096,
                  "compute threads; they change speed, never content");
  if (which == Which::kBasic) return;
  if (which == Which::kStreams)
    line.add_number("--steps-per-epoch", options_.stream.steps_per_epoch, 1, int64_t{1} << 40,
                    "for streams: batches of each rank in an epoch");
  line.add_number("--requests", options_.resources.requests, 1, 1 << 16, "storage requests in flight");
  line.add_bytes("--memory", options_.resources.memory,
                 "budget for everything between storage and you, such as 512MiB");
  add_word(line, "--on-error", on_error_, kOnError, "treatment of bad records");
  const auto set_limit = [this](const std::string& text) { options_.errors.max_errors = error_limit_of(text); };
  app.add_option_function<std::string>("--max-errors", set_limit,
                                       "bad records that an epoch may have: a count, or a share from 0.0 to 1.0")
      ->type_name("N");
  add_shard_by(line, shard_by_);
  line.add_number("--hosts", options_.job.hosts, 1, 1 << 20,
                  "number of hosts of the ranks; default: from the launcher");
  storage_.emplace(line);
}

LoaderOptions LoaderFlags::options() const {
  LoaderOptions options = options_;
  options.errors.on_error = meaning_of(on_error_, kOnError);
  options.job.shard_by = shard_by_named(shard_by_);
  if (storage_) options.storage_options = storage_->options();
  return options;
}

Status check_epoch_end(const Pipeline& pipeline, const LoaderOptions& options) {
  if (options.stream.steps_per_epoch || !is_unbounded(pipeline.description().steps().front())) return {};
  return invalid_argument("a stream has no end of its own; give --steps-per-epoch, how many batches an epoch has");
}

}  // namespace forebay
