#include "format/jsonl_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "format/json_copy.h"
#include "format/json_nan.h"

namespace forebay {

namespace {

/// Callbacks of the parser. Returning `false` stops it; `status` then holds the error.
class ObjectHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  ObjectHandler(JsonlSink& sink, uint64_t line) : sink_(sink), line_(line) {}
  Status status;
  bool unparsable() const { return unparsable_; }

  bool null() override {
    if (copy_.active()) return copied("null");
    return fail(Code::kCorrupt,
                inside_ ? fmt::format("'{}' is null; give every object a value", name_) : not_an_object());
  }
  bool boolean(bool value) override { return copy_.active() ? copied(value ? "true" : "false") : scalar(value); }
  bool number_integer(number_integer_t value) override {
    return copy_.active() ? copied(fmt::format("{}", value)) : scalar(int64_t{value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (copy_.active()) return copied(fmt::format("{}", value));
    return value <= INT64_MAX ? scalar(static_cast<int64_t>(value)) : scalar(uint64_t{value});
  }
  bool number_float(number_float_t value, const string_t& written) override {
    if (copy_.active()) return copied(written);
    // The parser also returns integers beyond 64 bits as floats. Only the text tells them apart.
    if (written.find_first_not_of("-0123456789") != std::string::npos || !inside_) return scalar(double{value});
    return fail(
        Code::kCorrupt,
        fmt::format("'{}' is {}, and 64 bits do not hold it; write it as text, or with .0 if a rounded number will do",
                    name_, written));
  }
  bool string(string_t& value) override {
    return copy_.active() ? copied(json_string(value)) : scalar(std::string_view(value));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    if (inside_) return opens('{');
    inside_ = true;
    return true;
  }
  bool key(string_t& name) override {
    if (copy_.active())
      copy_.key(name);
    else
      name_ = std::move(name);
    return true;
  }
  bool end_object() override {
    if (copy_.active()) return closes('}');
    status = sink_.end_of_object(line_);
    return status.ok();
  }
  bool start_array(size_t) override { return inside_ ? opens('[') : fail(Code::kCorrupt, not_an_object()); }
  bool end_array() override { return closes(']'); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    unparsable_ = true;
    return fail(Code::kCorrupt, fmt::format("no valid JSON at character {}", position));
  }

 private:
  template <typename T>
  bool scalar(T value) {
    if (!inside_) return fail(Code::kCorrupt, not_an_object());
    status = sink_.value(name_, value, line_);
    return status.ok();
  }
  /// Enters a list or an object, which is copied as text.
  bool opens(char bracket) {
    if (copy_.active())
      copy_.open(bracket);
    else
      copy_.begin(bracket);
    return true;
  }
  bool closes(char bracket) {
    if (!copy_.close(bracket)) return true;
    status = sink_.tree(name_, copy_.text(), line_);
    return status.ok();
  }
  bool copied(std::string_view written) {
    copy_.scalar(written);
    return true;
  }
  static std::string not_an_object() { return "each line must be a JSON object, as in {\"path\": \"a.jpg\"}"; }
  bool fail(Code code, const std::string& what) {
    status = Status(code, fmt::format("line {}: {}", line_, what));
    return false;
  }

  JsonlSink& sink_;
  const uint64_t line_;
  bool inside_ = false, unparsable_ = false;
  std::string name_;
  JsonCopy copy_;
};

}  // namespace

Status JsonlReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    const size_t newline = piece.find('\n');
    const std::string_view part = piece.substr(0, newline);
    // Checked before the text is stored, so that a file without line ends is never in memory as one
    // line.
    if (line_.size() + part.size() > kMaxLineBytes) {
      return corrupt(fmt::format("line {}: longer than {} bytes", line_number_, kMaxLineBytes));
    }
    line_ += part;
    if (newline == std::string_view::npos) return {};
    FOREBAY_RETURN_IF_ERROR(end_line());
    piece.remove_prefix(newline + 1);
  }
  return {};
}

Status JsonlReader::end_line() {
  std::string_view text = line_;
  // Editors on Windows write a byte-order mark.
  if (line_number_ == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const uint64_t line = line_number_++;
  Status status;
  if (text.find_first_not_of(" \t\r") != std::string_view::npos) {
    ObjectHandler handler(sink_, line);
    const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
    status = handler.status;
    if (!parsed && status.ok()) status = corrupt(fmt::format("line {}: no valid JSON", line));
    if (const std::string problem = handler.unparsable() ? nan_problem(text) : ""; !problem.empty())
      status = corrupt(
          fmt::format("line {}: {}; write it as text, or leave it out", line, problem.substr(0, problem.find(';'))));
  }
  line_.clear();
  return status;
}

Status JsonlReader::finish() { return line_.empty() ? Status() : end_line(); }

}  // namespace forebay
