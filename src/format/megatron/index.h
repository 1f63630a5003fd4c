#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/dtype.h"
#include "forebay/result.h"

namespace forebay {

/// The unit that is one sample.
enum class MegatronUnit : uint8_t {
  kDocument,  ///< all sequences of a document, joined
  kSequence,  ///< one sequence; a document has one or more, such as its sentences
};

/// The samples of an indexed data set of Megatron-LM: where each lies in the .bin file.
///
/// The layout of the .idx file, little-endian, as megatron/core/datasets/indexed_dataset.py writes
/// it:
///
///     "MMIDIDX\0\0" | uint64 version = 1 | uint8 dtype code | uint64 sequences | uint64 indices
///     int32 lengths[sequences]     tokens of each sequence
///     int64 pointers[sequences]    its first byte in the .bin file
///     int64 documents[indices]     its first sequence, for each document; last the number of sequences
///     int8  modes[sequences]       only in multimodal data sets
struct MegatronIndex {
  DType dtype = DType::kUint16;
  std::vector<uint64_t> begins;   ///< first byte of each sample in the .bin file
  std::vector<uint32_t> lengths;  ///< tokens of each sample
  std::vector<int8_t> modes;      ///< of each sequence; empty for documents, and if the file has none

  int64_t size() const { return static_cast<int64_t>(begins.size()); }
  uint64_t bytes_of(int64_t id) const {
    return static_cast<uint64_t>(lengths[static_cast<size_t>(id)]) * dtype_size(dtype);
  }
  uint64_t memory_bytes() const {
    return begins.capacity() * sizeof(uint64_t) + lengths.capacity() * sizeof(uint32_t) + modes.capacity();
  }
};

/// Parses the bytes of an .idx file. `bin_bytes` is the size of the .bin file. Every number of the
/// index is checked, so that each sample lies inside the .bin file.
///
/// Errors: Corrupt, with the numbers, for a damaged index or a .bin file that is too short;
/// wrong_file() for files of other formats; Unsupported for other versions and types, and for
/// documents that are not stored in one piece or have 2^32 tokens or more.
Result<MegatronIndex> parse_megatron_index(std::span<const uint8_t> index, uint64_t bin_bytes, MegatronUnit unit);

}  // namespace forebay
