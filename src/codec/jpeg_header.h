#pragma once

#include <cstdint>

#include "codec/formats.h"

namespace forebay {

/// The JPEG markers that are looked at here.
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

/// Walks the markers of a JPEG file, finding each the way libjpeg does (stray bytes before a marker are passed over).
class JpegMarkers {
 public:
  /// `bytes` begins with SOI.
  explicit JpegMarkers(Bytes bytes) : bytes_(bytes), position_(2) {}

  /// Corrupt where the file ends before the next marker or inside its segment.
  Result<JpegSegment> next();
  /// After SOS: passes over the entropy-coded data, to the next marker that is not a restart.
  void skip_scan();
  size_t position() const { return position_; }

 private:
  Bytes bytes_;
  size_t position_;
};

/// What decoding needs to know of the scans; found without decoding.
struct JpegScans {
  int count = 0;
  size_t first_data = 0;  ///< offset of the first scan's entropy-coded data
};

/// Corrupt where the end-of-image marker is missing after the first scan begins; for files of several scans all are counted.
Result<JpegScans> find_scans(Bytes bytes, bool several);

}  // namespace forebay
