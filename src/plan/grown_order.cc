#include "plan/grown_order.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace forebay {
namespace {

class GrownOrder final : public Order {
 public:
  GrownOrder(std::shared_ptr<const Order> before, int64_t pass, std::shared_ptr<const Order> now)
      : before_(std::move(before)), pass_(pass), now_(std::move(now)), added_(now_->size() - before_->size()) {
    assert(added_ >= 0);
  }

  int64_t size() const override { return now_->size(); }
  int64_t id_at(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->id_at(epoch, position);
    return position < added_ ? before_->size() + position : before_->id_at(epoch, position - added_);
  }
  int64_t position_of(int64_t epoch, int64_t id) const override {
    if (epoch != pass_) return now_->position_of(epoch, id);
    return id < before_->size() ? added_ + before_->position_of(epoch, id) : id - before_->size();
  }
  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    if (epoch != pass_) return now_->ids_at(epoch, begin, ids);
    const auto added = static_cast<size_t>(std::clamp<int64_t>(added_ - begin, 0, std::ssize(ids)));
    std::iota(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(added), before_->size() + begin);
    if (added < ids.size()) before_->ids_at(epoch, begin + static_cast<int64_t>(added) - added_, ids.subspan(added));
  }
  Range read_together(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->read_together(epoch, position);
    if (position < added_) return {position, 1, 1};
    Range range = before_->read_together(epoch, position - added_);
    range.first += added_;
    return range;
  }
  std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->chunks_together(epoch, position);
    if (position < added_) return now_->chunks_together(epoch, now_->position_of(epoch, id_at(epoch, position)));
    return before_->chunks_together(epoch, position - added_);
  }

 private:
  const std::shared_ptr<const Order> before_;
  const int64_t pass_;
  const std::shared_ptr<const Order> now_;
  const int64_t added_;  // samples that are new
};

}  // namespace

std::unique_ptr<Order> grown_order(std::shared_ptr<const Order> before, int64_t pass,
                                   std::shared_ptr<const Order> now) {
  return std::make_unique<GrownOrder>(std::move(before), pass, std::move(now));
}

}  // namespace forebay
