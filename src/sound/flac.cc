#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <FLAC/stream_decoder.h>
#include <fmt/format.h>

#include "sound/readers.h"
#include "sound/tags.h"

namespace forebay {
namespace {

// Maximum number of samples per channel in a frame. The decoder holds two four-byte numbers for
// each, and this reader one.
constexpr uint64_t kLargestFlacBlock = 65536;
constexpr uint64_t kFlacBytesOfSample = 16;
constexpr size_t kFlacRestBytes = 1 << 16;  // bytes examined after the last frame

std::string_view flac_error_text(FLAC__StreamDecoderErrorStatus status) {
  switch (status) {
    case FLAC__STREAM_DECODER_ERROR_STATUS_LOST_SYNC: return "bytes that are no frame";
    case FLAC__STREAM_DECODER_ERROR_STATUS_BAD_HEADER: return "a damaged frame header";
    case FLAC__STREAM_DECODER_ERROR_STATUS_FRAME_CRC_MISMATCH: return "a frame whose checksum does not fit";
    default: return "a frame that cannot be decoded";
  }
}

struct DeleteFlacDecoder {
  void operator()(FLAC__StreamDecoder* decoder) const { FLAC__stream_decoder_delete(decoder); }
};

/// A sequence of bytes in several pieces.
class Pieces {
 public:
  explicit Pieces(std::vector<AudioBytes> pieces) : pieces_(std::move(pieces)) {
    for (const AudioBytes piece : pieces_) size_ += piece.size();
  }

  uint64_t size() const { return size_; }
  uint64_t taken() const { return taken_; }
  /// Copies the next bytes, at most as many as are left.
  size_t take(uint8_t* out, size_t size) {
    size_t given = 0;
    while (given < size && piece_ < pieces_.size()) {
      const AudioBytes rest = pieces_[piece_].subspan(position_);
      const size_t now = std::min(size - given, rest.size());
      std::copy_n(rest.data(), now, out + given);
      given += now;
      position_ += now;
      if (now == rest.size()) ++piece_, position_ = 0;
    }
    taken_ += given;
    return given;
  }
  /// Returns up to `most` bytes from `position` on.
  std::vector<uint8_t> from(uint64_t position, size_t most) const {
    std::vector<uint8_t> bytes;
    for (const AudioBytes piece : pieces_) {
      const uint64_t before = std::min<uint64_t>(position, piece.size());
      const AudioBytes rest = piece.subspan(before);
      bytes.insert(bytes.end(), rest.begin(), rest.begin() + std::min(most - bytes.size(), rest.size()));
      position -= before;
    }
    return bytes;
  }

