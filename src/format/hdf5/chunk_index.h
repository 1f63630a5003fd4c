#pragma once

#include "format/hdf5/data_set.h"

namespace forebay {

/// How the index of a data set's chunks is kept.
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
  uint64_t address = kHdf5Nowhere;
  uint64_t single_bytes = 0;  ///< of kSingle with filters
  uint32_t single_skipped = 0;
  bool whole_at_edges = false;  ///< chunks that reach beyond the data set went through no filter
};

/// Fills `chunks` of a data set of which all else is known, sorted, and checks each against the file.
Status read_hdf5_chunks(Hdf5Metadata& file, const Hdf5ChunkIndex& index, Hdf5DataSet& data);

}  // namespace forebay
