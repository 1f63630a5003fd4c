#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "cache/compression.h"

namespace forebay {

/// Where a run of bytes of a stored entry is, counted from the entry's begin.
struct StoredBlock {
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  ///< as they lie there, filled up where packed much smaller (kMaxExpansion)
  uint64_t packed_bytes = 0;  ///< of these, what to unpack; 0 where nothing is packed
  uint64_t bytes = 0;         ///< unpacked
  Compression compression = Compression::kNone;
};

struct StoredColumn {
  StoredBlock values, offsets;
};

/// All of an entry but its values.
/// Sizes are bytes. The error of a bad row is kept with its code and text, without payloads.
struct EntryDescription {
  Schema schema;
  int64_t rows = 0;
  std::vector<StoredColumn> columns;  ///< one for each field
  std::shared_ptr<const std::map<int64_t, Status>> bad_rows;

  /// Unsupported where a bad row's error cannot be written down.
  Result<std::string> to_bytes() const;
  /// Corrupt unless every number in it makes sense by itself, every block lies within `entry_bytes`, and its length fits
  /// rows and shape.
  static Result<EntryDescription> from_bytes(std::string_view bytes, uint64_t entry_bytes);
};

}  // namespace forebay
