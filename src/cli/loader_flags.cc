#include "cli/loader_flags.h"

namespace forebay {
namespace {

const std::map<std::string, OnError> kOnError = {
    {"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}};

std::string check_key_value(const std::string& text) {
  return text.find('=') == std::string::npos || text.front() == '=' ? "write it as KEY=VALUE" : "";
}

}  // namespace

LoaderFlags::LoaderFlags(CommandLine& line, Which which) {
  CLI::App& app = line.app();
  app.add_option("--seed", options_.seed, "of the order and of all random numbers")->type_name("N")->default_str("0");
  app.add_option("--epochs", options_.epochs, "how many")->type_name("N")->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--threads", options_.threads, "compute threads; changes speed, never content")
      ->type_name("N")->check(CLI::Range(1, 4096));
  if (which == Which::kBasic) return;
  app.add_option("--requests", options_.requests, "storage requests in flight")
      ->type_name("N")->check(CLI::Range(1, 65536));
  line.add_bytes("--memory", options_.memory, "budget for everything between storage and the user, like 512MiB");
  app.add_option("--on-error", on_error_, "what a bad record does")
      ->type_name("raise|skip|replace")->check(CLI::IsMember({"raise", "skip", "replace"}));
  app.add_option("--max-errors", options_.max_errors, "bad records that are borne: a count, or a share below 1")
      ->type_name("N")->check(CLI::NonNegativeNumber);
  app.add_option("--storage-option", storage_, "for the store; may be repeated")->type_name("KEY=VALUE")
      ->check(check_key_value)->expected(1)->allow_extra_args(false);
}

LoaderOptions LoaderFlags::options() const {
  LoaderOptions options = options_;
  options.on_error = kOnError.at(on_error_);
  for (const std::string& text : storage_) {
    const size_t equals = text.find('=');
    options.storage_options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return options;
}

}  // namespace forebay
