#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay {

/// Samples by class: the ids of each class, ascending. Immutable. Memory: 12 bytes a sample.
class ClassMembers {
 public:
  /// `class_of`: the class of each id, from 0 on; below 0: the sample is left out. Each class has a
  /// sample.
  explicit ClassMembers(std::vector<int32_t> class_of) : class_of_(std::move(class_of)) {
    const int32_t last = class_of_.empty() ? -1 : *std::ranges::max_element(class_of_);
    begins_.assign(static_cast<size_t>(std::max(last, -1)) + 2, 0);
    for (const int32_t number : class_of_)
      if (number >= 0) ++begins_[static_cast<size_t>(number) + 1];
    for (size_t number = 1; number < begins_.size(); ++number) begins_[number] += begins_[number - 1];
    sort();
  }

  int64_t ids() const { return static_cast<int64_t>(class_of_.size()); }
  int64_t classes() const { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t size() const { return begins_.back(); }  ///< samples of all classes
  int32_t class_of(int64_t id) const { return class_of_[static_cast<size_t>(id)]; }
  int64_t begin(int64_t number) const { return begins_[static_cast<size_t>(number)]; }
  int64_t class_size(int64_t number) const { return begin(number + 1) - begin(number); }
  /// The samples class by class: those of a class are [begin(number), begin(number + 1)).
  const std::vector<int64_t>& members() const { return members_; }
  /// The first member of a class whose id is at least `id`, as an index in members().
  int64_t first_from(int64_t number, int64_t id) const {
    const auto first = members_.begin() + begin(number), last = members_.begin() + begin(number + 1);
    return std::lower_bound(first, last, id) - members_.begin();
  }

 private:
  // Counting sort.
  void sort() {
    members_.resize(static_cast<size_t>(begins_.back()));
    std::vector<int64_t> next(begins_.begin(), begins_.end() - 1);
    for (size_t id = 0; id < class_of_.size(); ++id)
      if (class_of_[id] >= 0)
        members_[static_cast<size_t>(next[static_cast<size_t>(class_of_[id])]++)] = static_cast<int64_t>(id);
  }

  const std::vector<int32_t> class_of_;
  std::vector<int64_t> begins_;  // of each class; then the end of the last one
  std::vector<int64_t> members_;
};

}  // namespace forebay
