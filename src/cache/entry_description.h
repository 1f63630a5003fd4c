#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "cache/compression.h"

namespace forebay {

/// Position of a run of bytes of a stored entry, relative to the entry's start.
struct StoredBlock {
  uint64_t offset = 0;
  /// Bytes in the entry, with padding if they are packed much smaller (kMaxExpansion).
  uint64_t stored_bytes = 0;
  /// Bytes of these to unpack; 0 if the block is not packed.
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;  ///< unpacked
  Compression compression = Compression::kNone;
};

/// The blocks of one column. Fields of fixed shape have no offsets.
struct StoredColumn {
  StoredBlock values, offsets;
};

/// Everything in an entry except its values. Sizes are in bytes. The error of a bad row is stored
/// with its code and text, without its payload.
struct EntryDescription {
  Schema schema;
  int64_t rows = 0;
  std::vector<StoredColumn> columns;  ///< one for each field
  std::shared_ptr<const std::map<int64_t, Status>> bad_rows;

  /// Unsupported if a bad row's error cannot be serialized.
  Result<std::string> to_bytes() const;
  /// Parses a description. Corrupt unless every number is plausible by itself, every block lies
  /// within `entry_bytes`, and its length matches rows and shape.
  static Result<EntryDescription> from_bytes(std::string_view bytes, uint64_t entry_bytes);
};

}  // namespace forebay
