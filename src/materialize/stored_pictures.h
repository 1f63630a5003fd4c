#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Marks the fields whose pixels are stored as files of pictures, where the format does that: those of pictures, 8 bits, height × width × (1 or 3)
/// channels.
void mark_encoded(std::vector<StoredField>& fields, StoredFormat format);

/// Makes of records what is stored of them: pixels of encoded fields become PNG or JPEG files (Value::bytes), and where pictures are made JPEGs, encoded
/// ones become others. By so many threads; `key` names a record. Corrupt for pictures that are damaged; InvalidArgument, naming the field, for pixels of a known size
/// beyond the limit; of several errors the first record's.
Status encode_pictures(const MaterializedManifest& manifest, std::span<Record> records, int threads,
                       const std::function<std::string(size_t)>& key);

}  // namespace forebay
