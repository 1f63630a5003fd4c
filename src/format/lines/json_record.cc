#include "format/lines/json_record.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "format/json_copy.h"
#include "format/json_nan.h"

namespace forebay {

namespace {

using Node = JsonNames::Node;

/// Visits the fields at and below a node.
template <typename Visit>
void visit_fields(const Node& node, const Visit& visit) {
  if (node.field) visit(*node.field);
  for (const auto& [name, member] : node.members) visit_fields(*member, visit);
}

/// Callbacks of the parser. Returning `false` stops it; `status` then holds the error.
class RecordHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  RecordHandler(const JsonNames& names, std::span<JsonColumn> columns, int64_t row)
      : root_(names.root()), columns_(columns), row_(row), seen_(columns.size()) {}
  Status status;

  bool null() override {
    if (passes_over()) return true;
    if (copy_.active()) return copied("null");
    if (at_ == objects_) return mismatch("null in a list");
    if (!at_->field) return true;
    JsonColumn& column = columns_[*at_->field];
    if (takes_json() && in_list()) return take_json("null");
    if (list_) return column.add_instead() || mismatch("null in a list");
    // If a member appears twice, the last one counts, even if it is null.
    if (objects_ != nullptr)
      column.keep(object_);
    else
      column.truncate(row_), seen_[*at_->field] = false;
    return true;
  }
  bool boolean(bool value) override { return scalar(value, value ? "true" : "false", "true or false"); }
  bool number_integer(number_integer_t value) override { return number(int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override { return number(uint64_t{value}); }
  bool number_float(number_float_t value, const string_t& written) override {
    if (const std::optional<double> nan = kept_nan(written))
      return scalar(*nan, std::isnan(*nan) ? "NaN" : *nan < 0 ? "-Infinity" : "Infinity", "NaN or infinite");
    // Integers beyond 64 bits are rounded like other numbers if the field is a float.
    return scalar(double{value}, written,
                  is_whole_number(written) ? "a whole number that 64 bits do not hold (-2^63 to 2^64 - 1)"
                                           : "a number with a point or an exponent");
  }
  bool string(string_t& value) override {
    if (passes_over()) return true;
    if (!copy_.active() && !takes_json()) return typed(std::string_view(value), "a string");
    return scalar(std::string_view(value), json_string(value), "a string");
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override {
    if (take_record()) {
      path_.push_back(&root_);
      return true;
    }
    if (opens('{')) return true;
    if (!list_ && !at_->field) {
      path_.push_back(at_);
      return true;
    }
    return mismatch("an object");
  }
  bool key(string_t& name) override {
    if (copy_.active()) {
      copy_.key(name);
    } else if (skipped_ == 0) {
      at_ = JsonNames::find(*path_.back(), name);
    }
    return true;
  }
  bool end_object() override {
    if (copy_.active() || skipped_ > 0) return closes('}');
    path_.pop_back();
    const bool is_element = objects_ != nullptr && path_.size() == objects_depth_;
    at_ = is_element ? objects_ : nullptr;
    return !is_element || end_element();
  }
  bool start_array(size_t) override {
    take_record_as_value();
    if (opens('[')) return true;
    if (in_list()) return mismatch("a list inside of a list");
    if (!at_->field) return start_objects();
    if (!columns_[*at_->field].is_list()) return mismatch("a list");
    list_ = true;
    columns_[*at_->field].truncate(row_);
    return true;
  }
  bool end_array() override {
    if (copy_.active() || skipped_ > 0) return closes(']');
    if (!list_) return end_objects();
    list_ = false;
    return end_row(*at_->field);
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    status = corrupt(fmt::format("no valid JSON at character {}", position));
    unparsable_ = true;
    return false;
  }
  bool unparsable() const { return unparsable_; }

  /// Called at the end of the record.
  Status finish() {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (seen_[i]) continue;
      if (!columns_[i].field().instead) {
        return corrupt(
            fmt::format("'{}' is null or missing; null= says what is to stand in its place", columns_[i].field().name));
      }
      columns_[i].end_row_without_value();
    }
    return {};
  }

 private:
  /// Returns true for the first value of the line, which is the record itself.
  bool take_record() { return !std::exchange(record_taken_, true); }
  /// Reads a record that is not an object as the member `value` of one.
  void take_record_as_value() {
    if (take_record()) at_ = JsonNames::find(root_, "value");
  }
  /// Returns true if the next scalar belongs to no column.
  bool passes_over() {
    take_record_as_value();
    return skipped_ > 0 || (at_ == nullptr && !copy_.active());
  }
  std::optional<JsonType> expected_type() const {
    if (!at_ || !at_->field) return std::nullopt;
    return columns_[*at_->field].field().type;
  }

  /// Enters a list or an object that is skipped or copied as text.
  bool opens(char bracket) {
    if (copy_.active()) {
      copy_.open(bracket);
    } else if (skipped_ > 0 || at_ == nullptr) {
      ++skipped_;
    } else if (takes_json()) {
      copy_.begin(bracket);
    } else {
      return false;
    }
    return true;
  }
  /// Leaves such a list or object. Returns false for an error.
  bool closes(char bracket) {
    if (copy_.active()) return !copy_.close(bracket) || take_json(copy_.text());
    --skipped_;
    return true;
  }

  bool in_list() const { return list_ || objects_ != nullptr; }
  /// Whether the next value belongs to a field that takes any value as text.
  bool takes_json() const {
    const std::optional<JsonType> type = expected_type();
    return type == JsonType::kJson || (type == JsonType::kJsonList && in_list());
  }

  /// Enters a list of objects, of which each member that is a field gives a list.
  bool start_objects() {
    objects_ = at_;
    objects_depth_ = path_.size();
    object_ = 0;
    visit_fields(*objects_, [&](size_t field) { columns_[field].truncate(row_), seen_[field] = false; });
    return true;
  }
  bool end_element() {
    visit_fields(*objects_, [&](size_t field) {
      JsonColumn& column = columns_[field];
      if (!status.ok() || column.count() > object_ || column.add_instead()) return;
      status = corrupt(
          fmt::format("'{}' is null or missing in element {} of its list; null= says what is to stand in its place",
                      column.field().name, object_));
    });
    ++object_;
    return status.ok();
  }
  bool end_objects() {
    visit_fields(*objects_, [&](size_t field) {
      if (status.ok()) end_row(field);
    });
    at_ = objects_ = nullptr;
    return status.ok();
  }

  bool copied(std::string_view written) {
    copy_.scalar(written);
    return true;
  }
  bool take_json(std::string_view text) {
    JsonColumn& column = columns_[*at_->field];
    if (!begin_value(column)) return mismatch("a member of objects in a list");
    column.add_json(text);
    return in_list() || end_row(*at_->field);
  }
  /// Drops the value that the same member had earlier in this record or object. Returns false if
  /// the column is a list and the value is in none, or the other way round.
  bool begin_value(JsonColumn& column) {
    if (in_list() != column.is_list()) return false;
    if (objects_ != nullptr)
      column.keep(object_);
    else if (!list_)
      column.truncate(row_);
    return true;
  }

  template <typename T>
  bool number(T value) {
    return scalar(value, fmt::format("{}", value), "a whole number");
  }
  template <typename T>
  bool scalar(T value, std::string_view written, const char* what) {
    if (passes_over()) return true;
    if (copy_.active()) return copied(written);
    return takes_json() ? take_json(written) : typed(value, what);
  }
  template <typename T>
  bool typed(T value, const char* what) {
    if (!at_->field) return mismatch(what);
    JsonColumn& column = columns_[*at_->field];
    if (!begin_value(column)) return mismatch(objects_ == nullptr ? what : "a member of objects in a list");
    if (!column.add(value)) return mismatch(what);
    return in_list() || end_row(*at_->field);
  }
  bool end_row(size_t field) {
    seen_[field] = true;
    status = columns_[field].end_row();
    return status.ok();
  }
  bool mismatch(const std::string& what) {
    if (at_->field) {
      const JsonField& field = columns_[*at_->field].field();
      status =
          corrupt(fmt::format("'{}' is {} here and {} by the fields; fields={{\"{}\": \"{}\"}} takes any value as text",
                              field.name, what, json_type_word(field.type), field.name,
                              json_type_word(objects_ == nullptr ? JsonType::kJson : JsonType::kJsonList)));
    } else {
      status = corrupt(fmt::format("a member is {} here and an object by the fields; give fields=", what));
    }
    return false;
  }

  const Node& root_;
  const std::span<JsonColumn> columns_;
  const int64_t row_;
  std::vector<bool> seen_;
  std::vector<const Node*> path_;  ///< objects that enclose the parser's position
  const Node* at_ = nullptr;       ///< node of the next value's member; null if it is skipped
  JsonCopy copy_;
  size_t skipped_ = 0;         ///< enclosing lists and objects that are skipped
  bool record_taken_ = false;  ///< the first value of the line has begun
  bool list_ = false;          ///< inside of a list that is a row of a column
  // Inside of a list of objects:
  const Node* objects_ = nullptr;  ///< its member; null outside
  size_t objects_depth_ = 0;       ///< length of path_ outside of its objects
  size_t object_ = 0;              ///< number of the object
  bool unparsable_ = false;        ///< the parser has stopped at invalid JSON
};

}  // namespace

Result<JsonNames> JsonNames::of(std::span<const JsonField> fields) {
  JsonNames names;
  for (size_t i = 0; i < fields.size(); ++i) {
    Node* node = names.root_.get();
    std::string_view rest = fields[i].name;
    for (bool more = true; more;) {
      const size_t dot = rest.find('.');
      more = dot != std::string_view::npos;
      std::unique_ptr<Node>& next = node->members[std::string(rest.substr(0, dot))];
      if (!next) next = std::make_unique<Node>();
      node = next.get();
      rest = more ? rest.substr(dot + 1) : "";
      if (node->field || (!more && !node->members.empty())) {
        return invalid_argument(fmt::format(
            "the field '{}' lies inside of another one, or is named twice; name each member once", fields[i].name));
      }
    }
    node->field = i;
  }
  return names;
}

const JsonNames::Node* JsonNames::find(const Node& node, std::string_view name) {
  const Node* at = &node;
  for (bool more = true; more && at != nullptr;) {
    const size_t dot = name.find('.');
    more = dot != std::string_view::npos;
    const auto found = at->members.find(name.substr(0, dot));
    at = found == at->members.end() ? nullptr : found->second.get();
    name = more ? name.substr(dot + 1) : "";
    if (at != nullptr && at->field && more) at = nullptr;
  }
  return at;
}

Status read_json_record(std::span<const uint8_t> line, const JsonNames& names, std::span<JsonColumn> columns,
                        int64_t row) {
  RecordHandler handler(names, columns, row);
  const bool parsed = nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
  Status status = handler.status;
  if (parsed && status.ok()) status = handler.finish();
  if (!parsed && status.ok()) status = corrupt("no valid JSON");
  if (!parsed && handler.unparsable()) {
    const std::string problem = nan_problem({reinterpret_cast<const char*>(line.data()), line.size()});
    if (!problem.empty()) status = corrupt(problem);
  }
  if (!status.ok()) {
    // Drops the part of the row that was added before the error.
    for (JsonColumn& column : columns) column.truncate(row);
  }
  return status;
}

}  // namespace forebay
