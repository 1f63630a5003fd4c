#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <FLAC/stream_decoder.h>
#include <fmt/format.h>

#include "codec/audio/readers.h"

namespace forebay {
namespace {

// A frame has at most so many samples a channel; the decoder keeps two numbers of four bytes of each, and we one.
constexpr uint64_t kLargestFlacBlock = 65536;
constexpr uint64_t kFlacBytesOfSample = 16;

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

class FlacReader final : public AudioReader {
 public:
  explicit FlacReader(AudioBytes bytes) : bytes_(bytes), decoder_(FLAC__stream_decoder_new()) {}

  Status begin() {
    if (!decoder_) return out_of_budget("the system has no memory left", 0);
    const auto status = FLAC__stream_decoder_init_stream(decoder_.get(), read_bytes, nullptr, nullptr, nullptr, nullptr,
                                                         write_frame, take_metadata, take_error, this);
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
    // Behind the last sample there may be tags, which are no frames.
    while (error_.ok() && !(info_.frames && given_ >= *info_.frames)) {
      if (FLAC__stream_decoder_process_single(decoder_.get()) == 0 && error_.ok())
        return corrupt(fmt::format("cannot be decoded behind sample {}", given_));
      if (FLAC__stream_decoder_get_state(decoder_.get()) == FLAC__STREAM_DECODER_END_OF_STREAM) break;
    }
    return error_;
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
    if (given_ == 0) return corrupt("the first frame has " + change + " in STREAMINFO");
    return unsupported(
        fmt::format("the format changes at sample {}: {}; cut it into files of one format", given_, change));
  }

  Status take_frame(const FLAC__Frame& frame, const FLAC__int32* const* samples) {
    FOREBAY_RETURN_IF_ERROR(check_frame(frame.header));
    const size_t count = frame.header.blocksize, channels = frame.header.channels;
    values_.resize(count * channels);
    // A power of two: up to 24 bits the product is exact, so that it is the same everywhere.
    const float scale = std::ldexp(1.0f, 1 - static_cast<int>(bits_));
    for (size_t c = 0; c < channels; ++c) {
      float* out = values_.data() + c;
      const FLAC__int32* const in = samples[c];
      for (size_t i = 0; i < count; ++i) out[i * channels] = static_cast<float>(in[i]) * scale;
    }
    given_ += static_cast<int64_t>(count);
    return sink_->frames(values_.data(), static_cast<int64_t>(count));
  }

  static FLAC__StreamDecoderReadStatus read_bytes(const FLAC__StreamDecoder*, FLAC__byte* out, size_t* size,
                                                  void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    *size = std::min(*size, reader.bytes_.size() - reader.place_);
    if (*size == 0) return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    std::memcpy(out, reader.bytes_.data() + reader.place_, *size);
    reader.place_ += *size;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
  }

  static FLAC__StreamDecoderWriteStatus write_frame(const FLAC__StreamDecoder*, const FLAC__Frame* frame,
                                                    const FLAC__int32* const samples[], void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    // Errors wait here until process_single() has returned: a callback can only say whether to go on.
    if (reader.error_.ok()) reader.error_ = reader.take_frame(*frame, samples);
    return reader.error_.ok() ? FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE : FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }

  static void take_metadata(const FLAC__StreamDecoder*, const FLAC__StreamMetadata* block, void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    if (block->type != FLAC__METADATA_TYPE_STREAMINFO) return;
    const FLAC__StreamMetadata_StreamInfo& said = block->data.stream_info;
    reader.info_.rate = said.sample_rate;
    reader.info_.channels = said.channels;
    // 0 says that the encoder did not know (RFC 9639, section 8.2).
    if (said.total_samples != 0) reader.info_.frames = static_cast<int64_t>(said.total_samples);
    reader.bits_ = said.bits_per_sample;
  }

  static void take_error(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus status, void* self) {
    auto& reader = *static_cast<FlacReader*>(self);
    if (!reader.error_.ok()) return;
    reader.error_ = corrupt(fmt::format("{} behind sample {}", flac_error_text(status), reader.given_));
  }

  AudioBytes bytes_;
  size_t place_ = 0;
  uint32_t bits_ = 0;  // 0: no STREAMINFO came yet
  int64_t given_ = 0;
  AudioSink* sink_ = nullptr;
  Status error_;
  std::vector<float> values_;
  std::unique_ptr<FLAC__StreamDecoder, DeleteFlacDecoder> decoder_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_flac(AudioBytes bytes) {
  auto reader = std::make_unique<FlacReader>(bytes);
  FOREBAY_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
