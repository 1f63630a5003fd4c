#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/lines/json_record.h"
#include "stream/record_log.h"

namespace forebay {

/// The form of a payload.
enum class PayloadForm : uint8_t {
  kBytes,   ///< fields `bytes` (the payload itself) and `key`
  kText,    ///< fields `text` (UTF-8) and `key`
  kJson,    ///< one JSON object, whose members are fields
  kFields,  ///< named values (named_values.h): fields by name
};

/// Makes fields from payloads. Immutable; may be used from any thread.
///
/// Fields are declared by a JSON object, name → type, in the order of the schema. A type is a name,
/// or [dtype, shape] with -1 for a dimension that varies:
///
/// | type                 | in JSON                          | as a named value                    |
/// | -------------------- | -------------------------------- | ----------------------------------- |
/// | "bytes"              | not possible                     | its bytes                           |
/// | "text"               | a string                         | its bytes, which must be UTF-8      |
/// | "json"               | any value, as its text           | not possible                        |
/// | "int64" (any dtype)  | a number, true or false          | decimal text, or true, false, 1, 0  |
/// | ["float32", [2, 3]]  | a flat list of 6 numbers         | elements end to end, little-endian  |
/// | ["float32", [-1, 3]] | a flat list, only for shape [-1] | first dimension follows from length |
///
/// Dotted names are members of objects in JSON. Members that no field names are ignored.
class RecordFormat {
 public:
  /// `form` is "bytes", "text", "json" or "fields". `fields_json` is the declaration above, or
  /// empty for the forms bytes and text. InvalidArgument names what is wrong.
  static Result<RecordFormat> parse(std::string_view form, std::string_view fields_json);

  PayloadForm form() const { return form_; }
  const Schema& schema() const { return schema_; }
  /// Text that is equal for equal declarations, a part of RecordLog::identity().
  const std::string& identity() const { return identity_; }
  /// Fills `out`. A payload that does not match is Corrupt, with the field's name and what was
  /// found. Takes no more memory than a few times the size of the payload plus the size of the
  /// fields of fixed shape.
  Status decode(std::string_view key, const Buffer& payload, Record& out) const;

 private:
  Status parse_fields(std::string_view fields_json);
  Status decode_json(const Buffer& payload, Record& out) const;
  Status decode_named(const Buffer& payload, Record& out) const;

  PayloadForm form_ = PayloadForm::kBytes;
  Schema schema_;
  std::string identity_;
  std::vector<JsonField> json_fields_;           ///< kJson: the fields, as the parser needs them
  std::shared_ptr<const JsonNames> json_names_;  ///< kJson: finds the field of a name
};

}  // namespace forebay
