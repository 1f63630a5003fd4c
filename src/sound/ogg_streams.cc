#include "sound/ogg_streams.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace forebay {
namespace {

using OggBytes = std::span<const uint8_t>;

// RFC 3533, section 6.
constexpr size_t kPageHeaderBytes = 27, kSerialAt = 14, kSequenceAt = 18, kChecksumAt = 22, kSegmentsAt = 26;
constexpr uint8_t kFirstPage = 2, kLastPage = 4;

uint32_t little_endian(const uint8_t* at) {
  return uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

constexpr std::array<uint32_t, 256> kChecksumTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i << 24;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x80000000u) != 0 ? value << 1 ^ 0x04c11db7u : value << 1;
    table[i] = value;
  }
  return table;
}();

uint32_t add_to_checksum(uint32_t value, OggBytes bytes) {
  for (const uint8_t byte : bytes) value = value << 8 ^ kChecksumTable[value >> 24 ^ byte];
  return value;
}

struct OggPage {
  OggBytes whole, payload;
  uint32_t serial = 0, sequence = 0;
  bool first = false, last = false;
};

bool checksum_matches(OggBytes page) {
  constexpr std::array<uint8_t, 4> kZeros{};  // replace the checksum while it is computed
  uint32_t value = add_to_checksum(0, page.first(kChecksumAt));
  value = add_to_checksum(add_to_checksum(value, kZeros), page.subspan(kChecksumAt + 4));
  return value == little_endian(&page[kChecksumAt]);
}

Status page_error(size_t position, std::string_view what) {
  return corrupt(fmt::format("Ogg: at byte {}: {}", position, what));
}

/// The page at `position`; nullopt if no page begins there.
Result<std::optional<OggPage>> page_at(OggBytes bytes, size_t position) {
  const OggBytes rest = bytes.subspan(position);
  if (rest.size() < 4 || std::memcmp(rest.data(), "OggS", 4) != 0) return std::optional<OggPage>();
  constexpr std::string_view kCut = "the file ends inside a page: it was cut off";
  if (rest.size() < kPageHeaderBytes || rest.size() < kPageHeaderBytes + rest[kSegmentsAt])
    return page_error(position, kCut);
  const size_t segments = rest[kSegmentsAt], header = kPageHeaderBytes + segments;
  const OggBytes lengths = rest.subspan(kPageHeaderBytes, segments);
  const size_t size = header + std::accumulate(lengths.begin(), lengths.end(), size_t{0});
  if (size > rest.size()) return page_error(position, kCut);
  if (!checksum_matches(rest.first(size))) return page_error(position, "a page whose checksum does not fit");
  return std::optional(OggPage{rest.first(size), rest.subspan(header, size - header), little_endian(&rest[kSerialAt]),
                               little_endian(&rest[kSequenceAt]), (rest[5] & kFirstPage) != 0,
                               (rest[5] & kLastPage) != 0});
}

struct OggCodec {
  std::string_view begins, name;
  std::optional<OggStream::Codec> read = {};
  bool sound = true;
};
constexpr OggCodec kCodecs[] = {{"\x01vorbis", "Vorbis", OggStream::Codec::kVorbis},
                                {"OpusHead", "Opus", OggStream::Codec::kOpus},
                                {"\x7f"
                                 "FLAC",
                                 "FLAC", OggStream::Codec::kFlac},
                                // Before the mapping was specified.
                                {"fLaC", "FLAC", OggStream::Codec::kFlac},
                                {"Speex   ", "Speex"},
                                {"CELT    ", "CELT"},
                                {"PCM     ", "PCM"},
                                {"\x80theora", "Theora", {}, false},
                                {"fishead", "Skeleton", {}, false},
                                {"CMML", "CMML", {}, false},
                                {"BBCD", "Dirac", {}, false},
                                {"\x80kate", "Kate", {}, false},
                                {"\x01video", "OGM video", {}, false}};

const OggCodec* codec_of(OggBytes packet) {
  for (const OggCodec& codec : kCodecs) {
    if (packet.size() >= codec.begins.size() &&
        std::memcmp(packet.data(), codec.begins.data(), codec.begins.size()) == 0)
      return &codec;
  }
  return nullptr;
}

/// Assembles pages into streams.
class OggFile {
 public:
  explicit OggFile(OggBytes bytes) : bytes_(bytes) {}

