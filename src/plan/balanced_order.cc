#include "plan/balanced_order.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/class_members.h"

namespace forebay {
namespace {

class BalancedOrder final : public Order {
 public:
  explicit BalancedOrder(BalancedOptions options) : members_(std::move(options.class_of)), size_(options.size) {
    cycles_ = options.order(classes(), 0);
    for (int64_t number = 0; number < classes(); ++number)
      orders_.push_back(options.order(class_size(number), number + 1));
  }

  int64_t size() const override { return size_; }
  int64_t ids() const override { return members_.ids(); }
  bool permutes() const override { return false; }

  int64_t id_at(int64_t epoch, int64_t position) const override {
    const int64_t at = number_of(epoch, position);
    const int64_t number = cycles_->id_at(at / classes(), at % classes());
    return draw_at(number, at / classes()).id;
  }

  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override {
    each_draw(epoch, begin, ids.size(), [&](size_t i, int64_t, const ClassDraw& draw) { ids[i] = draw.id; });
  }

  void uses_at(int64_t epoch, int64_t begin, std::span<int64_t> ids, std::span<int32_t> occurrences) const override {
    each_draw(epoch, begin, ids.size(), [&](size_t i, int64_t number, const ClassDraw& draw) {
      ids[i] = draw.id;
      occurrences[i] = static_cast<int32_t>(draw.at.epoch - first_pass(number, draw, epoch));
    });
  }

  int64_t position_of(int64_t epoch, int64_t id) const override {
    const Use use = next_use(id, epoch, 0);
    return use.epoch == epoch ? use.position : size_;
  }

  Use next_use(int64_t id, int64_t epoch, int64_t position) const override {
    const int64_t number = members_.class_of(id);
    if (number < 0) return kNoUse;
    const Use from = class_use(number, next_cycle(number, number_of(epoch, position)));
    const Use use = orders_[static_cast<size_t>(number)]->next_use(index_of(number, id), from.epoch, from.position);
    const int64_t cycle = use.epoch * class_size(number) + use.position;
    const int64_t at = cycle * classes() + cycles_->position_of(cycle, number);
    return {at / size_, at % size_};
  }

 private:
  // A sample of a class, and its place in the passes of the class.
  struct ClassDraw {
    int64_t id = 0, index = 0;
    Use at;
  };

  int64_t classes() const { return members_.classes(); }
  int64_t class_size(int64_t number) const { return members_.class_size(number); }
  int64_t number_of(int64_t epoch, int64_t position) const { return epoch * size_ + position; }
  // In each cycle a class makes one draw, so its draws have the numbers of the cycles.
  Use class_use(int64_t number, int64_t cycle) const {
    return {cycle / class_size(number), cycle % class_size(number)};
  }

  ClassDraw draw_at(int64_t number, int64_t cycle) const {
    const Use at = class_use(number, cycle);
    const int64_t index = orders_[static_cast<size_t>(number)]->id_at(at.epoch, at.position);
    return {members_.members()[static_cast<size_t>(members_.begin(number) + index)], index, at};
  }

  // The first cycle whose draw of the class is at this position, counted over epochs, or later.
  int64_t next_cycle(int64_t number, int64_t at) const {
    const int64_t cycle = at / classes();
    return cycles_->position_of(cycle, number) >= at % classes() ? cycle : cycle + 1;
  }

  // The pass in which the epoch first draws the sample: uses in an epoch are numbered by passes.
  int64_t first_pass(int64_t number, const ClassDraw& draw, int64_t epoch) const {
    const Use first = class_use(number, next_cycle(number, number_of(epoch, 0)));
    if (draw.at.epoch == first.epoch) return first.epoch;
    const int64_t place = orders_[static_cast<size_t>(number)]->position_of(first.epoch, draw.index);
    return place >= first.position ? first.epoch : first.epoch + 1;
  }

  int64_t index_of(int64_t number, int64_t id) const {
    return members_.first_from(number, id) - members_.begin(number);
  }

  // Calls `each` with the draws of consecutive positions; the classes of a cycle are looked up
  // together.
  template <class Each>
  void each_draw(int64_t epoch, int64_t begin, size_t count, Each each) const {
    std::array<int64_t, 256> numbers;
    const int64_t first = number_of(epoch, begin);
    for (size_t done = 0; done < count;) {
      const int64_t at = first + static_cast<int64_t>(done), cycle = at / classes();
      const auto left = static_cast<size_t>(classes() - at % classes());
      const size_t here = std::min({count - done, left, numbers.size()});
      cycles_->ids_at(cycle, at % classes(), {numbers.data(), here});
      for (size_t i = 0; i < here; ++i) each(done + i, numbers[i], draw_at(numbers[i], cycle));
      done += here;
    }
  }

  const ClassMembers members_;
  const int64_t size_;
  std::unique_ptr<Order> cycles_;  // the classes of each cycle: epoch c is cycle c
  std::vector<std::unique_ptr<Order>> orders_;
};

}  // namespace

std::unique_ptr<Order> balanced_order(BalancedOptions options) {
  return std::make_unique<BalancedOrder>(std::move(options));
}

}  // namespace forebay
