#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "forebay/result.h"

namespace forebay {

/// Encodes one row of columns as a sequence of bytes, and decodes it. The bytes are self-contained,
/// so they may be stored, written to disk, and outlive the columns. Immutable; may be used from any
/// thread.
///
/// A row is 8 zero bytes and then its fields in the order of the schema, each padded to 8 bytes. A
/// field of fixed shape is its values; any other field is its length in bytes (8 bytes) and then
/// its values. A bad row is instead its error's code (8 bytes) and message.
class RowPayload {
 public:
  explicit RowPayload(Schema schema);

  const Schema& schema() const { return schema_; }
  /// The number of bytes that write() fills, a multiple of 8.
  size_t bytes(const Columns& columns, int64_t row) const;
  void write(const Columns& columns, int64_t row, uint8_t* out) const;
  static Buffer of_error(const Status& status);

  /// Fills `out` with views of the payload. Returns the row's error, with `key`, if the payload
  /// holds one; Corrupt for bytes that write() does not write.
  Status read(const Buffer& payload, const std::string& key, Record& out) const;

 private:
  struct FieldLayout {
    size_t fixed = 0;  ///< fields of fixed shape: bytes of a row
    size_t each = 1;   ///< other fields: bytes of one item, which offsets count
    bool varies = false;
  };
  const Schema schema_;
  std::vector<FieldLayout> layouts_;
  size_t fixed_bytes_ = 0;  ///< bytes of a row whose fields of varying length are empty
};

}  // namespace forebay
