#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/run/chunks.h"

namespace forebay {

/// One read of a chunk. While it exists, other runs wait for the chunk instead of reading it, too.
class Chunks::Arrival final : public Flight {
  const std::shared_ptr<void> alive_;  // keeps the run alive, so it is destroyed last
  Chunks& chunks_;

 public:
  Arrival(Chunks& chunks, std::shared_ptr<Chunk> of, const Chunk::Reading& reading, StoreLine& line)
      : Flight(line, reading.place.requests[reading.asked], Claim()), alive_(chunks.core_.alive()), chunks_(chunks),
        chunk(std::move(of)), piece(reading.asked), bytes(reading.claim), work_(chunks.at_work(*chunk)) {}

  const std::shared_ptr<Chunk> chunk;
  const size_t piece;
  std::shared_ptr<Claim> bytes;  ///< Chunk::Reading::claim, by which stale reads are recognized

 private:
  void landed(Result<Buffer> result) override { chunks_.on_read(*this, std::move(result)); }

  const std::unique_ptr<SharedChunks::Work> work_;  // other runs wait for its end
};

}  // namespace forebay
