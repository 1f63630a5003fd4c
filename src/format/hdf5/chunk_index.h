#pragma once

#include <cstdint>

#include "format/hdf5/data_set.h"

namespace forebay {

/// Place and kind of the index of a data set's chunks.
struct Hdf5ChunkIndex {
  /// Values 1 to 5 are those of the data layout message, version 4.
  enum class Kind : uint8_t {
    kBtreeV1 = 0,          ///< layout messages of version 3 and older
    kSingle = 1,           ///< the data set is one chunk
    kImplicit = 2,         ///< chunks follow one another, allocated early, unfiltered
    kFixedArray = 3,       ///< no unlimited axis
    kExtensibleArray = 4,  ///< one unlimited axis
    kBtreeV2 = 5           ///< several unlimited axes
  };
  Kind kind = Kind::kBtreeV1;
  uint64_t address = kHdf5NoAddress;  ///< of the index; for kSingle and kImplicit of the first chunk
  uint64_t single_bytes = 0;          ///< for kSingle with filters: stored bytes of the chunk
  uint32_t single_filter_mask = 0;    ///< for kSingle with filters: as Hdf5Chunk::filter_mask
  bool edges_unfiltered = false;      ///< chunks that extend beyond the data set are not filtered
};

/// Reads the index into `data.chunks`, sorted, and checks that each chunk lies inside the file.
/// Corrupt if the index is damaged or gives a chunk two places; Unsupported for more than 32
/// million chunks. open_hdf5_data_set() calls it once the rest of `data` is set.
Status read_hdf5_chunks(Hdf5Metadata& file, const Hdf5ChunkIndex& index, Hdf5DataSet& data);

}  // namespace forebay
