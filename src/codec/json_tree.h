#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace forebay {

/// Builds a tree from a JSON text, as nlohmann::json::parse() does, for readers that need the text
/// of a number. It is passed to `sax_parse`. One text, one thread.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;
  Json made;

  /// Converts a number with a point or an exponent, or one that does not fit 64 bits. `written` is
  /// its text.
  virtual Json number(double value, const std::string& written) = 0;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& written) override { return put(number(value, written)); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  Json* insert(Json value) {
    if (open_.empty()) return &(made = std::move(value));
    Json& in = *open_.back();
    if (in.is_object()) return &(in[key_] = std::move(value));
    in.push_back(std::move(value));
    return &in.back();
  }
  bool put(Json value) {
    insert(std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(insert(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  /// Lists and objects that enclose the next value. Nothing is added next to an open one, so the
  /// pointers stay valid.
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace forebay
