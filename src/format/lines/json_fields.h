#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/schema.h"
#include "forebay/result.h"

namespace forebay {

enum class JsonType : uint8_t {
  kBool,
  kInt64,
  kUint64,
  kFloat64,
  kText,
  kJson,  ///< any value, as its JSON text without blanks
  kBoolList,
  kInt64List,
  kFloat64List,
  kTextList,
};

/// "int64", "text[]"; nothing for a word that names none.
std::optional<JsonType> json_type(std::string_view word);
std::string_view json_type_word(JsonType type);
/// "bool, int64, …", for messages.
std::string json_type_words();

/// What stands in a field where a record has null, or nothing.
using JsonInstead = std::variant<bool, int64_t, double, std::string>;

/// A member of the records that becomes a field. Members of objects have dotted names.
struct JsonField {
  std::string name;
  JsonType type = JsonType::kText;
  std::optional<JsonInstead> instead = {};
};

/// As a batch has it.
Field field_of_json(const JsonField& field);
/// Whether a number of JSON is written without a point and an exponent. The parser gives those that 64 bits do not hold as floats.
bool is_whole_number(std::string_view written);
/// Whether such a value can stand in the field.
bool fits(const JsonInstead& value, JsonType type);

/// The types of the members of some records, from what is in them:
///
/// | values seen                                | field                             |
/// |--------------------------------------------|-----------------------------------|
/// | true, false                                | bool                              |
/// | whole numbers                              | int64; uint64 where one needs it; |
/// |                                            | never rounded                     |
/// | numbers, some with a point or an exponent  | float64                           |
/// | strings                                    | text                              |
/// | lists of one of these                      | lists: ragged, or lists of text   |
/// | objects                                    | a field for each member, dotted   |
/// | anything else, or several of these         | json: the text of the value       |
///
/// A line that is no object is a record with the one member `value`. Members that are null in all of them become text.
class JsonTypeFinder {
 public:
  JsonTypeFinder();
  ~JsonTypeFinder();
  /// Corrupt for what is no JSON; then nothing of it counts.
  Status add(std::span<const uint8_t> line);
  /// By name.
  std::vector<JsonField> fields() const;

 private:
  struct Seen;
  const std::unique_ptr<Seen> root_;
};

}  // namespace forebay
