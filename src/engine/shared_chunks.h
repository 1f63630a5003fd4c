#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/columns.h"
#include "base/hash.h"

namespace forebay {

/// Decoded chunks of tables that somebody in the process holds, for others who read the same. A key stands for everything that
/// decides what the rows are: stored data, version, columns, operators. Nothing is kept here: rows last as long as whoever made or
/// took them holds them, each on its own account.
///
/// While one is at work on a chunk (a read is in flight, or a thread decodes), others wait to be told instead of doing the same;
/// never while one waits itself, so that no two wait for each other. From any thread.
class SharedChunks : public std::enable_shared_from_this<SharedChunks> {
 public:
  /// Always made as a shared_ptr: who is at work keeps it alive.
  static std::shared_ptr<SharedChunks> make() { return std::make_shared<SharedChunks>(); }

  using Rows = std::shared_ptr<const Columns>;
  /// Null where nobody holds them.
  Rows find(const Hash128& key);
  /// Others may have them from now on.
  void offer(const Hash128& key, const Rows& rows);

  /// Somebody is at work, for as long as this lives. It ends without a lock that those who are told might take.
  class Work;
  std::unique_ptr<Work> begin(const Hash128& key);
  /// True where others are at work: `told` is called once, on whatever thread, when they are not any more.
  bool wait(const Hash128& key, std::function<void()> told);
  /// Chunks that something is known of.
  size_t size() const;

 private:
  struct Entry {
    std::weak_ptr<const Columns> rows;
    int working = 0;
    std::vector<std::function<void()>> waiting;
  };
  struct HashOf {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  void end(const Hash128& key);
  void sweep();  // with the lock held

  mutable std::mutex mutex_;
  std::unordered_map<Hash128, Entry, HashOf> entries_;
  size_t sweep_at_ = 64;
};

class SharedChunks::Work {
 public:
  ~Work() { chunks_->end(key_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  friend class SharedChunks;
  Work(std::shared_ptr<SharedChunks> chunks, const Hash128& key) : chunks_(std::move(chunks)), key_(key) {}

  const std::shared_ptr<SharedChunks> chunks_;
  const Hash128 key_;
};

}  // namespace forebay
