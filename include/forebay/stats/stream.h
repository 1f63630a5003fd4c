#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forebay {

/// One partition of a stream.
struct PartitionStats {
  std::string name;
  int64_t waiting = 0;  ///< records that have arrived and are not yet part of a step
  int64_t dropped = 0;  ///< records that the buffer's policy dropped since the stream began
};

/// A stream, since the loader was opened or last changed its position.
struct StreamStats {
  int64_t arrived = 0;      ///< records that arrived, on any rank
  int64_t trimmed = 0;      ///< records that the log had deleted before they were read
  int64_t missing = 0;      ///< records that were late, so that replayed ones replaced them
  int64_t from_ranks = 0;   ///< records of this rank's batches that another rank read and sent
  int64_t reread = 0;       ///< records that this rank read because the other rank sent none
  int64_t old_lent = 0;     ///< replayed records that their owner sent for a step of this rank
  int64_t old_reread = 0;   ///< replayed records read from the log because the owner sent none
  int64_t old_lost = 0;     ///< replayed records that were lost everywhere and were replaced
  int64_t reconnects = 0;   ///< connections that were opened again
  uint64_t bytes = 0;       ///< bytes of records in memory
  uint64_t disk_bytes = 0;  ///< bytes of records that were spilled to disk or are stored there
  std::vector<PartitionStats> partitions;
};

}  // namespace forebay
