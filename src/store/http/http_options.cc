#include "store/http/http_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 6> kNames = {"ca_file", "connect_timeout_s", "proxy",
                                                    "retries", "timeout_s",         "verify"};
constexpr std::string_view kHeader = "header_";

using Problems = std::vector<std::string>;

double number(const std::string& name, const std::string& text, double least, double most, Problems* problems) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= least && value <= most)
    return value;
  // NaN fails both comparisons, so it is refused.
  problems->push_back(fmt::format("{} is a number from {} to {}, not '{}'", name, least, most, text));
  return least;
}

int milliseconds(const std::string& name, const std::string& text, Problems* problems) {
  return static_cast<int>(std::lround(number(name, text, 0.001, 86'400, problems) * 1000));
}

bool token(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void set_header(const std::string& option, const std::string& value, HttpOptions* out, Problems* problems) {
  const std::string name = option.substr(kHeader.size());
  if (!token(name)) {
    problems->push_back(fmt::format("'{}' names no header: letters, digits and '-' follow header_", option));
  } else if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    // The message has no value, because it may be secret.
    problems->push_back(fmt::format("the value of {} holds a line break", option));
  } else {
    out->headers.push_back({name, value});
  }
}

struct Parsed {
  HttpConnectionOptions connection;
  HttpOptions options;
};

/// Returns false if no such option exists.
bool set(const std::string& name, const std::string& value, Parsed* out, Problems* problems) {
  if (name == "timeout_s") {
    out->connection.first_byte_timeout_ms = out->connection.stall_timeout_ms = milliseconds(name, value, problems);
  } else if (name == "connect_timeout_s") {
    out->connection.connect_timeout_ms = milliseconds(name, value, problems);
  } else if (name == "ca_file") {
    if (::access(value.c_str(), R_OK) != 0) problems->push_back(fmt::format("ca_file: '{}' cannot be read", value));
    out->connection.ca_file = value;
  } else if (name == "verify") {
    if (value != "true" && value != "false")
      problems->push_back(fmt::format("verify is 'true' or 'false', not '{}'", value));
    out->connection.verify = value != "false";
  } else if (name == "proxy") {
    out->connection.proxy = value;
  } else if (name == "retries") {
    const double retries = number(name, value, 0, 100, problems);
    out->options.caller.attempts = static_cast<int>(retries) + 1;
    if (retries == 0) out->options.caller.outage = out->options.caller.first_outage = std::chrono::milliseconds(0);
  } else if (name.starts_with(kHeader)) {
    set_header(name, value, &out->options, problems);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<HttpOptions> parse_http_options(const std::map<std::string, std::string>& options,
                                       std::span<const std::string_view> other_names) {
  Parsed parsed;
  Problems problems, unknown;
  for (const auto& [name, value] : options) {
    if (std::ranges::find(other_names, name) != other_names.end()) continue;
    if (!set(name, value, &parsed, &problems)) unknown.push_back(name);
  }
  if (!unknown.empty()) {
    std::vector<std::string_view> known(kNames.begin(), kNames.end());
    known.insert(known.end(), other_names.begin(), other_names.end());
    std::ranges::sort(known);
    problems.push_back(fmt::format("no such option: {}; there are {}, and header_NAME", fmt::join(unknown, ", "),
                                   fmt::join(known, ", ")));
  }
  if (!problems.empty()) return invalid_argument(fmt::format("storage options: {}", fmt::join(problems, "; ")));
  if (!parsed.connection.verify) {
    log_warning(
        "storage option verify=false: anybody between here and the server can read and change what is transferred, "
        "logins included");
  }
  parsed.options.connection = std::make_shared<const HttpConnectionOptions>(std::move(parsed.connection));
  return std::move(parsed.options);
}

}  // namespace forebay
