#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/columns.h"
#include "pipeline/execution_plan.h"
#include "pipeline/unit_table.h"

namespace forebay {

/// What decoding a unit takes.
struct UnitNeeds {
  uint64_t together = 0;  ///< bytes of Unit::memory, rounded so that memory of one unit fits others
  uint64_t apart = 0;     ///< of rows outside of it
  uint64_t working = 0;   ///< beyond the thread's own
};

/// What is done with the units of a plan, without schedule or lock: where their bytes are, what decoding them takes, and decoding.
/// Only for plans that have units.
class UnitWork {
 public:
  explicit UnitWork(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

  /// Where its bytes are: in the cache, or else at the source. Asked once, however often it has to wait afterwards: a cache counts
  /// how often it is asked.
  void look_up(Unit& unit) const;
  UnitNeeds needs(const Unit& unit) const;
  struct Made {
    Result<std::shared_ptr<const Columns>> rows;
    bool cold = false;  ///< its bytes are not at hand: they have to be read without a thread that waits
  };
  /// Never throws. The unit belongs to this thread meanwhile.
  Made make(const Unit& unit, WorkMemory& memory) const;

 private:
  Result<std::shared_ptr<const Columns>> decode(const Unit& unit, WorkMemory& memory, bool* cold) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
};

/// Bytes that those requests bring.
uint64_t bytes_of(const std::vector<ReadRequest>& requests);

}  // namespace forebay
