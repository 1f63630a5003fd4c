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

/// The types of fields that JSON values can become.
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
  kJsonList,  ///< lists of any values, each as its JSON text without blanks
};

inline bool is_json_list(JsonType type) { return type >= JsonType::kBoolList; }

/// Parses a type such as "int64" or "text[]"; nullopt for a word that names no type.
std::optional<JsonType> json_type(std::string_view word);
std::string_view json_type_word(JsonType type);
/// All type names, "bool, int64, …", for messages.
std::string json_type_words();

/// The value of a field in records in which it is null or missing. For lists it is that of elements
/// that are null or missing; a list that is null or missing is empty.
using JsonInstead = std::variant<bool, int64_t, double, std::string>;

/// A member of the records that becomes a field. Members of nested objects have dotted names, also
/// those of objects in a list: each such field is a list with a value of each object.
struct JsonField {
  std::string name;
  JsonType type = JsonType::kText;
  std::optional<JsonInstead> instead = {};
};

/// The field as it appears in a batch.
Field field_of_json(const JsonField& field);
/// True if a JSON number is written without a point and an exponent. The parser returns integers
/// that do not fit 64 bits as floats.
bool is_whole_number(std::string_view written);
/// True if the field can hold the value.
bool fits(const JsonInstead& value, JsonType type);

/// Infers the types of members from the values in some records. One thread.
///
/// | values seen                                | field                             |
/// |--------------------------------------------|-----------------------------------|
/// | true, false                                | bool                              |
/// | whole numbers                              | int64; uint64 if one needs it;    |
/// |                                            | never rounded                     |
/// | numbers, some with a point or an exponent  | float64                           |
/// | strings                                    | text                              |
/// | lists of one of these                      | lists: ragged, or lists of text   |
/// | objects                                    | a field for each member, dotted   |
/// | anything else, or several of these         | json: the text of the value       |
///
/// A line that is not an object is a record with the single member `value`. A member that is null
/// in all records becomes text.
class JsonTypeFinder {
 public:
  JsonTypeFinder();
  ~JsonTypeFinder();
  /// Adds a record. If the line is not JSON, returns Corrupt and ignores all of the line.
  Status add(std::span<const uint8_t> line);
  /// The fields found so far, sorted by name.
  std::vector<JsonField> fields() const;

 private:
  struct Seen;
  const std::unique_ptr<Seen> root_;
};

}  // namespace forebay