  Result<std::vector<OggStream>> find() {
    while (position_ < bytes_.size()) {
      FOREBAY_ASSIGN(const std::optional<OggPage> page, page_at(bytes_, position_));
      if (!page) {
        FOREBAY_RETURN_IF_ERROR(check_rest());
        break;
      }
      FOREBAY_RETURN_IF_ERROR(page->first ? begin_stream(*page) : take_page(*page));
      position_ += page->whole.size();
    }
    for (const Open& open : open_) {
      if (open.sound()) return page_error(bytes_.size(), kNoLastPage);
    }
    if (!streams_.empty()) return finish();
    if (other_.empty()) return corrupt("Ogg: no stream begins in the file");
    return unsupported(fmt::format("Ogg with {} is not read; Ogg with Vorbis, Opus or FLAC is", other_));
  }

 private:
  static constexpr std::string_view kNoLastPage =
      "the file ends before the last page of its stream, which is marked: it was cut off";

  struct Open {
    uint32_t serial = 0, sequence = 0;
    std::optional<size_t> stream;  ///< index in streams_; nullopt if it is not audio
    bool continued = false;        ///< a page after the first one was found
    bool sound() const { return stream.has_value(); }
  };

  Status begin_stream(const OggPage& page) {
    const OggCodec* const codec = codec_of(page.payload);
    if (codec == nullptr || !codec->read) {
      if (other_.empty()) other_ = codec == nullptr ? "an unknown codec" : codec->name;
      // An unreadable audio stream next to a readable one must not be lost.
      if (codec != nullptr && codec->sound)
        return unsupported(fmt::format("Ogg with {} is not read; Ogg with Vorbis, Opus or FLAC is", codec->name));
      open_.push_back({page.serial, page.sequence, std::nullopt, false});
      return {};
    }
    for (const Open& open : open_) {
      if (!open.sound()) continue;
      if (open.continued)
        return page_error(position_,
                          "a stream begins before the last page of the one before, which is marked: pages are missing");
      return unsupported(fmt::format(
          "Ogg with several streams of sound side by side, the second at byte {}; write each to a file of its own",
          position_));
    }
    streams_.push_back({*codec->read, bytes_.subspan(position_), {page.payload}});
    open_.push_back({page.serial, page.sequence, streams_.size() - 1, false});
    if (page.last) open_.pop_back();
    return {};
  }

  Status take_page(const OggPage& page) {
    const auto open = std::ranges::find(open_, page.serial, &Open::serial);
    if (open == open_.end()) return page_error(position_, "a page of a stream that has not begun, or has ended");
    if (open->sound()) {
      if (page.sequence != open->sequence + 1)
        return page_error(position_, fmt::format("page {} follows page {} of its stream: pages are missing",
                                                 page.sequence, open->sequence));
      streams_[*open->stream].payloads.push_back(page.payload);
    }
    open->sequence = page.sequence;
    open->continued = true;
    if (page.last) open_.erase(open);
    return {};
  }

  /// After the last page there may be tags or padding, but no part of a page.
  Status check_rest() const {
    const OggBytes rest = bytes_.subspan(position_);
    if (position_ == 0) return corrupt("Ogg: no page begins the file");
    const auto open = std::ranges::find_if(open_, &Open::sound);
    if (open != open_.end()) return page_error(position_, "bytes that are no page, before the last page of the stream");
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    if (text.find("OggS") != std::string_view::npos)
      return page_error(position_, "bytes that are no page, and then pages");
    if (rest.size() < 4 && std::string_view("OggS").starts_with(text))
      return page_error(position_, "the file ends inside a page: it was cut off");
    return {};
  }

  std::vector<OggStream> finish() {
    for (size_t i = 0; i < streams_.size(); ++i) {
      OggBytes& range = streams_[i].range;
      const uint8_t* const end = i + 1 < streams_.size() ? streams_[i + 1].range.data() : bytes_.data() + position_;
      range = range.first(static_cast<size_t>(end - range.data()));
    }
    return std::move(streams_);
  }

  OggBytes bytes_;
  size_t position_ = 0;
  std::vector<OggStream> streams_;
  std::vector<Open> open_;
  std::string_view other_;  // codec of the first unreadable stream
};

}  // namespace

Result<std::vector<OggStream>> find_ogg_streams(OggBytes bytes) { return OggFile(bytes).find(); }

}  // namespace forebay
