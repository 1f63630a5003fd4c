#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// What operators share that decode stored bytes: the argument `field`, and which field it is where none is named.

namespace forebay {

/// What a decoder makes: its fields are called so, and "bytes" becomes it.
struct Decoded {
  std::string_view name;    ///< "image"
  std::string_view op;      ///< "decode_image"
  std::string_view things;  ///< "pictures"
};

/// Bytes, or what user code gives and takes as such.
bool holds_encoded(const Field& field);
/// The encoded fields that `field` names; or else the field of that name, or else "bytes". Empty where there is none.
std::vector<std::string> encoded_fields(const Args& args, const Decoded& made, const Schema& schema);
/// The place of that field, called after what it becomes from now on; a problem, and nothing, where it cannot be decoded.
std::optional<size_t> take_encoded(const std::string& name, const Decoded& made, Schema& schema, Problems& problems);
/// The problem where encoded_fields() is empty.
void no_encoded_field(const Decoded& made, const Schema& schema, Problems& problems);
FieldUse decoder_uses(const OpSpec& spec, const Decoded& made, const Schema& before);
/// The bytes of a value; Unsupported where it is none that is encoded.
Result<Buffer> encoded_bytes(const Value& value, std::string_view what);

}  // namespace forebay
