#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// Functions shared by operators that decode stored bytes: the argument `field`, and its default.

namespace forebay {

/// A kind of decoded value. A field "bytes" that is decoded gets its name.
struct DecodedKind {
  std::string_view name;    ///< "image"
  std::string_view op;      ///< "decode_image"
  std::string_view things;  ///< "pictures"
  bool lists = false;       ///< lists of them can be decoded, too
};

/// The encoded fields that `field` names. By default it is the field called `kind.name`, or else
/// "bytes". Empty if there is neither.
std::vector<std::string> encoded_fields(const Args& args, const DecodedKind& kind, const Schema& schema);
/// Schema index of that field, which gets its decoded name. Adds a problem and returns nothing if
/// the field cannot be decoded.
std::optional<size_t> resolve_encoded_field(const std::string& name, const DecodedKind& kind, Schema& schema,
                                            Problems& problems);
/// Adds the problem of an empty encoded_fields().
void report_no_encoded_field(const DecodedKind& kind, const Schema& schema, Problems& problems);
FieldUse decoder_uses(const OpSpec& spec, const DecodedKind& kind, const Schema& before);
/// The bytes of a value; Unsupported if the value is not encoded.
Result<Buffer> encoded_bytes(const Value& value, std::string_view what);

}  // namespace forebay
