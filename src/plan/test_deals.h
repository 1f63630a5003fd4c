#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/deal.h"

namespace forebay {

/// Slots in turn, as a deal by lane gives them: no rank's rows are contiguous.
class InterleavedDeal final : public Deal {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    for (int64_t slot = rank; slot < batch.slots; slot += batch.world_size) out->push_back(slot);
  }
};

/// All but one slot for rank 0, as a deal by bytes may have it: no two ranks' shares need to be equal.
class LopsidedDeal final : public Deal {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    const int64_t others = batch.world_size - 1;
    if (rank > 0) return out->push_back(rank - 1);
    for (int64_t slot = others; slot < batch.slots; ++slot) out->push_back(slot);
  }
};

/// A deal that the suites of deals and schedules are run with.
struct DealCase {
  const char* name;
  std::function<std::shared_ptr<const Deal>()> make;
};

inline std::vector<DealCase> deal_cases() {
  return {{"by_count", [] { return deal_by_count(); }},
          {"by_lane", [] { return deal_by_lane(4); }},
          {"interleaved", [] { return std::make_shared<InterleavedDeal>(); }},
          {"lopsided", [] { return std::make_shared<LopsidedDeal>(); }}};
}

inline std::string deal_case_name(const testing::TestParamInfo<DealCase>& info) { return info.param.name; }

}  // namespace forebay
