#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sound/ogg_streams.h"
#include "sound/readers.h"

namespace forebay {
namespace {

// Before the stream itself: 0x7f, "FLAC", a version, a number of packets.
constexpr size_t kFlacMappingBytes = 9;

Result<std::unique_ptr<AudioReader>> open_ogg_stream(const OggStream& stream) {
  if (stream.codec != OggStream::Codec::kFlac) return open_sound_file(stream.range, "Ogg");
  // The concatenated packets are the contents of a FLAC file.
  std::vector<AudioBytes> pieces = stream.payloads;
  if (pieces.front()[0] == 0x7f) {
    if (pieces.front().size() < kFlacMappingBytes) return corrupt("Ogg FLAC: the first packet is too short");
    pieces.front() = pieces.front().subspan(kFlacMappingBytes);
  }
  return open_flac_pieces(std::move(pieces));
}

/// Reads the streams one after the other.
class OggReader final : public AudioReader {
 public:
  explicit OggReader(std::vector<OggStream> streams) : streams_(std::move(streams)) {}

  Status begin() {
    FOREBAY_ASSIGN(first_, open_ogg_stream(streams_.front()));
    info_ = first_->info();
    if (streams_.front().codec == OggStream::Codec::kFlac) info_.format = "Ogg FLAC";
    for (size_t i = 1; i < streams_.size(); ++i) {
      FOREBAY_ASSIGN(const auto reader, open_ogg_stream(streams_[i]));
      FOREBAY_RETURN_IF_ERROR(check_same(i, reader->info()));
      add(reader->info());
    }
    return {};
  }

 private:
  Status check_same(size_t stream, const AudioInfo& its) const {
    if (its.rate == info_.rate && its.channels == info_.channels) return {};
    return unsupported(
        fmt::format("the format changes at stream {} of {}: {} channels at {} Hz, after {} at {} Hz; cut it into "
                    "files of one format",
                    stream + 1, streams_.size(), its.channels, its.rate, info_.channels, info_.rate));
  }

  void add(const AudioInfo& next) {
    if (info_.frames && next.frames)
      *info_.frames += *next.frames;
    else
      info_.frames.reset();
    info_.working_bytes = std::max(info_.working_bytes, next.working_bytes);
  }

  Status read_frames(AudioSink& sink) override {
    FOREBAY_RETURN_IF_ERROR(first_->read(sink));
    first_.reset();
    for (size_t i = 1; i < streams_.size(); ++i) {
      FOREBAY_ASSIGN(const auto reader, open_ogg_stream(streams_[i]));
      FOREBAY_RETURN_IF_ERROR(reader->read(sink));
    }
    return {};
  }

  const std::vector<OggStream> streams_;
  std::unique_ptr<AudioReader> first_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_ogg(AudioBytes bytes) {
  FOREBAY_ASSIGN(std::vector<OggStream> streams, find_ogg_streams(bytes));
  auto reader = std::make_unique<OggReader>(std::move(streams));
  FOREBAY_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
