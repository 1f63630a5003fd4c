#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "forebay/result.h"
#include "runtime/block_source.h"
#include "store/local/local_file.h"

namespace forebay {

/// A file of memory that has no name, mapped here for writing; sealed, so that whoever else gets its descriptor can map it for reading
/// and can neither write to it nor change its size. The kernel frees it with its last mapping, however a process ends.
class Slab {
 public:
  /// Unsupported where the kernel cannot seal (before Linux 5.1); OutOfBudget where there is no memory or no descriptor.
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

/// The memory of batches, in slabs that clients map. A block of a mebibyte or more is a slab of its own; smaller ones lie in slabs of
/// four mebibytes, so that a table's hundred columns do not take a hundred descriptors.
///
/// A block that is freed may be lent again at once: whoever let others read it frees it when they have all let go. Slabs of large blocks
/// stay for the next ones, which clients then have mapped already: a third of the bytes that are lent, at most. From any thread.
class SharedBlocks final : public BlockSource {
 public:
  uint8_t* allocate(size_t bytes) override;
  void free(uint8_t* block, size_t bytes) override;

  struct Place {
    std::shared_ptr<const Slab> slab;
    uint64_t offset = 0;
  };
  /// Where an address lies; nothing where it is not in memory from here.
  std::optional<Place> find(const uint8_t* address) const;
  /// Bytes of all slabs, idle ones included.
  uint64_t bytes() const;

  static constexpr size_t kOwnSlab = size_t{1} << 20, kSmallSlab = size_t{4} << 20;

 private:
  struct Held {
    std::shared_ptr<const Slab> slab;
    std::map<size_t, size_t> free;  ///< of a slab of small blocks: where free parts begin, and how long they are
    bool whole = false;             ///< it is one block
  };
  using Slabs = std::map<const uint8_t*, Held>;  // by where they begin
  static std::optional<size_t> take(Held& held, size_t bytes);
  static void give_back(Held& held, size_t offset, size_t bytes);
  Held* add_slab(size_t bytes);
  uint8_t* use_again(size_t bytes);
  void trim(std::vector<std::shared_ptr<const Slab>>& gone);
  Slabs::iterator slab_of(const uint8_t* address);

  mutable std::mutex mutex_;
  Slabs slabs_;
  std::vector<std::shared_ptr<const Slab>> idle_;  // the longest idle first
  uint64_t lent_bytes_ = 0, idle_bytes_ = 0;       // of slabs
  uint64_t next_number_ = 1;
};

}  // namespace forebay
