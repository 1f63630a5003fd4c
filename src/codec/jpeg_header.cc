#include "codec/jpeg_header.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "codec/exif.h"

namespace forebay {
namespace {

Status ends_early(std::string_view where) { return corrupt(fmt::format("JPEG ends early, {}", where)); }

bool stands_alone(JpegMarker marker) {
  return marker == JpegMarker::kTem || (marker >= JpegMarker::kRst0 && marker <= JpegMarker::kEoi);
}

constexpr uint64_t kUnknownFileBytes = uint64_t{1} << 60;

bool is_frame(JpegMarker marker) {
  return marker >= JpegMarker::kSof0 && marker <= JpegMarker::kSof15 && marker != JpegMarker::kDht &&
         marker != JpegMarker::kJpgExtension && marker != JpegMarker::kDac;
}

bool starts_with(Bytes payload, std::string_view text) {
  return payload.size() >= text.size() && std::memcmp(payload.data(), text.data(), text.size()) == 0;
}

void read_app1(Bytes payload, OrientationFinder& finder) {
  using namespace std::string_view_literals;
  constexpr std::string_view kExif = "Exif\0\0"sv, kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
  if (starts_with(payload, kExif)) finder.add_exif(payload.subspan(kExif.size()));
  if (starts_with(payload, kXmp)) finder.add_xmp(payload.subspan(kXmp.size()));
}

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Memory of all coefficients in libjpeg: two bytes per sample, each component padded to whole
/// MCUs.
Result<uint64_t> coefficient_bytes(const ImageInfo& info, Bytes components) {
  uint64_t max_h = 1, max_v = 1;
  for (int i = 0; i < info.components; ++i) {
    const uint64_t h = components[3 * i + 1] >> 4, v = components[3 * i + 1] & 15;
    if (h < 1 || h > 4 || v < 1 || v > 4) return corrupt("JPEG sampling factors are not 1 to 4");
    max_h = std::max(max_h, h);
    max_v = std::max(max_v, v);
  }
  const auto width = static_cast<uint64_t>(info.stored_width), height = static_cast<uint64_t>(info.stored_height);
  uint64_t blocks = 0;
  for (int i = 0; i < info.components; ++i) {
    const uint64_t h = components[3 * i + 1] >> 4, v = components[3 * i + 1] & 15;
    blocks += divide_up(width, 8 * max_h) * h * divide_up(height, 8 * max_v) * v;
  }
  return blocks * 64 * 2;
}

Result<ImageInfo> read_frame(const JpegSegment& segment) {
  const Bytes data = segment.payload;
  switch (segment.marker) {
    case JpegMarker::kSof0:
    case JpegMarker::kSof1:
    case JpegMarker::kSof2:
    case JpegMarker::kSof3:
    case JpegMarker::kSof9:
    case JpegMarker::kSof10: break;
    default:
      return unsupported(fmt::format(
          "JPEG of kind SOF{} ({}), which no libjpeg decodes; save it again as PNG",
          static_cast<int>(segment.marker) - static_cast<int>(JpegMarker::kSof0),
          segment.marker == JpegMarker::kSof11 ? "lossless with arithmetic coding" : "hierarchical or differential"));
  }
  if (data.size() < 6) return corrupt("JPEG frame header is too short");
  ImageInfo info;
  info.format = ImageFormat::kJpeg;
  info.bits = data[0];
  info.stored_height = data[1] << 8 | data[2];
  info.stored_width = data[3] << 8 | data[4];
  info.components = data[5];
  info.lossless = segment.marker == JpegMarker::kSof3;
  info.progressive = segment.marker == JpegMarker::kSof2 || segment.marker == JpegMarker::kSof10;
  if (info.bits != 8) return unsupported(fmt::format("JPEG of {} bits a sample; 8 are decoded", info.bits));
  if (info.components != 1 && info.components != 3 && info.components != 4) {
    return unsupported(fmt::format("JPEG of {} components; 1, 3 and 4 are decoded", info.components));
  }
  if (info.stored_width == 0 || info.stored_height == 0) return corrupt("JPEG of no pixels");
  if (data.size() != 6 + 3 * static_cast<size_t>(info.components))
    return corrupt("JPEG frame header has a wrong length");
  FOREBAY_ASSIGN(info.frame_bytes, coefficient_bytes(info, data.subspan(6)));
  return info;
}

/// Without progression and arithmetic coding a block takes at least two bits, and a lossless sample
/// one, so a file that is shorter is incomplete.
Status check_data_size(const ImageInfo& info, JpegMarker frame, uint64_t file_bytes) {
  constexpr uint64_t kBlockBytes = 64 * 2, kMinBits = 2;
  if (frame != JpegMarker::kSof0 && frame != JpegMarker::kSof1 && !info.lossless) return {};
  const uint64_t bits =
      info.lossless ? static_cast<uint64_t>(info.pixels()) : info.frame_bytes / kBlockBytes * kMinBits;
  if (bits <= file_bytes * 8) return {};
  return corrupt(fmt::format("JPEG of {} × {} pixels in {} bytes: the data cannot be there", info.stored_width,
                             info.stored_height, file_bytes));
}

bool has_end_marker(Bytes bytes, size_t from) {
  // Searched from the end, where it usually is. Data that some writers append is ignored.
  for (size_t i = bytes.size(); i >= from + 2; --i) {
    if (bytes[i - 1] == 0xD9 && bytes[i - 2] == 0xFF) return true;
  }
  return false;
}

}  // namespace

Result<JpegSegment> JpegMarkers::next() {
  const uint8_t* const begin = bytes_.data();
  const void* found =
      position_ < bytes_.size() ? std::memchr(begin + position_, 0xFF, bytes_.size() - position_) : nullptr;
  while (found != nullptr) {
    position_ = static_cast<size_t>(static_cast<const uint8_t*>(found) - begin);
    while (position_ < bytes_.size() && bytes_[position_] == 0xFF) ++position_;
    if (position_ >= bytes_.size()) break;
    if (bytes_[position_] != 0) {
      const auto marker = static_cast<JpegMarker>(bytes_[position_++]);
      if (stands_alone(marker)) return JpegSegment{marker, {}};
      if (bytes_.size() - position_ < 2) return ends_early("inside a marker");
      // The length includes itself (T.81, section B.1.1.4).
      const size_t length = static_cast<size_t>(bytes_[position_]) << 8 | bytes_[position_ + 1];
      if (length < 2) return corrupt("JPEG segment shorter than its own length field");
      if (bytes_.size() - position_ < length) return ends_early("inside a segment");
      const Bytes payload = bytes_.subspan(position_ + 2, length - 2);
      position_ += length;
      return JpegSegment{marker, payload};
    }
    found = std::memchr(begin + position_, 0xFF, bytes_.size() - position_);
  }
  return ends_early("no end-of-image marker");
}

void JpegMarkers::skip_scan() {
  while (position_ < bytes_.size()) {
    const void* found = std::memchr(bytes_.data() + position_, 0xFF, bytes_.size() - position_);
    if (found == nullptr) break;
    position_ = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes_.data());
    if (position_ + 1 >= bytes_.size()) break;
    const uint8_t code = bytes_[position_ + 1];
    // 0xFF 0x00 is a data byte 0xFF; 0xFF before a marker is padding (T.81, sections B.1.1.5 and
    // B.1.1.2).
    const bool data = code == 0 || (code >= static_cast<uint8_t>(JpegMarker::kRst0) &&
                                    code <= static_cast<uint8_t>(JpegMarker::kRst7));
    if (!data && code != 0xFF) return;
    position_ += data ? 2 : 1;
  }
  position_ = bytes_.size();
}

