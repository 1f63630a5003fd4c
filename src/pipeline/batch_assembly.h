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

/// Fields of unknown shape on their way into a batch: what they take is reckoned first, then their rows are copied, piece by piece, by
/// as many threads as there are. The rows' bytes are somebody else's, and stay where they are meanwhile.
class BatchAssembly {
 public:
  /// Of a field of blocks: how its rows are put together.
  struct Blocks {
    BlockValue value = BlockValue::kElements;
    DType type = DType::kInt32;  ///< of the sequences' elements
    double pad = 0;
    size_t count = 0;
    std::shared_ptr<const std::vector<BlockRow>> rows;
  };
  /// One field.
  struct Part {
    std::optional<size_t> output = {};  ///< of the plan; none: a field that nobody knew of before
    std::string name = {};
    Collation layout = {};
    std::vector<RowBytes> own_rows = {};  ///< where rows were left out, or had to be looked for
    std::span<const RowBytes> rows = {};  ///< these, or those of the batch
    std::optional<Blocks> blocks = {};    ///< rows are put into blocks; `layout` is of these
    BatchField field = {};                ///< once there is memory

    size_t rows_of_field() const { return blocks ? blocks->count : rows.size(); }
  };

  /// An error stands for a field that cannot be put together; the first one counts.
  void add(Result<Part> part);
  void fail(Status status);
  const Status& status() const { return status_; }

  /// Of all fields that could be reckoned.
  uint64_t nbytes() const;
  std::vector<Part>& parts() { return parts_; }

  /// Once every part has its memory. Pieces are worth a thread's while: there is one where little is to be copied.
  void cut_up();
  size_t pieces() const { return pieces_.size(); }
  /// From any thread, each piece once. True for whoever comes last: then all is copied.
  bool copy(size_t piece);

 private:
  struct Piece {
    size_t part = 0;
    CollationPiece rows;
  };
  std::vector<Part> parts_;
  Status status_;
  std::vector<std::vector<Piece>> pieces_;
  std::atomic<size_t> left_{0};
};

}  // namespace forebay
