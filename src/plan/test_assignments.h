#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/shard_assignment.h"

namespace forebay {

/// Gives slots to the ranks in turn, as an assignment by lane does: no rank's rows are contiguous.
class InterleavedAssignment final : public ShardAssignment {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    for (int64_t slot = rank; slot < batch.slots; slot += batch.world_size) out->push_back(slot);
  }
};

/// Gives rank 0 all slots but one for each other rank, as an assignment by bytes might: ranks may
/// have unequal shares.
class LopsidedAssignment final : public ShardAssignment {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    const int64_t others = batch.world_size - 1;
    if (rank > 0) return out->push_back(rank - 1);
    for (int64_t slot = others; slot < batch.slots; ++slot) out->push_back(slot);
  }
};

/// A shard assignment for the parametrised tests of assignments and schedules.
struct AssignmentCase {
  const char* name;
  std::function<std::shared_ptr<const ShardAssignment>()> make;
};

inline std::vector<AssignmentCase> assignment_cases() {
  return {{"by_count", [] { return assignment_by_count(); }},
          {"by_lane", [] { return assignment_by_lane(4); }},
          {"interleaved", [] { return std::make_shared<InterleavedAssignment>(); }},
          {"lopsided", [] { return std::make_shared<LopsidedAssignment>(); }}};
}

inline std::string assignment_case_name(const testing::TestParamInfo<AssignmentCase>& info) { return info.param.name; }

}  // namespace forebay
