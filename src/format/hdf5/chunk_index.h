#pragma once

#include "format/hdf5/data_set.h"

namespace forebay {

/// Kind and place of the index of a data set's chunks.
struct Hdf5ChunkIndex {
  enum class Kind : uint8_t {
    kOldTree = 0,
    kSingle = 1,
    kImplicit = 2,
    kFixedArray = 3,
    kExtensibleArray = 4,
    kTree = 5
  };
  Kind kind = Kind::kOldTree;
  uint64_t address = kHdf5NoAddress;
  uint64_t single_bytes = 0;  ///< for kSingle with filters: stored bytes of the chunk
  uint32_t single_skipped = 0;
  bool whole_at_edges = false;  ///< chunks that extend beyond the data set are stored unfiltered
};

/// Reads the index into `data.chunks`, sorted, and checks each chunk against the file. All other
/// members of `data` must be set.
Status read_hdf5_chunks(Hdf5Metadata& file, const Hdf5ChunkIndex& index, Hdf5DataSet& data);

}  // namespace forebay
