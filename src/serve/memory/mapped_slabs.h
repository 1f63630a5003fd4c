#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "forebay/result.h"
#include "serve/wire/message.h"
#include "store/local/local_file.h"

namespace forebay {

/// The server's slabs as a client has them: mapped once each, for reading. From any thread.
class MappedSlabs {
 public:
  /// OutOfBudget where it cannot be mapped; Corrupt where the file is not as long as the message says.
  Status add(const SlabMessage& message, const FileDescriptor& file);
  /// Tensors in it keep it mapped.
  void drop(uint64_t number);
  /// Bytes of a tensor, which keep their slab, and `held`. Corrupt where it would not lie within a slab.
  Result<Tensor> tensor(const TensorPlace& place, const std::shared_ptr<void>& held) const;

 private:
  struct Mapping;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Mapping>> slabs_;
};

}  // namespace forebay
