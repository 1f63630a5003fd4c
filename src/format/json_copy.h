#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace forebay {

/// Collects the text of a list or an object, without blanks, while a parser passes through it.
class JsonCopy {
 public:
  bool active() const { return depth_ > 0; }
  const std::string& text() const { return text_; }
  /// Starts the copy of a list or an object.
  void begin(char bracket);
  /// Enters a list or an object inside of it.
  void open(char bracket);
  /// Returns true at the end of the value.
  bool close(char bracket);
  /// `name` is UTF-8.
  void key(const std::string& name);
  /// `written`: the text of a number, a string in its quotes, true, false or null.
  void scalar(std::string_view written);

 private:
  void comma();
  std::string text_;
  size_t depth_ = 0;
};

/// The text of a string of UTF-8 in JSON, with its quotes.
std::string json_string(const std::string& value);

}  // namespace forebay
