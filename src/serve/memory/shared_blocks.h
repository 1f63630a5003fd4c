#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "forebay/result.h"
#include "runtime/block_source.h"
#include "store/local/local_file.h"

namespace forebay {

/// An anonymous memory file that this process has mapped for writing. It is sealed: a process that
/// receives its descriptor can map it for reading, but can neither write to it nor change its size.
/// The kernel frees it with the last descriptor and mapping, however the processes end.
class Slab {
 public:
  /// Creates and maps a slab. Unsupported if the kernel cannot seal (before Linux 5.1); OutOfBudget
  /// if no memory or no descriptor is left.
  static Result<std::shared_ptr<Slab>> make(uint64_t number, size_t bytes);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  uint64_t number() const { return number_; }
  int descriptor() const { return file_.get(); }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Slab(uint64_t number, FileDescriptor file, uint8_t* data, size_t bytes)
      : number_(number), file_(std::move(file)), data_(data), bytes_(bytes) {}

  const uint64_t number_;
  const FileDescriptor file_;
  uint8_t* const data_;
  const size_t bytes_;
};

/// Slabs of large blocks that were freed. They are retained for reuse, because clients have mapped
/// them already. Not thread-safe.
class IdleSlabs {
 public:
  void add(std::shared_ptr<const Slab> slab);
  /// Takes a slab that is large enough and at most an eighth too large. Null if there is none.
  std::shared_ptr<const Slab> take(size_t bytes);
  /// Moves the longest idle slabs to `freed`, until the others have at most `most_bytes`.
  void trim(uint64_t most_bytes, std::vector<std::shared_ptr<const Slab>>& freed);
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<const Slab>> slabs_;  // the longest idle first
  uint64_t bytes_ = 0;                              // sum of their sizes
};

/// Allocates the memory of batches in slabs that clients can map. A block of a mebibyte or more has
/// a slab of its own. Smaller blocks share slabs of four mebibytes, so that the hundred columns of
/// a table do not need a hundred descriptors.
///
/// A freed block may be reused at once, so the caller frees it only after all clients have stopped
/// reading it. Idle slabs take at most a third of the bytes in use. Any thread may call any
/// function.
class SharedBlocks final : public BlockSource {
 public:
  uint8_t* allocate(size_t bytes) override;
  void free(uint8_t* block, size_t bytes) override;

  struct Location {
    std::shared_ptr<const Slab> slab;
    uint64_t offset = 0;
  };
  /// Returns the slab that contains an address, or nothing if the address is not in any slab.
  std::optional<Location> find(const uint8_t* address) const;
  /// Returns the bytes of all slabs, idle ones included.
  uint64_t bytes() const;

  static constexpr size_t kOwnSlab = size_t{1} << 20, kSmallSlab = size_t{4} << 20;

 private:
  struct SlabUse {
    std::shared_ptr<const Slab> slab;
    std::map<size_t, size_t> free;  ///< free parts of a slab of small blocks: offset → length
    bool whole = false;             ///< whether the slab is one large block
  };
  using Slabs = std::map<const uint8_t*, SlabUse>;  // by their first address
  static std::optional<size_t> take_free_part(SlabUse& use, size_t bytes);
  static void return_free_part(SlabUse& use, size_t offset, size_t bytes);
  SlabUse* add_slab(size_t bytes) FOREBAY_REQUIRES(mutex_);
  uint8_t* reuse_idle(size_t bytes) FOREBAY_REQUIRES(mutex_);
  Slabs::iterator slab_of(const uint8_t* address) FOREBAY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Slabs slabs_ FOREBAY_GUARDED_BY(mutex_);
  IdleSlabs idle_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t used_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;  // of the slabs in slabs_
  uint64_t next_number_ FOREBAY_GUARDED_BY(mutex_) = 1;
};

}  // namespace forebay
