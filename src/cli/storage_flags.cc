#include "cli/storage_flags.h"

namespace forebay {

namespace {

std::string check_key_value(const std::string& text) {
  return text.find('=') == std::string::npos || text.front() == '=' ? "write it as KEY=VALUE" : "";
}

}  // namespace

StorageFlags::StorageFlags(CommandLine& line, const std::string& flag, const std::string& help) {
  line.app()
      .add_option(flag, given_, help)
      ->type_name("KEY=VALUE")
      ->check(check_key_value)
      ->allow_extra_args(false)  // the next word is the next argument
      ->take_all();
}

std::map<std::string, std::string> StorageFlags::options() const {
  std::map<std::string, std::string> options;
  for (const std::string& text : given_) {
    const size_t equals = text.find('=');
    // Split at the first "=", because base64 values such as secrets may end in more of them.
    options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return options;
}

}  // namespace forebay
