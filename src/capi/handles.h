#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/fork_guard.h"

namespace forebay::capi {

/// Returns a number that no object of this process has had before, in any table. It is not a valid
/// address.
inline uintptr_t new_handle() {
  static std::atomic<uintptr_t> last{0};
  constexpr uintptr_t kStep = 16;
  return last += kStep;
}

/// Maps the handles that C code has to objects of one type. Any thread may call any function. An
/// object that was removed lives on as long as a call uses it.
template <typename T>
class Handles {
 public:
  /// Returns the table of this process. The child of a fork begins with an empty one and does not
  /// destroy the objects of its parent.
  static Handles& of_process() { return of_this_process<Handles>(); }

  uintptr_t add(std::shared_ptr<T> object) {
    const Lock lock(mutex_);
    const uintptr_t handle = new_handle();
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// Returns the object of a handle, or null.
  std::shared_ptr<T> find(const void* handle) const {
    const Lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Removes and returns the object of a handle, or null.
  std::shared_ptr<T> take(const void* handle) {
    const Lock lock(mutex_);
    auto node = objects_.extract(reinterpret_cast<uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  std::vector<std::shared_ptr<T>> all() const {
    const Lock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<T>> objects_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay::capi