 private:
  std::vector<AudioBytes> pieces_;
  uint64_t size_ = 0, taken_ = 0;
  size_t piece_ = 0, position_ = 0;
};

bool begins_with(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

class FlacReader final : public AudioReader {
 public:
  explicit FlacReader(std::vector<AudioBytes> pieces)
      : bytes_(std::move(pieces)), decoder_(FLAC__stream_decoder_new()) {}

  Status begin() {
    if (!decoder_) return out_of_budget("the system has no memory left", 0);
    const auto status = FLAC__stream_decoder_init_stream(decoder_.get(), read_bytes, nullptr, tell_position, nullptr,
                                                         nullptr, write_frame, take_metadata, take_error, this);
    if (status != FLAC__STREAM_DECODER_INIT_STATUS_OK) return internal_error("the FLAC decoder does not start");
    const bool read = FLAC__stream_decoder_process_until_end_of_metadata(decoder_.get()) != 0;
    if (!error_.ok()) return error_;
    if (!read || bits_ == 0) return corrupt("no STREAMINFO block");
    return check_header();
  }

 private:
  Status check_header() {
    if (info_.rate == 0) return corrupt("STREAMINFO says 0 samples a second");
    info_.format = "FLAC";
    info_.working_bytes =
        (uint64_t{1} << 18) + kLargestFlacBlock * kFlacBytesOfSample * static_cast<uint64_t>(info_.channels);
    return {};
  }

  Status read_frames(AudioSink& sink) override {
    sink_ = &sink;
    note_position();
    // After the last sample there may be tags, which are not frames.
    while (error_.ok() && !(info_.frames && delivered_ >= *info_.frames)) {
      const int64_t before = delivered_;
      if (FLAC__stream_decoder_process_single(decoder_.get()) == 0 && error_.ok())
        error_ = corrupt(fmt::format("cannot be decoded behind sample {}", delivered_));
      if (FLAC__stream_decoder_get_state(decoder_.get()) == FLAC__STREAM_DECODER_END_OF_STREAM) break;
      if (delivered_ > before) note_position();
    }
    return check_rest();
  }

  void note_position() {
    if (FLAC__stream_decoder_get_decode_position(decoder_.get(), &frames_end_) == 0) frames_end_ = bytes_.size();
  }

  /// Checks the bytes after the last whole frame.
  Status check_rest() const {
    const std::vector<uint8_t> rest = bytes_.from(frames_end_, kFlacRestBytes);
    if (begins_with(rest, "fLaC")) {
      return unsupported(
          fmt::format("a second FLAC stream begins at byte {}; cut it into files of one stream", frames_end_));
    }
    const bool zeros = std::ranges::all_of(rest, [](uint8_t byte) { return byte == 0; });
    if (zeros && (error_.ok() || !info_.frames)) return {};
    if (!error_.ok()) return error_;
    // The sync code, followed by two bits that are 0 and 1 in all frames (RFC 9639, section 9.1).
    if (info_.frames && delivered_ >= *info_.frames && rest.size() > 1 && rest[0] == 0xff && (rest[1] & 0xfe) == 0xf8)
      return corrupt(fmt::format("the header says {} samples a channel, and there are more", *info_.frames));
    if (!info_.frames) return corrupt(fmt::format("ends inside a frame, behind sample {}", delivered_));
    return {};
  }

  Status check_frame(const FLAC__FrameHeader& header) const {
    std::string change;
    const auto compare = [&](std::string_view what, int64_t said, int64_t has) {
      if (said != has && change.empty()) change = fmt::format("{} {}, after {}", has, what, said);
    };
    compare("channels", info_.channels, header.channels);
    compare("samples a second", info_.rate, header.sample_rate);
    compare("bits a sample", bits_, header.bits_per_sample);
    if (change.empty()) return {};
    if (delivered_ == 0) return corrupt("the first frame has " + change + " in STREAMINFO");
    return unsupported(
        fmt::format("the format changes at sample {}: {}; cut it into files of one format", delivered_, change));
  }

  Status take_frame(const FLAC__Frame& frame, const FLAC__int32* const* samples) {
    FOREBAY_RETURN_IF_ERROR(check_frame(frame.header));
    const size_t count = frame.header.blocksize, channels = frame.header.channels;
    values_.resize(count * channels);
    // A power of two: up to 24 bits the product is exact, so it is the same on every processor.
    const float scale = std::ldexp(1.0f, 1 - static_cast<int>(bits_));
    for (size_t c = 0; c < channels; ++c) {
      float* out = values_.data() + c;
      const FLAC__int32* const in = samples[c];
      for (size_t i = 0; i < count; ++i) out[i * channels] = static_cast<float>(in[i]) * scale;
    }
    delivered_ += static_cast<int64_t>(count);
    return sink_->frames(values_.data(), static_cast<int64_t>(count));
  }

  static FLAC__StreamDecoderReadStatus read_bytes(const FLAC__StreamDecoder*, FLAC__byte* out, size_t* size,
                                                  void* self) {
    *size = static_cast<FlacReader*>(self)->bytes_.take(out, *size);
    return *size == 0 ? FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM : FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
  }

  static FLAC__StreamDecoderTellStatus tell_position(const FLAC__StreamDecoder*, FLAC__uint64* position, void* self) {
    *position = static_cast<FlacReader*>(self)->bytes_.taken();
    return FLAC__STREAM_DECODER_TELL_STATUS_OK;
  }

  static FLAC__StreamDecoderWriteStatus write_frame(const FLAC__StreamDecoder*, const FLAC__Frame* frame,
                                                    const FLAC__int32* const samples[], void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    // Errors are stored until process_single() has returned, because a callback can only say
    // whether to continue.
    if (reader.error_.ok()) reader.error_ = reader.take_frame(*frame, samples);
    return reader.error_.ok() ? FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE : FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }

  static void take_metadata(const FLAC__StreamDecoder*, const FLAC__StreamMetadata* block, void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    if (block->type != FLAC__METADATA_TYPE_STREAMINFO) return;
    const FLAC__StreamMetadata_StreamInfo& said = block->data.stream_info;
    reader.info_.rate = said.sample_rate;
    reader.info_.channels = said.channels;
    // 0 means that the encoder did not know (RFC 9639, section 8.2).
    if (said.total_samples != 0) reader.info_.frames = static_cast<int64_t>(said.total_samples);
    reader.bits_ = said.bits_per_sample;
  }

  static void take_error(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus status, void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    if (!reader.error_.ok()) return;
    reader.error_ = corrupt(fmt::format("{} behind sample {}", flac_error_text(status), reader.delivered_));
  }

  Pieces bytes_;
  uint64_t frames_end_ = 0;  // end of the last whole frame
  uint32_t bits_ = 0;        // 0 until STREAMINFO was read
  int64_t delivered_ = 0;
  AudioSink* sink_ = nullptr;
  Status error_;
  std::vector<float> values_;
  std::unique_ptr<FLAC__StreamDecoder, DeleteFlacDecoder> decoder_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_flac(AudioBytes bytes) {
  return open_flac_pieces({bytes.first(bytes.size() - tail_tag_bytes(bytes))});
}

Result<std::unique_ptr<AudioReader>> open_flac_pieces(std::vector<AudioBytes> pieces) {
  auto reader = std::make_unique<FlacReader>(std::move(pieces));
  FOREBAY_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
