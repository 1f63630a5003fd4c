#pragma once

#include <functional>
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
  std::string_view thing;   ///< "picture"
  std::string_view things;  ///< "pictures"
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
/// The argument `lists` of decoders.
ArgDef lists_arg(const DecodedKind& kind);
bool given_lists(const Args& args);
/// True if each sample has any number of encoded values in the field. Only the user knows it of
/// fields that user code makes, and says so by `lists`.
bool is_encoded_list(const Field& field, bool lists);
/// Adds a problem if `lists` is given for a field of single values.
void check_lists(const Field& field, bool lists, const DecodedKind& kind, Problems& problems);

/// The bytes of a value; Unsupported if the value is not encoded.
Result<Buffer> encoded_bytes(const Value& value, const DecodedKind& kind);
/// Returns true if the value is a list of encoded values. Unsupported, with the field's name, unless it is
/// one exactly if `list` is true.
Result<bool> is_list_value(const Value& value, const std::string& field, bool list, const DecodedKind& kind);

/// A field that a decoder works on.
struct EncodedField {
  size_t index = 0;
  std::string name;
  bool list = false;  ///< each sample has any number of encoded values there
};

/// Calls `each` with the bytes of each value of a list, and its number. Its first error, with that
/// number, is returned. Unsupported for a list of more than kMostInList.
Status for_each_encoded(const Buffer& run, const DecodedKind& kind, const std::function<Status(Buffer)>& each);

}  // namespace forebay
