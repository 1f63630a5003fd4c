#include "format/json_copy.h"

#include <nlohmann/json.hpp>

namespace forebay {

void JsonCopy::begin(char bracket) {
  text_.assign(1, bracket);
  depth_ = 1;
}

void JsonCopy::open(char bracket) {
  comma();
  text_ += bracket;
  ++depth_;
}

bool JsonCopy::close(char bracket) {
  text_ += bracket;
  return --depth_ == 0;
}

void JsonCopy::key(const std::string& name) {
  comma();
  text_ += json_string(name) + ":";
}

void JsonCopy::scalar(std::string_view written) {
  comma();
  text_ += written;
}

void JsonCopy::comma() {
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

// Cannot throw for UTF-8.
std::string json_string(const std::string& value) { return nlohmann::json(value).dump(); }

}  // namespace forebay
