#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// Bytes of the MPEG audio frame (layers I to III) that a header begins, the header included. 0 where it is no such header, or where
/// it does not say the bit rate ("free format").
size_t mpeg_frame_bytes(std::span<const uint8_t> header);

/// Frames that follow each other, as their headers say.
struct MpegRun {
  size_t begin = 0;      ///< of the first frame, behind ID3v2 tags
  size_t end = 0;        ///< behind the last whole frame
  int64_t frames = 0;    ///< whole ones
  bool cut = false;      ///< the data ends inside a frame
  bool resumed = false;  ///< bytes that are no frame follow `end`, and then frames again
};
/// `bytes` without tags at the end. No frames: none begins where one should, or their lengths are not known.
MpegRun find_mpeg_frames(std::span<const uint8_t> bytes);

/// What a tag of the encoder in the first frame (Xing, Info or VBRI) says of the whole file; 0: nothing.
struct AnnouncedMpeg {
  int64_t frames = 0;
  uint64_t bytes = 0;  ///< from the first frame on
};
AnnouncedMpeg announced_mpeg(std::span<const uint8_t> frame);

}  // namespace forebay
