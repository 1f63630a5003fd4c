#include "store/s3/aws_environment.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

/// A comment after a value begins with " #" or " ;".
std::string_view without_comment(std::string_view value) {
  for (size_t i = 1; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && (value[i - 1] == ' ' || value[i - 1] == '\t')) {
      return trim(value.substr(0, i));
    }
  }
  return value;
}

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found("no such file").with_key(path);
  // One byte more than allowed reveals a file that is too large; an endless device is cut off, too.
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes) return invalid_argument("larger than 1 MiB").with_key(path);
  return text;
}

std::string path_of(const AwsEnvironment& environment, const char* variable, const char* otherwise) {
  std::string path = environment.variable(variable);
  if (path.empty()) path = otherwise;
  if (path.starts_with("~/")) path = environment.variable("HOME") + path.substr(1);
  return path;
}

Result<AwsSections> sections_of(const AwsEnvironment& environment, const std::string& path) {
  Result<std::string> text = environment.file(path);
  if (!text.ok() && text.status().code() == Code::kNotFound) return AwsSections();
  if (!text.ok()) return text.status();
  return parse_aws_file(*text);
}

}  // namespace

AwsEnvironment process_aws_environment() {
  return {[](const std::string& name) -> std::string {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? "" : value;
          },
          read_text_file};
}

AwsSections parse_aws_file(std::string_view text) {
  AwsSections sections;
  std::map<std::string, std::string>* section = nullptr;
  std::string outer;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      section = &sections[std::string(trim(line.substr(1, line.find(']') - 1)))];
      outer.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name = lower_case(trim(line.substr(0, equals)));
    const std::string value(without_comment(trim(line.substr(equals + 1))));
    const bool indented = raw.front() == ' ' || raw.front() == '\t';
    if (indented && !outer.empty()) {
      (*section)[outer + "." + name] = value;
      continue;
    }
    // Only a setting without a value can have indented settings below it.
    outer = value.empty() ? name : "";
    (*section)[name] = value;
  }
  return sections;
}

std::string AwsProfile::setting(const std::string& setting_name) const {
  const auto found = settings.find(setting_name);
  return found == settings.end() ? "" : found->second;
}

Result<AwsProfile> read_aws_profile(const AwsEnvironment& environment, const std::string& asked) {
  AwsProfile profile;
  profile.name = asked.empty() ? environment.variable("AWS_PROFILE") : asked;
  const bool named = !profile.name.empty();
  if (!named) profile.name = "default";
  profile.credentials_path = path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  profile.config_path = path_of(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  FOREBAY_ASSIGN(AwsSections config, sections_of(environment, profile.config_path));
  FOREBAY_ASSIGN(AwsSections credentials, sections_of(environment, profile.credentials_path));

  const auto take = [&](AwsSections& sections, const std::string& section) {
    const auto found = sections.find(section);
    if (found == sections.end()) return;
    profile.exists = true;
    for (auto& [name, value] : found->second) profile.settings[name] = value;
  };
  // In the config file all other sections are called "profile NAME"; both spellings of the default
  // are read.
  if (profile.name == "default") take(config, "default");
  take(config, "profile " + profile.name);
  // Last, so that its settings take precedence, as in AWS' own tools.
  take(credentials, profile.name);
  if (const auto services = profile.settings.find("services"); services != profile.settings.end()) {
    for (auto& [name, value] : config["services " + services->second]) profile.settings["services." + name] = value;
  }
  if (named && !profile.exists) {
    return not_found(
        fmt::format("there is no profile '{}' in {} or {}; check the name (AWS_PROFILE, or the storage option "
                    "profile)",
                    profile.name, profile.credentials_path, profile.config_path));
  }
  return profile;
}

}  // namespace forebay
