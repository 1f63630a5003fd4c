#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "forebay/result.h"
#include "serve/wire/message.h"
#include "store/local/local_file.h"

namespace forebay {

/// The server's slabs in a client, each mapped once and for reading only. Any thread may call any
/// function.
class MappedSlabs {
 public:
  /// Maps a slab. OutOfBudget if it cannot be mapped; Corrupt if the file has not the announced
  /// length.
  Status add(const SlabMessage& message, const FileDescriptor& file);
  /// Forgets a slab. It stays mapped until the last tensor in it is freed.
  void drop(uint64_t number);
  /// Returns a tensor in a slab. The tensor keeps the mapping and `held` alive. Corrupt if it does
  /// not lie within a slab.
  Result<Tensor> tensor(const TensorLocation& location, const std::shared_ptr<void>& held) const;

 private:
  struct Mapping;
  mutable Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Mapping>> slabs_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
