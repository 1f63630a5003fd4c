#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Which sample stands where in an epoch: for every epoch a permutation of the ids [0, size). A pure function of what
/// it was made from: every host computes the same for every epoch, past and future. May be used by several threads at
/// once.
///
/// Epochs are 0 or larger; positions and ids are in [0, size).
class Order {
 public:
  /// A place in the endless sequence of epochs.
  struct Use {
    int64_t epoch = 0;
    int64_t position = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };
  /// The positions first, first + step, …: `count` of them.
  struct Range {
    int64_t first = 0;
    int64_t step = 1;
    int64_t count = 0;
  };

  virtual ~Order() = default;
  virtual int64_t size() const = 0;
  virtual int64_t id_at(int64_t epoch, int64_t position) const = 0;
  /// The inverse: id_at(epoch, position_of(epoch, id)) == id.
  virtual int64_t position_of(int64_t epoch, int64_t id) const = 0;
  /// The ids at positions begin, begin + 1, …; several times faster for each than id_at().
  virtual void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const = 0;
  /// position_of() for many ids; `positions` is as long as `ids`.
  virtual void positions_of(int64_t epoch, std::span<const int64_t> ids, std::span<int64_t> positions) const;
  /// The positions whose samples are read together with the one at `position` (itself among them): where a replacement for
  /// it may come from without reading anything more. All of them where samples are read one by one.
  virtual Range read_together(int64_t epoch, int64_t position) const;
  /// The chunks that hold those samples, as they come on the epoch's line: indices into BlockwiseOptions::chunk_rows. None where
  /// samples are read one by one.
  virtual std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const;

  /// The first appearance of `id` at this place or later.
  Use next_use(int64_t id, int64_t epoch, int64_t position) const;
};

/// By id, in every epoch.
std::unique_ptr<Order> sequential_order(int64_t size);

/// One permutation of all samples per epoch, in constant memory.
std::unique_ptr<Order> shuffled_order(int64_t size, uint64_t seed);

/// The same for data that is read in chunks, of so many rows each: a chunk is read together.
std::unique_ptr<Order> sequential_chunks_order(const std::vector<int64_t>& chunk_rows);

struct BlockwiseOptions {
  std::vector<int64_t> chunk_rows;  ///< rows of each chunk; ids number the rows chunk by chunk, in this order
  int64_t block = 8;                ///< chunks mixed together
  int64_t lanes = 1;                ///< spans that hosts own
  uint64_t seed = 0;
  bool ramp = false;  ///< epoch 0 begins with small blocks
};

/// For data that is read in chunks. Each epoch permutes the chunks, lays their rows end to end and cuts that line into
/// `lanes` spans of equal length (the first ones one row longer where it does not divide). Inside a span the rows of
/// `block` chunks after each other are permuted (a chunk cut by a span's edge counts in both). Position p is row p /
/// lanes of lane p % lanes, so the longer lanes give the last rows. The order does not depend on who reads which lane.
///
/// With `ramp` each lane of epoch 0 begins with blocks of 1, 1, 1, 2, 2, 3, … chunks up to `block`, so that its first rows need one chunk
/// and not `block` of them. A block has at most one chunk more than a third of all before it: whoever makes chunks a third faster than
/// they are used has made it when its turn comes. Later epochs are as without.
///
/// Memory: one word per chunk, and two for each of the last three epochs asked for. Refuses (InvalidArgument) negative
/// rows, more rows than 2^62, and a block or lanes below 1.
Result<std::unique_ptr<Order>> blockwise_order(const BlockwiseOptions& options);

}  // namespace forebay
