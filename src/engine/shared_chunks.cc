#include "engine/shared_chunks.h"

#include <algorithm>
#include <utility>

namespace forebay {

SharedChunks::Rows SharedChunks::find(const Hash128& key) {
  const Lock lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() ? found->second.rows.lock() : nullptr;
}

void SharedChunks::offer(const Hash128& key, const Rows& rows) {
  const Lock lock(mutex_);
  // A weak reference: when the loaders drop the rows they are freed, even if others could still use
  // them.
  entries_[key].rows = rows;
  if (entries_.size() > sweep_at_) sweep();
}

std::unique_ptr<SharedChunks::Work> SharedChunks::begin(const Hash128& key) {
  const Lock lock(mutex_);
  ++entries_[key].working;
  return std::unique_ptr<Work>(new Work(shared_from_this(), key));
}

bool SharedChunks::subscribe(const Hash128& key, std::function<void()> callback) {
  const Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.working == 0) return false;
  found->second.waiting.push_back(std::move(callback));
  return true;
}

void SharedChunks::end(const Hash128& key) {
  std::vector<std::function<void()>> callbacks;
  {
    const Lock lock(mutex_);
    Entry& entry = entries_[key];
    if (--entry.working > 0) return;
    callbacks.swap(entry.waiting);
    // An entry with rows stays until sweep(), so that others find the rows.
    if (entry.rows.expired()) entries_.erase(key);
  }
  // Without the lock: waiters may call back at once, for the rows or to begin themselves.
  for (const auto& callback : callbacks) callback();
}

size_t SharedChunks::size() const {
  const Lock lock(mutex_);
  return entries_.size();
}

// Removes entries whose rows are gone. Runs rarely, so that its cost for each offer() is small.
void SharedChunks::sweep() {
  std::erase_if(entries_, [](const auto& each) { return each.second.working == 0 && each.second.rows.expired(); });
  sweep_at_ = std::max<size_t>(64, 2 * entries_.size());
}

}  // namespace forebay
