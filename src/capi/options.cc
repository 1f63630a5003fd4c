#include "capi/options.h"

#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "base/json_depth.h"
#include "base/suggest.h"

namespace forebay::capi {

namespace {

using OptionJson = nlohmann::json;

constexpr size_t kMostBytes = size_t{16} << 20;  // enough for a very long list of peers
constexpr size_t kDisplayBytes = 60;             // most bytes of a value in a message of one line
constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxBudget = std::numeric_limits<int64_t>::max();

std::string display_text(const OptionJson& value) {
  std::string text = value.dump(-1, ' ', true, OptionJson::error_handler_t::replace);
  if (text.size() > kDisplayBytes) text.replace(kDisplayBytes, std::string::npos, "…");
  return text;
}

Status must_be(const std::string& name, const OptionJson& value, const std::string& what) {
  return invalid_argument(fmt::format("options: {} is {}; it must be {}", name, display_text(value), what));
}

Result<int64_t> integer_between(const std::string& name, const OptionJson& value, int64_t least, int64_t most) {
  const bool fits = value.is_number_unsigned()
                        // The upper end is compared unsigned, since get<int64_t>() may overflow.
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(most) && value.get<int64_t>() >= least
                        : value.is_number_integer() && value.get<int64_t>() >= least && value.get<int64_t>() <= most;
  if (!fits) return must_be(name, value, fmt::format("a whole number from {} to {}", least, most));
  return value.get<int64_t>();
}

/// Stores a number in an option of any integer type.
template <typename Option>
Status set_number(const std::string& name, const OptionJson& value, int64_t least, Option& option) {
  FOREBAY_ASSIGN(const int64_t number, integer_between(name, value, least, kMaxInt));
  option = static_cast<typename Option::value_type>(number);
  return {};
}

bool is_auto(const OptionJson& value) { return value.is_string() && value.get_ref<const std::string&>() == "auto"; }

template <typename Option>
Status set_number_or_auto(const std::string& name, const OptionJson& value, Option& option) {
  if (is_auto(value)) return {};
  if (!value.is_number_integer()) return must_be(name, value, "a whole number or \"auto\"");
  return set_number(name, value, 1, option);
}

template <typename Choice, size_t kCount>
Status set_choice(const std::string& name, const OptionJson& value,
                  const std::array<std::pair<const char*, Choice>, kCount>& choices, Choice& option) {
  std::string all;
  for (const auto& [word, choice] : choices) {
    if (value.is_string() && value.get_ref<const std::string&>() == word) {
      option = choice;
      return {};
    }
    all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", word);
  }
  return must_be(name, value, "one of " + all);
}

Status set_text(const std::string& name, const OptionJson& value, std::string& option) {
  if (!value.is_string()) return must_be(name, value, "text");
  option = value.get<std::string>();
  return {};
}

// ---- one function for each option

Status set_seed(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  if (!value.is_number_unsigned()) return must_be(name, value, "a whole number from 0 to 2^64 - 1");
  options.seed = value.get<uint64_t>();
  return {};
}

Status set_memory(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  if (is_auto(value)) return {};
  if (value.is_string()) {
    options.resources.memory = parse_byte_size(value.get_ref<const std::string&>());
    if (options.resources.memory) return {};
    return must_be(name, value, "a number of bytes, or text such as \"512MB\" or \"2GiB\"");
  }
  FOREBAY_ASSIGN(const int64_t bytes, integer_between(name, value, 0, kMaxBudget));
  options.resources.memory = static_cast<uint64_t>(bytes);
  return {};
}

Status set_max_errors(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  if (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() <= 1) {
    options.errors.max_errors = ErrorLimit(value.get<double>());
    return {};
  }
  if (value.is_number_float())
    return must_be(name, value, "a count (a whole number) or a share (0.0 to 1.0, with a point)");
  FOREBAY_ASSIGN(const int64_t count, integer_between(name, value, 0, kMaxBudget));
  options.errors.max_errors = ErrorLimit(count);
  return {};
}

Status set_on_error(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  constexpr std::array<std::pair<const char*, OnError>, 3> kChoices = {
      {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}}};
  return set_choice(name, value, kChoices, options.errors.on_error);
}

Status set_shard_by(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  constexpr std::array<std::pair<const char*, ShardBy>, 3> kChoices = {
      {{"auto", ShardBy::kAuto}, {"count", ShardBy::kCount}, {"locality", ShardBy::kLocality}}};
  return set_choice(name, value, kChoices, options.job.shard_by);
}

Status set_restart(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  if (!value.is_boolean()) return must_be(name, value, "true or false");
  options.restart = value.get<bool>();
  return {};
}

Status set_storage_options(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  if (!value.is_object()) return must_be(name, value, "an object");
  for (const auto& [key, option] : value.items()) {
    // Values may be credentials, so a message names only their type.
    if (!option.is_primitive() || option.is_null())
      return invalid_argument(fmt::format("options: {} of {} is an {}; it must be text, a number, true or false", key,
                                          name, option.type_name()));
    options.storage_options[key] = option.is_string() ? option.get<std::string>() : option.dump();
  }
  return {};
}

Status set_peers(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  // A text without a list is the folder where ranks meet. It cannot be an address, which would
  // describe a job of one rank.
  const OptionJson list = value.is_string() ? OptionJson::array({value}) : value;
  if (!list.is_array())
    return must_be(name, value, "a list of \"host:port\", one for each rank, or \"file:///FOLDER\"");
  for (const OptionJson& address : list) {
    if (!address.is_string() || (value.is_string() && !address.get_ref<const std::string&>().starts_with("file://")))
      return must_be(name, value, "a list of \"host:port\", one for each rank, or \"file:///FOLDER\"");
    options.job.peers.addresses.push_back(address.get<std::string>());
  }
  return {};
}

struct NamedOption {
  const char* name;
  Status (*set)(const std::string& name, const OptionJson& value, LoaderOptions& options);
};

constexpr std::array<NamedOption, 16> kOptions = {{
    {"seed", set_seed},
    {"epochs", [](const std::string& name, const OptionJson& value,
                  LoaderOptions& options) { return set_number(name, value, 0, options.epochs); }},
    {"steps_per_epoch",
     [](const std::string& name, const OptionJson& value, LoaderOptions& options) {
       return set_number(name, value, 1, options.stream.steps_per_epoch);
     }},
    {"rank", [](const std::string& name, const OptionJson& value,
                LoaderOptions& options) { return set_number(name, value, 0, options.job.rank); }},
    {"world_size", [](const std::string& name, const OptionJson& value,
                      LoaderOptions& options) { return set_number(name, value, 0, options.job.world_size); }},
    {"threads", [](const std::string& name, const OptionJson& value,
                   LoaderOptions& options) { return set_number_or_auto(name, value, options.resources.threads); }},
    {"requests", [](const std::string& name, const OptionJson& value,
                    LoaderOptions& options) { return set_number_or_auto(name, value, options.resources.requests); }},
    {"memory", set_memory},
    {"on_error", set_on_error},
    {"max_errors", set_max_errors},
    {"storage_options", set_storage_options},
    {"shard_by", set_shard_by},
    {"hosts", [](const std::string& name, const OptionJson& value,
                 LoaderOptions& options) { return set_number(name, value, 1, options.job.hosts); }},
    {"peers", set_peers},
    {"journal", [](const std::string& name, const OptionJson& value,
                   LoaderOptions& options) { return set_text(name, value, options.stream.journal); }},
    {"restart", set_restart},
}};

Status unknown_option(const std::string& name) {
  std::vector<std::string> names;
  for (const NamedOption& option : kOptions) names.emplace_back(option.name);
  return invalid_argument(fmt::format("options: there is no option {}{}; there are {}", display_text(name),
                                      suggestion_text(name, names), fmt::join(names, ", ")));
}

Status set_option(const std::string& name, const OptionJson& value, LoaderOptions& options) {
  for (const NamedOption& option : kOptions) {
    if (name == option.name) return value.is_null() ? Status() : option.set(name, value, options);
  }
  return unknown_option(name);
}

/// Parses an object and refuses names that occur twice.
Result<OptionJson> parse_object(std::string_view text) {
  std::string repeated;
  std::vector<std::set<std::string>> open;
  const auto each_once = [&](int /*depth*/, OptionJson::parse_event_t event, OptionJson& parsed) {
    // `open` has the names of each object that is not closed yet. The parser itself would silently
    // use the last of two values.
    if (event == OptionJson::parse_event_t::object_start) open.emplace_back();
    if (event == OptionJson::parse_event_t::object_end) open.pop_back();
    if (event == OptionJson::parse_event_t::key) {
      const auto [at, is_new] = open.back().insert(parsed.get<std::string>());
      if (!is_new) repeated = *at;
    }
    return true;
  };
  if (text.size() > kMostBytes) return invalid_argument("options: this is longer than any options");
  if (nests_too_deep(text)) return invalid_argument("options: lists and objects nest too deep in it");
  OptionJson json = OptionJson::parse(text, each_once, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    return invalid_argument("options: this is no JSON object, such as {\"seed\": 7, \"epochs\": 1}");
  if (!repeated.empty()) return invalid_argument(fmt::format("options: {} stands there twice", display_text(repeated)));
  return json;
}

}  // namespace

Result<LoaderOptions> options_from_json(std::string_view text) {
  LoaderOptions options;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return options;
  FOREBAY_ASSIGN(const OptionJson json, parse_object(text));
  for (const auto& [name, value] : json.items()) FOREBAY_RETURN_IF_ERROR(set_option(name, value, options));
  return options;
}

}  // namespace forebay::capi
