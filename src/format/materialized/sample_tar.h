#pragma once

#include <span>

#include "base/table_codec.h"
#include "format/materialized/sample_shard.h"

namespace forebay {

/// A shard of samples as a tar archive that readers of WebDataset open: of each sample the members `000000017.ENDING`, whose number is its id.
///
/// | field                    | member                                                                     |
/// |--------------------------|----------------------------------------------------------------------------|
/// | encoded pictures         | `jpg`, `png`, `webp`, `bmp`: as they are                                   |
/// | pixels that are encoded  | `png`, or `jpg` (StoredField::encoded)                                     |
/// | a whole number `label`   | `cls`, in digits                                                           |
/// | texts                    | `NAME.txt`                                                                 |
/// | bytes                    | `NAME.bin`                                                                 |
/// | other tensors            | `NAME.npy`                                                                 |
///
/// Where there are several pictures, their field's name stands before the ending. The index beside the shard is that of write_sample_shard(), so
/// that a sample is one range of the archive. Values of encoded fields (StoredField::encoded) have the file in Value::bytes, and of the tensor only what it is.
///
/// As write_sample_shard(); Unsupported, naming the field, for lists of strings.
Result<ShardFiles> write_sample_tar(std::span<const StoredField> fields, int64_t first, std::span<const Record> samples,
                                    StoredFormat format, const TableCodecs& codecs);

/// Fields that a tar shard cannot hold, told.
Status check_tar_fields(std::span<const StoredField> fields);

}  // namespace forebay
