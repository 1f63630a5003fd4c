#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Marks the fields whose pixels are stored as picture files, if the format does so: pictures of 8
/// bits with height × width × (1 or 3) channels.
void mark_encoded(std::vector<StoredField>& fields, StoredFormat format);

/// Converts records into their stored form. Pixels of encoded fields become PNG or JPEG files
/// (Value::bytes); if the format re-encodes pictures as JPEG, encoded pictures are re-encoded. Uses
/// `threads` threads; `key` names a record. Corrupt for damaged pictures. InvalidArgument, naming
/// the field, for pixels of a known size beyond the limit. Of several errors, returns that of the
/// first record.
Status encode_pictures(const MaterializedManifest& manifest, std::span<Record> records, int threads,
                       const std::function<std::string(size_t)>& key);

}  // namespace forebay
