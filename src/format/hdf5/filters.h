#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/work_memory.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// One filter that was applied to a chunk when it was written.
struct Hdf5Filter {
  /// Registered ids of the filters that this reader or its messages know.
  enum : uint16_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3, kSzip = 4, kNbit = 5, kScaleOffset = 6, kLzf = 32000 };
  uint16_t id = 0;
  std::string name = {};
  std::vector<uint32_t> values = {};  ///< client data values, whose meaning depends on the filter
};

/// Unsupported, with a remedy, if one of the filters is not implemented here, or if more than one
/// of them compresses.
Status check_hdf5_filters(std::span<const Hdf5Filter> filters);

/// Upper bound of the size of a chunk before filtering, given its stored size.
uint64_t max_from_hdf5_filters(std::span<const Hdf5Filter> filters, uint64_t stored_bytes);

/// Undoes the filters of chunks. Its buffers are reused from chunk to chunk. One thread.
class Hdf5Filtering {
 public:
  Hdf5Filtering();
  ~Hdf5Filtering();
  Hdf5Filtering(const Hdf5Filtering&) = delete;
  Hdf5Filtering& operator=(const Hdf5Filtering&) = delete;

  /// Returns the bytes of a chunk before filtering. Filters whose bit in `filter_mask` is set were
  /// not applied. The result is a part of `stored`, or is valid until the next call. Corrupt if its
  /// size is not exactly `bytes`. Buffers take about twice that size, or twice the stored size if
  /// this is larger, which is reserved from `memory` first.
  Result<std::span<const uint8_t>> undo(std::span<const Hdf5Filter> filters, uint32_t filter_mask,
                                        std::span<const uint8_t> stored, uint64_t bytes, WorkMemory& memory);

 private:
  struct Inflater;
  std::span<uint8_t> buffer(int which, uint64_t bytes);
  Result<std::span<const uint8_t>> inflate(std::span<const uint8_t> in, int into, uint64_t bytes);
  Result<std::span<const uint8_t>> undo_one(const Hdf5Filter& filter, std::span<const uint8_t> in, int into,
                                            uint64_t bytes);

  std::unique_ptr<Inflater> inflater_;
  Buffer buffers_[2];
  uint64_t reserved_ = 0;
};

// The single filters. Each writes all of `out`, or returns false if the input is malformed.
void hdf5_unshuffle(std::span<const uint8_t> in, uint64_t element_bytes, uint8_t* out);
bool hdf5_lzf_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);
uint32_t hdf5_fletcher32(std::span<const uint8_t> bytes);

}  // namespace forebay