Result<JpegScans> find_scans(Bytes bytes, bool several) {
  JpegMarkers markers(bytes);
  JpegScans scans;
  for (;;) {
    FOREBAY_ASSIGN(const JpegSegment segment, markers.next());
    if (segment.marker == JpegMarker::kEoi) {
      if (scans.count == 0) return corrupt("JPEG holds no picture");
      return scans;
    }
    if (segment.marker != JpegMarker::kSos) continue;
    if (scans.count++ == 0) scans.first_data = markers.position();
    if (!several) {
      if (!has_end_marker(bytes, markers.position())) return ends_early("no end-of-image marker");
      return scans;
    }
    markers.skip_scan();
  }
}

namespace {

/// `file_bytes`: size of the file that begins with `bytes`.
Result<ImageInfo> read_header(Bytes bytes, uint64_t file_bytes) {
  JpegMarkers markers(bytes);
  OrientationFinder finder;
  std::optional<ImageInfo> info;
  std::optional<JpegMarker> frame_marker;
  for (;;) {
    FOREBAY_ASSIGN(const JpegSegment segment, markers.next());
    if (segment.marker == JpegMarker::kEoi) return corrupt("JPEG holds no picture");
    if (segment.marker == JpegMarker::kApp1) read_app1(segment.payload, finder);
    if (is_frame(segment.marker)) {
      if (info) return corrupt("JPEG has two frame headers");
      FOREBAY_ASSIGN(info, read_frame(segment));
      frame_marker = segment.marker;
    }
    if (segment.marker != JpegMarker::kSos) continue;
    if (!info || segment.payload.empty()) return corrupt("JPEG scan without a frame header");
    info->orientation = finder.orientation();
    FOREBAY_RETURN_IF_ERROR(check_data_size(*info, *frame_marker, file_bytes));
    // One scan with all components is decoded row by row. Otherwise all coefficients are held in
    // memory.
    if (!info->progressive && segment.payload[0] == info->components) info->frame_bytes = 0;
    return *info;
  }
}

}  // namespace

Result<ImageInfo> probe_jpeg(Bytes bytes) { return read_header(bytes, bytes.size()); }

std::optional<ImageHead> probe_jpeg_head(Bytes head) {
  const Result<ImageInfo> info = read_header(head, kUnknownFileBytes);
  if (!info.ok()) return std::nullopt;
  return ImageHead{info->stored_width, info->stored_height, info->orientation};
}

}  // namespace forebay
