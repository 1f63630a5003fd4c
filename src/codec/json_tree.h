#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace forebay {

/// Builds the tree that nlohmann::json::parse() would build, but lets a derived class convert
/// numbers from their text, which parse() rounds to double. Pass it to nlohmann::json::sax_parse().
/// For one parse, by one thread.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;
  Json root;  ///< the tree; valid only if sax_parse() returned true

  /// Converts a number with a point or an exponent, or one that does not fit 64 bits. `text` is
  /// how it is written.
  virtual Json convert_number(double value, const std::string& text) = 0;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override { return add(convert_number(value, text)); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open_container(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return close_container(); }
  bool start_array(size_t) override { return open_container(Json::array()); }
  bool end_array() override { return close_container(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  Json* insert(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    Json& in = *open_.back();
    if (in.is_object()) return &(in[key_] = std::move(value));
    in.push_back(std::move(value));
    return &in.back();
  }
  bool add(Json value) {
    insert(std::move(value));
    return true;
  }
  bool open_container(Json value) {
    open_.push_back(insert(std::move(value)));
    return true;
  }
  bool close_container() {
    open_.pop_back();
    return true;
  }

  /// Lists and objects that enclose the next value. An enclosing one gets no further
  /// element until the last one is closed, so no vector moves them.
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace forebay
