#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/shared_units.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/waits.h"
#include "pipeline/unit_table.h"
#include "pipeline/unit_work.h"

namespace forebay {

/// Gets bytes for somebody by taking them away from those who are younger.
class RoomMaker {
 public:
  /// For `bytes` that are lacking. True when asking for them again makes sense now; otherwise something has to end first.
  virtual bool make_room(uint64_t bytes) = 0;

 protected:
  ~RoomMaker() = default;
};

/// The units (row groups) of a run: fetched, decoded, kept as long as a block with rows of them is open or used, and offered to other
/// runs that read the same. Knows no batches and no tasks. Guarded by the run's lock.
class Units {
 public:
  /// Who asks for a block.
  struct Asker {
    uint64_t order = 0;           ///< on the compute threads
    bool ahead = false;           ///< for later: what the batches of the window need is left alone
    RoomMaker* others = nullptr;  ///< who gives way to it; null: nobody
  };

  /// Only for plans that have units. `is_due`: whether the batch that is delivered next needs rows of a unit.
  Units(RunCore& core, std::shared_ptr<SharedUnits> shared, std::function<bool(const Unit&)> is_due);

  UnitTable& table() { return table_; }
  /// Moves on every unit of the block that can be. False where bytes are lacking, so that nothing younger may take any.
  bool move_on(const UnitBlock& block, const Asker& asker, Actions& actions);
  /// From now on no row before this place is planned: units that nobody uses any more go.
  void close_before(const Cursor& place);
  /// One user less; units that nobody needs then go.
  void remove_user(const UnitBlockPtr& block);
  /// Everything goes that nobody uses.
  void clear();
  /// Units of these blocks that could not be read because storage was away are to be read again. False where a compute thread looks into one of them: then all
  /// stay, until this is said again.
  bool forget_transient_errors(const std::vector<UnitBlockPtr>& blocks);
  /// Everything goes that can be read or decoded again, but for what `needed` holds and what compute threads look into.
  void drop_others(const UnitBlock* needed);

  /// What a block waits for that is not ready.
  Awaited what_is_awaited(const UnitBlock& block);
  /// The unit that it waits for, as messages call it.
  std::string name_of_missing(const UnitBlock& block) const;
  /// How often each unit was decoded so far.
  const std::vector<uint32_t>& decodes() const { return decoded_; }

 private:
  class Arrival;

  Step start(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions);
  Step begin_fetching(Unit& unit, const Asker& asker);
  Step decode(const std::shared_ptr<Unit>& unit, const Asker& asker, Actions& actions);
  std::optional<Step> others_have(const std::shared_ptr<Unit>& unit, const Asker& asker);
  std::unique_ptr<SharedUnits::Work> at_work(const Unit& unit) const;
  std::optional<Claim> claim(Use use, uint64_t bytes, const Asker& asker) const;
  bool get_memory(Unit::Running& running, uint64_t bytes, const Asker& asker) const;
  bool has_slot(const UnitPlace& place) {
    return place.store == nullptr || core_.fetcher.line(*place.store).has_slot();
  }
  static const Unit& first_missing(const UnitBlock& block);

  void on_read(Arrival& arrival, Result<Buffer> result);
  void work(const std::shared_ptr<Unit>& unit, WorkMemory& memory);
  void keep(Unit& unit, Unit::Running& running, std::shared_ptr<const Columns> rows);
  void decoding_failed(Unit& unit, Unit::Read input, Status status, bool cold);
  void failed(Unit& unit, Status status);
  static void drop(Unit& unit);
  static void drop_freed(const UnitTable::Freed& freed);

  RunCore& core_;
  const UnitPlan& plan_;
  const UnitWork unit_work_;
  const std::shared_ptr<SharedUnits> shared_;
  const std::function<bool(const Unit&)> is_due_;
  UnitTable table_;
  std::vector<uint32_t> decoded_;
  int decoding_ = 0;  // units that compute threads work on, or will
};

}  // namespace forebay
