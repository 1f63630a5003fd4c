#pragma once

#include <span>

#include "base/table_codec.h"
#include "format/materialized/sample_shard.h"

namespace forebay {

/// Writes a shard of samples as a tar archive that WebDataset readers can open. The members of a
/// sample are called `000000017.ENDING`, where the number is its id.
///
/// | field                   | member                                   |
/// |-------------------------|------------------------------------------|
/// | encoded pictures        | `jpg`, `png`, `webp`, `bmp`, unchanged   |
/// | pixels to be encoded    | `png`, or `jpg` (StoredField::encoded)   |
/// | an integer `label`      | `cls`, in digits                         |
/// | texts                   | `NAME.txt`                               |
/// | bytes                   | `NAME.bin`                               |
/// | other tensors           | `NAME.npy`                               |
///
/// If there are several pictures, the field's name precedes the ending. The index of the shard is
/// that of write_sample_shard(), so a sample is one range of the archive. Values of encoded fields
/// (StoredField::encoded) have the file in Value::bytes, and only the type and shape in the tensor.
///
/// Errors are those of write_sample_shard(), and Unsupported, naming the field, for lists of
/// strings.
Result<ShardFiles> write_sample_tar(std::span<const StoredField> fields, int64_t first, std::span<const Record> samples,
                                    StoredFormat format, const TableCodecs& codecs);

/// Unsupported if a tar shard cannot hold one of the fields.
Status check_tar_fields(std::span<const StoredField> fields);

}  // namespace forebay
