#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "forebay/result.h"

namespace forebay {

/// One row of columns as a run of bytes, and back. It is whole in itself, so that it may be kept,
/// sent to disk, and outlive the columns. Immutable; from any thread.
///
/// A row is 8 bytes of zero, then its fields in the order of the schema, each padded to 8 bytes: of
/// fixed shape as it is, all others behind their length in bytes (8 bytes). What is wrong with a
/// row stands in its place: its code (8 bytes), then the message.
class RowPayload {
 public:
  explicit RowPayload(Schema schema);

  const Schema& schema() const { return schema_; }
  /// How many bytes write() fills; a multiple of 8.
  size_t bytes(const Columns& columns, int64_t row) const;
  void write(const Columns& columns, int64_t row, uint8_t* out) const;
  static Buffer of_error(const Status& status);

  /// Fills `out` with views of the payload. What is wrong with the row, with `key`, where that is
  /// what it holds; Corrupt for what write() does not write.
  Status read(const Buffer& payload, const std::string& key, Record& out) const;

 private:
  struct Place {
    size_t fixed = 0;  ///< bytes of a row of fixed shape
    size_t each = 1;   ///< of all others, bytes of what offsets count
    bool varies = false;
  };
  const Schema schema_;
  std::vector<Place> places_;
  size_t fixed_bytes_ = 0;  ///< of a row whose fields of varying length are empty
};

}  // namespace forebay
