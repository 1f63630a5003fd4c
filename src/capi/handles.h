#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/fork_guard.h"

namespace forebay::capi {

/// A name that no other object of this process has had, in any table; never an address that something lives at.
inline uintptr_t new_handle() {
  static std::atomic<uintptr_t> last{0};
  constexpr uintptr_t kStep = 16;
  return last += kStep;
}

/// The objects of one kind that C code has handles of. From any thread. An object that was taken out lives on as long as a call uses it.
template <typename T>
class Handles {
 public:
  /// Those of this process: the child of a fork begins with none, and its parent's are not touched.
  static Handles& here() { return of_this_process<Handles>(); }

  uintptr_t add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const uintptr_t handle = new_handle();
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// Null where there is none.
  std::shared_ptr<T> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> take(const void* handle) {
    const std::lock_guard lock(mutex_);
    auto node = objects_.extract(reinterpret_cast<uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace forebay::capi
