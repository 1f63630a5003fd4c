#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <mpg123.h>

#include "sound/mpeg_frames.h"
#include "sound/readers.h"
#include "sound/tags.h"

namespace forebay {
namespace {

constexpr int64_t kMp3Block = 4608;             // frames delivered at a time
constexpr uint64_t kMp3WorkingBytes = 1 << 19;  // a decoder's state, buffer and index

// By default the library takes the fastest decoder for the processor, and their results differ in
// the last bits. The decoders named here run on every processor of their architecture.
mpg123_handle* new_mp3_decoder() {
  // Once per process. Later versions do not need it, and earlier ones do not allow two threads to
  // do it.
  static const int started = mpg123_init();
  if (started != MPG123_OK) return nullptr;
  for (const char* name : {kMp3Decoder, "generic"}) {
    if (mpg123_handle* handle = mpg123_new(name, nullptr)) return handle;
  }
  return nullptr;
}

struct DeleteMp3Decoder {
  void operator()(mpg123_handle* handle) const { mpg123_delete(handle); }
};

struct ByteCursor {
  AudioBytes bytes;
  size_t position = 0;

  static ssize_t read(void* self, void* out, size_t size) {
    auto& cursor = *static_cast<ByteCursor*>(self);
    size = std::min(size, cursor.bytes.size() - cursor.position);
    if (size > 0) std::memcpy(out, cursor.bytes.data() + cursor.position, size);
    cursor.position += size;
    return static_cast<ssize_t>(size);
  }
  static off_t seek(void* self, off_t offset, int whence) {
    auto& cursor = *static_cast<ByteCursor*>(self);
    const auto end = static_cast<off_t>(cursor.bytes.size());
    const off_t to = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? static_cast<off_t>(cursor.position) : end);
    if (to < 0 || to > end) return -1;
    cursor.position = static_cast<size_t>(to);
    return to;
  }
};

class Mp3Reader final : public AudioReader {
 public:
  Mp3Reader(AudioBytes bytes, bool allow_mono)
      : cursor_{bytes.first(bytes.size() - tail_tag_bytes(bytes))}, run_(find_mpeg_frames(cursor_.bytes)),
        decoder_(new_mp3_decoder()), allow_mono_(allow_mono) {}

  Status begin() {
    FOREBAY_RETURN_IF_ERROR(check_frames());
    mpg123_handle* const mp3 = decoder_.get();
    if (mp3 == nullptr) return internal_error("libmpg123 has no decoder for every processor");
    mpg123_param(mp3, MPG123_REMOVE_FLAGS, MPG123_AUTO_RESAMPLE, 0);
    mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_FORCE_FLOAT | MPG123_QUIET | MPG123_GAPLESS | MPG123_NO_RESYNC, 0);
    // If frames do not state their size, the library must look at the second one. Otherwise it also
    // accepts files of one frame.
    if (run_.frames > 0) mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_NO_READAHEAD, 0);
    // The channels are mixed before the last filter, which then runs once.
    if (allow_mono_) mpg123_param(mp3, MPG123_ADD_FLAGS, MPG123_MONO_MIX, 0);
    mpg123_replace_reader_handle(mp3, ByteCursor::read, ByteCursor::seek, nullptr);
    if (mpg123_open_handle(mp3, &cursor_) != MPG123_OK) return damaged("cannot be opened");
    FOREBAY_RETURN_IF_ERROR(take_format());
    // Follows the frame headers only, to find the actual number of frames.
    if (mpg123_scan(mp3) != MPG123_OK) return damaged("its frames cannot be counted");
    const off_t frames = mpg123_length(mp3);
    if (frames >= 0) info_.frames = frames;
    return {};
  }

 private:
  Status take_format() {
    long rate = 0;
    int channels = 0, encoding = 0;
    if (mpg123_getformat(decoder_.get(), &rate, &channels, &encoding) != MPG123_OK) return damaged("no frame of MPEG");
    if (encoding != MPG123_ENC_FLOAT_32) return internal_error("libmpg123 gives no float32");
    mpg123_frameinfo stored = {};
    if (mpg123_info(decoder_.get(), &stored) != MPG123_OK) return damaged("no frame of MPEG");
    const int64_t has = stored.mode == MPG123_M_MONO ? 1 : 2;
    info_ = {"MP3", rate, has, std::nullopt, channels < has, kMp3WorkingBytes};
    return {};
  }

  /// Checks the frame headers before the library reads them. Bytes after the last frame that are
  /// not a frame are cut off.
  Status check_frames() {
    if (run_.frames == 0) return {};
    const MpegTotals said = read_mpeg_totals(cursor_.bytes.subspan(run_.begin));
    const uint64_t bytes = cursor_.bytes.size() - run_.begin;
    // Excludes the frame with the tag, which some encoders count. The number of bytes then tells
    // whether a frame is missing.
    const int64_t has = run_.frames - (said.frames > 0 ? 1 : 0);
    if (said.frames > has + 1 || (said.frames == has + 1 && said.bytes > bytes))
      return corrupt(fmt::format("MP3: ends after {} of {} MPEG frames", has, said.frames));
    if (!run_.resumed) cursor_.bytes = cursor_.bytes.first(run_.end);
    return {};
  }

  Status read_frames(AudioSink& sink) override {
    const int64_t given = info_.mixed ? 1 : info_.channels;
    values_.resize(static_cast<size_t>(kMp3Block * given));
    while (true) {
      size_t bytes = 0;
      const int answer = mpg123_read(decoder_.get(), values_.data(), values_.size() * sizeof(float), &bytes);
      const auto count = static_cast<int64_t>(bytes / sizeof(float)) / given;
      if (count > 0) FOREBAY_RETURN_IF_ERROR(sink.frames(values_.data(), count));
      delivered_ += count;
      if (answer == MPG123_DONE) return check_end();
      if (answer == MPG123_NEW_FORMAT)
        FOREBAY_RETURN_IF_ERROR(check_format());
      else if (answer != MPG123_OK)
        return damaged("cannot be decoded");
    }
  }

  /// Called after the last frame, so that earlier errors are reported first.
  Status check_end() const {
    if (!run_.cut) return {};
    return corrupt(fmt::format("MP3: the file ends inside a frame, behind {} whole ones", run_.frames));
  }

  Status check_format() {
    const AudioInfo before = info_;
    FOREBAY_RETURN_IF_ERROR(take_format());
    if (info_.rate == before.rate && info_.channels == before.channels) return {};
    return unsupported(fmt::format(
        "the format changes at sample {}: {} channels at {} Hz, after {} at {} Hz; cut it into files of one format",
        delivered_, info_.channels, info_.rate, before.channels, before.rate));
  }

  Status damaged(std::string_view what) const {
    return corrupt(fmt::format("MP3: {} behind sample {}: {}", what, delivered_, mpg123_strerror(decoder_.get())));
  }

  ByteCursor cursor_;
  const MpegRun run_;
  int64_t delivered_ = 0;
  std::vector<float> values_;
  std::unique_ptr<mpg123_handle, DeleteMp3Decoder> decoder_;
  bool allow_mono_;
};

}  // namespace

Result<std::unique_ptr<AudioReader>> open_mp3(AudioBytes bytes, bool allow_mono) {
  auto reader = std::make_unique<Mp3Reader>(bytes, allow_mono);
  FOREBAY_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<AudioReader>(std::move(reader));
}

}  // namespace forebay
