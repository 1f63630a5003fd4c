#include "sound/mpeg_frames.h"

#include <algorithm>
#include <cstring>

#include "base/sniff.h"

namespace forebay {
namespace {

using MpegBytes = std::span<const uint8_t>;

// Kilobits per second by index (ISO 11172-3, table 2.4.2.3; the last two rows ISO 13818-3).
constexpr int kBitRates[5][15] = {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
                                  {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
                                  {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
                                  {0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
                                  {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}};
constexpr int kRates[3] = {44100, 48000, 32000};

// Version, layer and sampling rate, which are the same in all frames of a stream.
uint32_t stream_bits(MpegBytes header) { return uint32_t{header[1]} >> 1 << 8 | (header[2] & 0x0cu); }

size_t frame_bytes(bool mpeg1, int layer, int bit_rate, int rate, size_t padding) {
  if (layer == 1) return (static_cast<size_t>(12 * bit_rate * 1000 / rate) + padding) * 4;
  const int slots = layer == 3 && !mpeg1 ? 72 : 144;
  return static_cast<size_t>(slots * bit_rate * 1000 / rate) + padding;
}

uint32_t big_endian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

/// Size of the frame of the stream at `position`; 0 if none begins there.
size_t next_frame(MpegBytes bytes, size_t position, uint32_t stream) {
  const MpegBytes rest = bytes.subspan(position);
  const size_t size = mpeg_frame_bytes(rest);
  return size > 0 && stream_bits(rest) == stream ? size : 0;
}

/// True if two consecutive frames, or one that ends with the data, follow anywhere after
/// `position`.
bool frames_follow(MpegBytes bytes, size_t position, uint32_t stream) {
  for (; position + 4 <= bytes.size(); ++position) {
    if (bytes[position] != 0xff) continue;
    const size_t size = next_frame(bytes, position, stream);
    if (size == 0 || size > bytes.size() - position) continue;
    if (position + size == bytes.size() || next_frame(bytes, position + size, stream) != 0) return true;
  }
  return false;
}

}  // namespace

size_t mpeg_frame_bytes(MpegBytes header) {
  if (header.size() < 4 || header[0] != 0xff || (header[1] & 0xe0) != 0xe0) return 0;
  const int version = header[1] >> 3 & 3, layer = 4 - (header[1] >> 1 & 3), rate = header[2] >> 2 & 3;
  const size_t bit_rate = header[2] >> 4;
  if (version == 1 || layer == 4 || rate == 3 || bit_rate == 0 || bit_rate == 15) return 0;
  const bool mpeg1 = version == 3;
  const size_t table = static_cast<size_t>(mpeg1 ? layer - 1 : layer == 1 ? 3 : 4);
  // MPEG 2 halves the sampling rates, and MPEG 2.5 halves them again.
  return frame_bytes(mpeg1, layer, kBitRates[table][bit_rate],
                     kRates[rate] >> (mpeg1          ? 0
                                      : version == 2 ? 1
                                                     : 2),
                     header[2] >> 1 & 1);
}

MpegRun find_mpeg_frames(MpegBytes bytes) {
  MpegRun run;
  while (const size_t tag = id3_bytes(bytes.subspan(run.begin))) run.begin += tag;
  run.end = run.begin;
  if (mpeg_frame_bytes(bytes.subspan(run.begin)) == 0) return run;
  const uint32_t stream = stream_bits(bytes.subspan(run.begin));
  while (const size_t size = next_frame(bytes, run.end, stream)) {
    run.cut = size > bytes.size() - run.end;
    if (run.cut) return run;
    run.end += size;
    ++run.frames;
  }
  run.resumed = frames_follow(bytes, run.end, stream);
  return run;
}

MpegTotals read_mpeg_totals(MpegBytes frame) {
  constexpr size_t kVbri = 36;
  if (frame.size() >= kVbri + 18 && std::memcmp(frame.data() + kVbri, "VBRI", 4) == 0)
    return {big_endian(&frame[kVbri + 14]), big_endian(&frame[kVbri + 10])};
  if (frame.size() < 4) return {};
  const bool mpeg1 = (frame[1] >> 3 & 3) == 3, mono = frame[3] >> 6 == 3;
  // After the frame's header and its side information, whose size depends on version and channels
  // (ISO 11172-3, 13818-3).
  const size_t tag = 4 + (mpeg1 ? (mono ? 17u : 32u) : (mono ? 9u : 17u));
  if (frame.size() < tag + 16) return {};
  const uint8_t* at = frame.data() + tag;
  if (std::memcmp(at, "Xing", 4) != 0 && std::memcmp(at, "Info", 4) != 0) return {};
  // The lowest flag bits tell whether the number of frames and the number of bytes follow.
  const bool frames = (at[7] & 1) != 0, bytes = (at[7] & 2) != 0;
  return {frames ? big_endian(at + 8) : 0, bytes ? big_endian(at + (frames ? 12 : 8)) : 0};
}

}  // namespace forebay
