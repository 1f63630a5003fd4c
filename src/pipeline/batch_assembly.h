#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/result.h"
#include "pipeline/collate.h"

namespace forebay {

/// Fields of unknown shape on their way into a batch: what they take is reckoned first, then their rows are copied, piece by piece, by
/// as many threads as there are. The rows' bytes are somebody else's, and stay where they are meanwhile.
class BatchAssembly {
 public:
  /// One field.
  struct Part {
    std::optional<size_t> output = {};  ///< of the plan; none: a field that nobody knew of before
    std::string name = {};
    Collation layout = {};
    std::vector<RowBytes> own_rows = {};  ///< where rows were left out, or had to be looked for
    std::span<const RowBytes> rows = {};  ///< these, or those of the batch
    BatchField field = {};                ///< once there is memory
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
