#include "plan/deal.h"

#include <algorithm>
#include <numeric>

namespace forebay {
namespace {

class DealByCount final : public Deal {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    const int64_t share = batch.slots / batch.world_size, longer = batch.slots % batch.world_size;
    out->resize(static_cast<size_t>(share + (rank < longer ? 1 : 0)));
    std::iota(out->begin(), out->end(), rank * share + std::min(rank, longer));
  }
};

}  // namespace

std::shared_ptr<const Deal> deal_by_count() {
  static const auto deal = std::make_shared<const DealByCount>();
  return deal;
}

}  // namespace forebay
