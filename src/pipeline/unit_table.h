#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pipeline/unit.h"
#include "plan/order.h"

namespace forebay {

/// Where a row is: which of its block's units, and row inside that.
struct RowInBlock {
  size_t unit = 0;
  int64_t row = 0;
};

/// Units whose rows are mixed: a row of one of them may be the next at any time until the last position is behind.
struct UnitBlock {
  int64_t epoch = 0;
  Order::Range range;
  std::vector<std::shared_ptr<Unit>> units;  ///< by number
  std::vector<int64_t> begins, ends;         ///< first id of each, and the one behind its last
  bool open = true;                          ///< rows of it are still to be planned
  bool held = false;                         ///< its units are wanted
  bool old = false;                          ///< of old samples, which stand in no order: nobody but a batch has it
  int64_t users = 0;                         ///< tasks that will need it, or do

  int64_t last_position() const { return range.first + range.step * (range.count - 1); }
  bool ready() const;
  bool has_bad_rows() const;  ///< once it is ready
  bool has(const Unit& unit) const;
  /// Whether row `id` is in one of its units; and where, if it is.
  bool holds(int64_t id) const;
  RowInBlock place(int64_t id) const;
  void add(std::shared_ptr<Unit> unit, int64_t begin, int64_t end);
};
using UnitBlockPtr = std::shared_ptr<UnitBlock>;

/// Which units are needed by whom. Guarded by its owner's lock.
class UnitTable {
 public:
  /// `begins`: first id of each unit, and the end of the last.
  UnitTable(std::shared_ptr<const Order> order, std::vector<int64_t> begins);

  /// The block whose rows stand at that position, made if it is not there. It is open until close_before().
  UnitBlockPtr block_at(int64_t epoch, int64_t position);
  /// The block that follows in the same lane, of the next epoch after the last one.
  UnitBlockPtr block_after(const UnitBlock& block);
  /// From now on no row before this position is planned.
  void close_before(int64_t epoch, int64_t position);
  void add_user(const UnitBlockPtr& block);
  /// Units that nobody needs any more are appended to `freed`: the owner gives back what was charged for them.
  using Freed = std::vector<std::shared_ptr<Unit>>;
  void remove_user(const UnitBlockPtr& block, Freed& freed);
  /// The same block with the units of some other rows beside its own: for replacements that come from elsewhere.
  UnitBlockPtr widened(const UnitBlock& block, const std::vector<int64_t>& ids);
  /// A block of that unit alone, for old samples. Its unit is only wanted while it has users.
  UnitBlockPtr block_of_old(int64_t unit) const;
  int64_t unit_of(int64_t id) const;
  /// Collects what close_before() left without users.
  void sweep(Freed& freed);
  /// Forgets blocks that nobody uses, open or not.
  void clear(Freed& freed);

  const std::map<std::pair<int64_t, int64_t>, UnitBlockPtr>& blocks() const { return blocks_; }
  const std::unordered_map<int64_t, std::shared_ptr<Unit>>& units() const { return units_; }

 private:
  void add_unit(UnitBlock& block, int64_t number);
  void hold(UnitBlock& block);
  void let_go(UnitBlock& block, Freed& freed);

  const std::shared_ptr<const Order> order_;
  const std::vector<int64_t> begins_;
  std::unordered_map<int64_t, std::shared_ptr<Unit>> units_;
  std::map<std::pair<int64_t, int64_t>, UnitBlockPtr> blocks_;  // by epoch and first position
};

}  // namespace forebay
