#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// The order of the samples in each epoch: a permutation of their ids, or draws of them, where a
/// sample may come several times or not at all. A pure function of the arguments that it was made
/// from, so every host computes the same for every epoch, past and future. May be used by several
/// threads at once.
///
/// Epochs are 0 or larger, positions are in [0, size()), and ids in [0, ids()).
class Order {
 public:
  /// A position of an epoch, among the positions of all epochs.
  struct Use {
    int64_t epoch = 0;
    int64_t position = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };
  /// The `count` positions first, first + step, ….
  struct Range {
    int64_t first = 0;
    int64_t step = 1;
    int64_t count = 0;
  };
  /// The use of a sample that never comes. Compares as later than every other.
  static const Use kNoUse;

  virtual ~Order() = default;
  virtual int64_t size() const = 0;
  virtual int64_t ids() const { return size(); }
  /// True if an epoch has each sample once.
  virtual bool permutes() const { return true; }
  virtual int64_t id_at(int64_t epoch, int64_t position) const = 0;
  /// The first position with that id, or size() if the epoch has none. In a permutation it is the
  /// inverse: id_at(epoch, position_of(epoch, id)) == id.
  virtual int64_t position_of(int64_t epoch, int64_t id) const = 0;
  /// The ids at positions begin, begin + 1, …. For each id several times faster than id_at().
  virtual void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const = 0;
  /// Also numbers the uses of each sample in the epoch: 0, 1, …, each once, in any order
  /// (redrawn_order() skips numbers). All 0 in a permutation. `occurrences` is as long as `ids`.
  virtual void uses_at(int64_t epoch, int64_t begin, std::span<int64_t> ids, std::span<int32_t> occurrences) const;
  /// position_of() for many ids; `positions` is as long as `ids`.
  virtual void positions_of(int64_t epoch, std::span<const int64_t> ids, std::span<int64_t> positions) const;
  /// The positions whose samples are read together with the one at `position`, including itself. A
  /// replacement from these needs no further read. All positions if samples are read one by one.
  virtual Range read_together(int64_t epoch, int64_t position) const;
  /// The chunks that hold those samples, in the order of the epoch: indices into
  /// BlockwiseOptions::chunk_rows. Empty if samples are read one by one.
  virtual std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const;

  /// The first use of `id` at this position or later; kNoUse if there is none.
  virtual Use next_use(int64_t id, int64_t epoch, int64_t position) const;
};

inline constexpr Order::Use Order::kNoUse{std::numeric_limits<int64_t>::max(), 0};

/// Samples by id, in every epoch.
std::unique_ptr<Order> sequential_order(int64_t size);

/// One permutation of all samples per epoch, in constant memory.
std::unique_ptr<Order> shuffled_order(int64_t size, uint64_t seed);

/// Samples by id, for data that is read in chunks of these sizes. The rows of a chunk are read
/// together.
std::unique_ptr<Order> sequential_chunks_order(const std::vector<int64_t>& chunk_rows);

struct BlockwiseOptions {
  /// Rows of each chunk. Ids number the rows chunk by chunk, in this order.
  std::vector<int64_t> chunk_rows;
  int64_t block = 8;  ///< chunks whose rows are mixed
  int64_t lanes = 1;  ///< spans that hosts own
  uint64_t seed = 0;
  bool ramp = false;  ///< epoch 0 begins with small blocks
};

/// An order for data that is read in chunks. Each epoch permutes the chunks, concatenates their
/// rows to a line, and cuts the line into `lanes` spans of equal length. (If the rows do not divide
/// evenly, the first spans are one row longer.) In a span the rows of `block` consecutive chunks
/// are permuted. A chunk that the edge of a span cuts belongs to both. Position p is row p / lanes
/// of lane p % lanes, so the longer lanes give the last rows. The order does not depend on which
/// host reads which lane.
///
/// If `ramp` is set, each lane of epoch 0 begins with blocks of 1, 1, 1, 2, 2, 3, … chunks up to
/// `block`. Its first rows then need one chunk instead of `block`. A block has at most one chunk
/// more than a third of all chunks before it. So a host that produces chunks a third faster than
/// they are used always has a block in time. Later epochs are the same as without `ramp`.
///
/// Memory: one word per chunk, and two for each of the last three epochs asked for. InvalidArgument
/// for negative row counts, more than 2^62 rows, and a block or lanes below 1.
Result<std::unique_ptr<Order>> blockwise_order(const BlockwiseOptions& options);

}  // namespace forebay
