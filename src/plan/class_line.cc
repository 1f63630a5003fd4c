#include "plan/class_line.h"

#include <algorithm>
#include <utility>

#include "plan/class_members.h"

namespace forebay {
namespace {

class ClassLine final : public Order {
 public:
  ClassLine(std::vector<int32_t> class_of, const std::vector<int64_t>& chunk_rows) : members_(std::move(class_of)) {
    for (const int64_t rows : chunk_rows) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + rows);
  }

  int64_t size() const override { return members_.size(); }
  int64_t ids() const override { return members_.ids(); }
  bool permutes() const override { return size() == ids(); }
  int64_t id_at(int64_t, int64_t place) const override { return members_.members()[static_cast<size_t>(place)]; }
  int64_t position_of(int64_t, int64_t id) const override {
    const int32_t number = members_.class_of(id);
    return number < 0 ? size() : members_.first_from(number, id);
  }
  void ids_at(int64_t, int64_t begin, std::span<int64_t> ids) const override {
    std::copy_n(members_.members().begin() + begin, ids.size(), ids.begin());
  }

  Range read_together(int64_t, int64_t place) const override {
    const int64_t id = id_at(0, place);
    const auto end = std::ranges::upper_bound(ends_, id);
    const int64_t chunk_begin = end == ends_.begin() ? 0 : end[-1];
    const int64_t first = members_.first_from(members_.class_of(id), chunk_begin);
    return {first, 1, members_.first_from(members_.class_of(id), *end) - first};
  }
  std::vector<int64_t> chunks_together(int64_t, int64_t place) const override {
    return {std::ranges::upper_bound(ends_, id_at(0, place)) - ends_.begin()};
  }

 private:
  const ClassMembers members_;
  std::vector<int64_t> ends_;  // of the ids of each chunk
};

}  // namespace

std::unique_ptr<Order> class_line(std::vector<int32_t> class_of, const std::vector<int64_t>& chunk_rows) {
  return std::make_unique<ClassLine>(std::move(class_of), chunk_rows);
}

}  // namespace forebay
