#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/run/chunks.h"

namespace forebay {

/// One of a chunk's reads. While it lives, others wait for the chunk instead of reading it as well.
class Chunks::Arrival final : public Flight {
  const std::shared_ptr<void> alive_;  // goes last
  Chunks& chunks_;

 public:
  Arrival(Chunks& chunks, std::shared_ptr<Chunk> of, const Chunk::Reading& reading, StoreLine& line)
      : Flight(line, reading.place.requests[reading.asked], Claim()), alive_(chunks.core_.alive()), chunks_(chunks),
        chunk(std::move(of)), piece(reading.asked), bytes(reading.claim), work_(chunks.at_work(*chunk)) {}

  const std::shared_ptr<Chunk> chunk;
  const size_t piece;
  std::shared_ptr<Claim> bytes;  ///< Chunk::Reading::claim; the chunk may have another one by now

 private:
  void landed(Result<Buffer> result) override { chunks_.on_read(*this, std::move(result)); }

  const std::unique_ptr<SharedChunks::Work> work_;  // ends when decoding has begun, or waits for its turn
};

}  // namespace forebay
