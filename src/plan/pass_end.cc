#include "plan/pass_end.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

namespace forebay {
namespace {

// One pass is `end` behind its first positions, which a derived class knows.
class PassEnd : public Order {
 public:
  PassEnd(std::shared_ptr<const Order> end, int64_t pass, std::shared_ptr<const Order> now)
      : end_(std::move(end)), pass_(pass), now_(std::move(now)), first_(now_->size() - end_->size()) {
    assert(first_ >= 0);
  }

  int64_t size() const override { return now_->size(); }
  int64_t ids() const override { return now_->ids(); }
  bool permutes() const override { return now_->permutes(); }
  int64_t id_at(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->id_at(epoch, position);
    return position < first_ ? first_id(position) : end_->id_at(epoch, position - first_);
  }
  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    if (epoch != pass_) return now_->ids_at(epoch, begin, ids);
    const size_t firsts = firsts_of(begin, ids.size());
    for (size_t i = 0; i < firsts; ++i) ids[i] = first_id(begin + static_cast<int64_t>(i));
    if (firsts < ids.size()) end_->ids_at(epoch, place_of(begin, firsts), ids.subspan(firsts));
  }
  Range read_together(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->read_together(epoch, position);
    if (position < first_) return {position, 1, 1};
    Range range = end_->read_together(epoch, position - first_);
    range.first += first_;
    return range;
  }
  std::vector<int64_t> chunks_together(int64_t epoch, int64_t position) const override {
    if (epoch != pass_) return now_->chunks_together(epoch, position);
    if (position < first_) return now_->chunks_together(epoch, now_->position_of(epoch, first_id(position)));
    return end_->chunks_together(epoch, position - first_);
  }

 protected:
  virtual int64_t first_id(int64_t position) const = 0;
  // Returns the number of these positions that are among the first ones.
  size_t firsts_of(int64_t begin, size_t count) const {
    return static_cast<size_t>(std::clamp<int64_t>(first_ - begin, 0, static_cast<int64_t>(count)));
  }
  // The place in `end_` of the position behind the first ones.
  int64_t place_of(int64_t begin, size_t firsts) const { return begin + static_cast<int64_t>(firsts) - first_; }

  const std::shared_ptr<const Order> end_;
  const int64_t pass_;
  const std::shared_ptr<const Order> now_;
  const int64_t first_;  // number of the first positions
};

class GrownOrder final : public PassEnd {
 public:
  using PassEnd::PassEnd;

  int64_t position_of(int64_t epoch, int64_t id) const override {
    if (epoch != pass_) return now_->position_of(epoch, id);
    return id < end_->size() ? first_ + end_->position_of(epoch, id) : id - end_->size();
  }

 private:
  // The samples that are new.
  int64_t first_id(int64_t position) const override { return end_->size() + position; }
};

class RedrawnOrder final : public PassEnd {
 public:
  using PassEnd::PassEnd;

  void uses_at(int64_t epoch, int64_t begin, std::span<int64_t> ids, std::span<int32_t> occurrences) const override {
    if (epoch != pass_) return now_->uses_at(epoch, begin, ids, occurrences);
    const size_t firsts = firsts_of(begin, ids.size());
    now_->uses_at(epoch, begin, ids.first(firsts), occurrences.first(firsts));
    if (firsts == ids.size()) return;
    end_->ids_at(epoch, place_of(begin, firsts), ids.subspan(firsts));
    // Uses before have numbers below size(), or those of their positions.
    for (size_t i = firsts; i < ids.size(); ++i)
      occurrences[i] = static_cast<int32_t>(size() + begin + static_cast<int64_t>(i));
  }
  int64_t position_of(int64_t epoch, int64_t id) const override {
    const int64_t position = now_->position_of(epoch, id);
    return epoch != pass_ || position < first_ ? position : first_ + end_->position_of(epoch, id);
  }
  Use next_use(int64_t id, int64_t epoch, int64_t position) const override {
    if (epoch > pass_) return now_->next_use(id, epoch, position);
    if (epoch < pass_ || position < first_) {
      const Use use = now_->next_use(id, epoch, position);
      if (use.epoch < pass_ || (use.epoch == pass_ && use.position < first_)) return use;
      position = first_;
    }
    const Use use = end_->next_use(id, pass_, position - first_);
    return use.epoch == pass_ ? Use{pass_, first_ + use.position} : now_->next_use(id, pass_ + 1, 0);
  }

 private:
  int64_t first_id(int64_t position) const override { return now_->id_at(pass_, position); }
};

}  // namespace

std::unique_ptr<Order> grown_order(std::shared_ptr<const Order> before, int64_t pass,
                                   std::shared_ptr<const Order> now) {
  return std::make_unique<GrownOrder>(std::move(before), pass, std::move(now));
}

std::unique_ptr<Order> redrawn_order(std::shared_ptr<const Order> rest, int64_t pass,
                                     std::shared_ptr<const Order> now) {
  return std::make_unique<RedrawnOrder>(std::move(rest), pass, std::move(now));
}

}  // namespace forebay
