#pragma once

#include <cstdint>

#include "codec/formats.h"

namespace forebay {

/// The JPEG markers that this project interprets.
enum class JpegMarker : uint8_t {
  kTem = 0x01,
  kSof0 = 0xC0,
  kSof1 = 0xC1,
  kSof2 = 0xC2,
  kSof3 = 0xC3,
  kDht = 0xC4,
  kJpgExtension = 0xC8,
  kSof9 = 0xC9,
  kSof10 = 0xCA,
  kSof11 = 0xCB,
  kDac = 0xCC,
  kSof15 = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kApp1 = 0xE1,
};

/// One marker and the payload of its segment (empty for markers that have none).
struct JpegSegment {
  JpegMarker marker = JpegMarker::kEoi;
  Bytes payload;
};

/// Iterates over the markers of a JPEG file as libjpeg does, skipping stray bytes before a marker.
/// It refers to the caller's bytes.
class JpegMarkers {
 public:
  /// `bytes` must begin with SOI.
  explicit JpegMarkers(Bytes bytes) : bytes_(bytes), position_(2) {}

  /// Corrupt if the file ends before the next marker or inside its segment.
  Result<JpegSegment> next();
  /// Call after SOS: skips the entropy-coded data up to the next marker that is not a restart.
  void skip_scan();
  size_t position() const { return position_; }

 private:
  Bytes bytes_;
  size_t position_;
};

/// Properties of the scans that decoding needs, found without decoding.
struct JpegScans {
  int count = 0;
  size_t first_data = 0;  ///< offset of the first scan's entropy-coded data
};

/// Corrupt if the end-of-image marker is missing after the first scan begins. If `several`, all
/// scans are counted.
Result<JpegScans> find_scans(Bytes bytes, bool several);

}  // namespace forebay
