#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Size of the MPEG audio frame (layers I to III) that begins with `header`, including the header.
/// 0 if it is not a frame header, or does not state the bit rate ("free format").
size_t mpeg_frame_bytes(std::span<const uint8_t> header);

/// A run of consecutive frames.
struct MpegRun {
  size_t begin = 0;      ///< start of the first frame, after ID3v2 tags
  size_t end = 0;        ///< end of the last whole frame
  int64_t frames = 0;    ///< number of whole frames
  bool cut = false;      ///< the data ends inside a frame
  bool resumed = false;  ///< after `end` come bytes that are not a frame, and then frames again
};
/// Finds the frames in `bytes`, which must not include tags at the end. Returns no frames if none
/// begins where expected, or if their lengths are not known.
MpegRun find_mpeg_frames(std::span<const uint8_t> bytes);

/// Totals that an encoder's tag in the first frame (Xing, Info or VBRI) states for the whole file;
/// 0 if not stated.
struct MpegTotals {
  int64_t frames = 0;
  uint64_t bytes = 0;  ///< counted from the first frame
};
MpegTotals read_mpeg_totals(std::span<const uint8_t> frame);

}  // namespace forebay
