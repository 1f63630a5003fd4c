#pragma once

#include <cstdint>
#include <vector>

#include "plan/order.h"
#include "plan/systematic_draws.h"

namespace forebay {

/// The stretches of a line that lie in one chunk each. A chunk may have several. A line of samples
/// that are read one by one is one stretch. Immutable.
class LineSegments {
 public:
  /// `line`: as DrawnOptions::line.
  explicit LineSegments(const Order& line);

  bool in_chunks() const { return in_chunks_; }
  size_t size() const { return by_chunk_.size(); }
  /// The chunks of the line, ascending.
  const std::vector<int64_t>& chunks() const { return chunks_; }

  /// The draws of an epoch, numbered chunk by chunk instead of along the line.
  class Draws {
   public:
    Draws(const LineSegments& segments, const SystematicDraws& draws, int64_t epoch);
    /// Numbers of the draws of each chunk of the line.
    const std::vector<int64_t>& chunk_rows() const { return chunk_rows_; }
    int64_t draw_of(int64_t number) const;
    /// The number of a draw of this place of the line.
    int64_t number_of(int64_t draw, int64_t place) const;

   private:
    const LineSegments& segments_;
    // By chunk: the number, and the draw, with which each segment begins.
    std::vector<int64_t> numbers_, draws_;
    std::vector<int64_t> chunk_rows_;
  };

 private:
  struct Segment {
    int64_t begin = 0, end = 0;  // places
    size_t chunk = 0;            // index in chunks_
  };

  bool in_chunks_ = false;
  std::vector<int64_t> chunks_;
  std::vector<Segment> by_chunk_;  // in a chunk by place
  std::vector<int64_t> begins_;    // along the line
  std::vector<size_t> place_of_;   // along the line: index in by_chunk_
};

}  // namespace forebay
