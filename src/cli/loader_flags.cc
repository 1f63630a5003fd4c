#include "cli/loader_flags.h"

#include <map>

namespace forebay {
namespace {

const std::map<std::string, OnError> kOnError = {
    {"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}};

}  // namespace

LoaderFlags::LoaderFlags(CommandLine& line, Which which) {
  CLI::App& app = line.app();
  app.add_option("--seed", options_.seed, "of the order and of all random numbers")->type_name("N")->default_str("0");
  line.add_number("--epochs", options_.epochs, 1, int64_t{1} << 40, "how many")->default_str("1");
  line.add_number("--threads", options_.threads, 1, 4096, "compute threads; they change speed, never content");
  if (which == Which::kBasic) return;
  line.add_number("--requests", options_.requests, 1, 1 << 16, "storage requests in flight");
  line.add_bytes("--memory", options_.memory, "budget for everything between storage and the user, like 512MiB");
  app.add_option("--on-error", on_error_, "what a bad record does")
      ->type_name("raise|skip|replace")
      ->check(CLI::IsMember({"raise", "skip", "replace"}).description(""))
      ->default_str(on_error_);
  app.add_option("--max-errors", options_.max_errors, "bad records that are borne: a count, or a share below 1")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e18).description(""));
  storage_.emplace(line);
}

LoaderOptions LoaderFlags::options() const {
  LoaderOptions options = options_;
  options.on_error = kOnError.at(on_error_);
  if (storage_) options.storage_options = storage_->options();
  return options;
}

}  // namespace forebay
