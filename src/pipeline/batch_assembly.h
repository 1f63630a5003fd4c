#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/result.h"
#include "pipeline/block_rows.h"
#include "pipeline/collate.h"

namespace forebay {

/// Assembles the fields of a batch whose row shape was not known. The BatchJob adds the fields with
/// their layouts, acquires their memory, and calls make_pieces(). Then any number of threads copy
/// the pieces. The bytes of the rows belong to the BatchJob and do not change meanwhile.
class BatchAssembly {
 public:
  /// Describes a field of packed blocks.
  struct Blocks {
    BlockField field;
    DType type = DType::kInt32;  ///< type of the sequences' elements
    size_t count = 0;
    std::shared_ptr<const std::vector<BlockRow>> rows;
  };
  /// A field under construction.
  struct FieldJob {
    std::optional<size_t> output = {};  ///< output of the plan; none for an extra field
    std::string name = {};
    Collation layout = {};
    std::vector<RowBytes> own_rows = {};      ///< used if the batch has no such list of its rows
    std::span<const RowBytes> rows = {};      ///< `own_rows`, or rows of the batch
    std::shared_ptr<const void> memory = {};  ///< owns the bytes of `rows`, if no row of the batch does
    std::optional<Blocks> blocks = {};        ///< set for packed blocks; `layout` then describes blocks
    BatchField result = {};                   ///< set once its memory was acquired

    size_t rows_of_field() const { return blocks ? blocks->count : rows.size(); }
  };

  /// Adds bytes that are needed beside the fields.
  void add_bytes(uint64_t bytes) { other_bytes_ += bytes; }
  uint64_t other_bytes() const { return other_bytes_; }
  /// Adds a field, or the error of a field that cannot be assembled. status() is the first error.
  void add(Result<FieldJob> field);
  void fail(Status status);
  const Status& status() const { return status_; }

  /// Bytes of all fields that have a layout, and those of add_bytes().
  uint64_t nbytes() const;
  std::vector<FieldJob>& fields() { return fields_; }

  /// Divides the work into pieces, once every field has its memory. A piece is large enough to be
  /// worth a task, so a small batch has one piece.
  void make_pieces();
  size_t piece_count() const { return pieces_.size(); }
  /// Copies one piece. Each piece is copied once, by any thread. Returns true to the caller that
  /// copied the last piece: it sees all rows.
  bool copy(size_t piece);

 private:
  struct Piece {
    size_t field = 0;  ///< index in fields()
    CollationPiece rows;
  };
  std::vector<FieldJob> fields_;
  uint64_t other_bytes_ = 0;
  Status status_;
  std::vector<std::vector<Piece>> pieces_;  // parts of one or several fields that one task copies
  std::atomic<size_t> left_{0};             // pieces that are not copied yet
};

}  // namespace forebay
