#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/columns.h"
#include "base/hash.h"
#include "base/mutex.h"

namespace forebay {

/// Decoded chunks that loaders of this process hold, for other loaders that read the same data. A
/// key identifies all that determines the rows: stored data, version, columns, operators. This
/// class holds only weak references: rows live as long as the loaders that made or took them, and
/// each loader counts them in full.
///
/// While one loader works on a chunk (a read is in flight, or a thread decodes), others wait for it
/// instead of doing the same. A loader that waits is never counted as working, so no two loaders
/// wait for each other. No method blocks. All methods may be called from any thread.
class SharedChunks : public std::enable_shared_from_this<SharedChunks> {
 public:
  /// Always made as a shared_ptr: each Work keeps it alive.
  static std::shared_ptr<SharedChunks> make() { return std::make_shared<SharedChunks>(); }

  using Rows = std::shared_ptr<const Columns>;
  /// The rows; null if no loader holds them.
  Rows find(const Hash128& key);
  /// Makes rows available to other loaders for as long as the caller, or one of them, holds the
  /// rows.
  void offer(const Hash128& key, const Rows& rows);

  /// The caller works on a chunk until it destroys the returned object. Its destructor calls the
  /// subscribers, so it must not run under a lock that they take.
  class Work;
  std::unique_ptr<Work> begin(const Hash128& key);
  /// Registers `callback`, which is called once, on any thread, when nobody works on the chunk any
  /// more. Returns false, and never calls it, if nobody works on the chunk now.
  bool subscribe(const Hash128& key, std::function<void()> callback);
  /// Number of chunks with an entry.
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
  void sweep() FOREBAY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<Hash128, Entry, HashOf> entries_ FOREBAY_GUARDED_BY(mutex_);
  size_t sweep_at_ FOREBAY_GUARDED_BY(mutex_) = 64;
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
